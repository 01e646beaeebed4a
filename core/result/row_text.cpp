#include "core/result/row_text.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace assay {

using nlohmann::json;

namespace {

/// Finds members of an object in its text, which must be valid JSON.
class MemberFinder {
 public:
  explicit MemberFinder(std::string_view text) : text_(text) {}

  /// The value of a member. Nothing if there is none, or if a name is written with escapes.
  std::optional<std::string_view> find(std::string_view name) {
    at_ = 0;
    skip_to('{');
    for (++at_; skip_blanks(), at_ < text_.size() && text_[at_] == '"';) {
      const std::string_view key = skipped_string();
      if (key.find('\\') != std::string_view::npos) return std::nullopt;
      skip_to(':');
      ++at_;
      skip_blanks();
      const std::size_t start = at_;
      skip_value();
      if (key.substr(1, key.size() - 2) == name) return text_.substr(start, at_ - start);
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    return std::nullopt;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \n\r\t", at_), text_.size()); }
  void skip_to(char c) { at_ = std::min(text_.find(c, at_), text_.size()); }

  std::string_view skipped_string() {
    const std::size_t start = at_++;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(start, at_ - start);
  }

  /// A number or a word ends before the next token; any other value ends with its own last byte.
  void skip_value() {
    if (text_[at_] == '"') {
      skipped_string();
    } else if (text_[at_] == '{' || text_[at_] == '[') {
      int depth = 0;
      do {
        const char c = text_[at_];
        if (c == '"') {
          skipped_string();
          continue;
        }
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        ++at_;
      } while (depth > 0 && at_ < text_.size());
    } else {
      at_ = std::min(text_.find_first_of(",]} \n\r\t", at_), text_.size());
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Adds `brackets` to the indices of a ceiling's brackets. True if it has any.
bool shift_brackets(json& ceiling, std::int64_t brackets) {
  if (!ceiling.is_object() || !ceiling.contains("brackets")) return false;
  for (json& place : ceiling["brackets"]) place = place.get<std::int64_t>() + brackets;
  return true;
}

}  // namespace

std::string shift_numbers(std::string_view row, std::int64_t environments, std::int64_t brackets) {
  if (environments == 0 && brackets == 0) return std::string(row);
  const auto environment = MemberFinder(row).find("environment");
  const auto ceiling = brackets == 0 ? std::nullopt : MemberFinder(row).find("ceiling");
  if (!environment || (brackets != 0 && !ceiling)) {  // a name with escapes, or a row without
    json whole = json::parse(row);
    whole["environment"] = whole["environment"].get<std::int64_t>() + environments;
    if (whole.contains("ceiling")) shift_brackets(whole["ceiling"], brackets);
    return whole.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  std::map<std::size_t, std::pair<std::size_t, std::string>> changes;  // offset → length, new text
  const auto change = [&](std::string_view old, std::string text) {
    changes[static_cast<std::size_t>(old.data() - row.data())] = {old.size(), std::move(text)};
  };
  change(*environment,
         std::to_string(json::parse(*environment).get<std::int64_t>() + environments));
  if (ceiling)
    if (json whole = json::parse(*ceiling); shift_brackets(whole, brackets))
      change(*ceiling, whole.dump(-1, ' ', false, json::error_handler_t::replace));
  std::string shifted;
  std::size_t at = 0;
  for (const auto& [offset, replacement] : changes) {
    shifted += row.substr(at, offset - at);
    shifted += replacement.second;
    at = offset + replacement.first;
  }
  shifted += row.substr(at);
  return shifted;
}

}  // namespace assay
