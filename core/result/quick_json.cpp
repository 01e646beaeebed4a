#include "core/result/quick_json.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

namespace assay {

using nlohmann::json;

namespace {

/// One text; every method returns false where it is to be left to the slow parser.
class QuickReader {
 public:
  explicit QuickReader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool whole(json& into) {
    if (!value(into)) return false;
    skip();
    return at_ == end_;
  }

 private:
  void skip() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }

  bool value(json& into) {
    skip();
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
        return object(into);
      case '[':
        return list(into);
      case '"':
        into = json(json::value_t::string);
        return text(into.get_ref<std::string&>());
      case 't':
        into = true;
        return take("true");
      case 'f':
        into = false;
        return take("false");
      case 'n':
        into = nullptr;
        return take("null");
      default:
        return number(into);
    }
  }

  bool object(json& into) {
    ++at_;
    if (++depth_ > most_nested) return false;
    into = json(json::value_t::object);
    json::object_t& members = into.get_ref<json::object_t&>();
    skip();
    if (take('}')) return --depth_, true;
    do {
      std::string key;
      skip();
      if (!text(key)) return false;
      skip();
      if (!take(':')) return false;
      const std::size_t before = members.size();
      // Our own files have sorted keys.
      const auto place = members.emplace_hint(members.end(), std::move(key), nullptr);
      if (members.size() == before || !value(place->second)) return false;
      skip();
    } while (take(','));
    --depth_;
    return take('}');
  }

  bool list(json& into) {
    ++at_;
    if (++depth_ > most_nested) return false;
    into = json(json::value_t::array);
    json::array_t& items = into.get_ref<json::array_t&>();
    skip();
    if (take(']')) return --depth_, true;
    do {
      if (!value(items.emplace_back())) return false;
      skip();
    } while (take(','));
    --depth_;
    return take(']');
  }

  bool text(std::string& into) {
    const char* const start = at_;
    if (!take('"')) return false;
    bool plain = true;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x20) return false;
      if (byte >= 0x80) plain = false;
      if (byte != '\\') continue;
      plain = false;
      if (++at_ == end_) return false;
    }
    if (at_ == end_) return false;
    ++at_;
    if (plain) {
      into.assign(start + 1, at_ - 1);
      return true;
    }
    // Escapes and UTF-8 have many rules.
    json made = json::parse(start, at_, nullptr, false);
    if (!made.is_string()) return false;
    into = std::move(made.get_ref<std::string&>());
    return true;
  }

  std::size_t digits() {
    const char* const start = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return static_cast<std::size_t>(at_ - start);
  }

  bool number(json& into) {
    constexpr std::size_t most_digits = 18;  // fewer than any integer that does not fit
    const char* const start = at_;
    const bool negative = take('-');
    const char* const first = at_;
    const std::size_t count = digits();
    if (count == 0 || (count > 1 && *first == '0')) return false;
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (digits() == 0) return false;
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) take('-');
      if (digits() == 0) return false;
    }
    if (!whole) return real(start, into);
    if (count > most_digits) return false;
    std::uint64_t magnitude = 0;
    for (const char* digit = first; digit != at_; ++digit)
      magnitude = 10 * magnitude + static_cast<std::uint64_t>(*digit - '0');
    if (negative)
      into = -static_cast<std::int64_t>(magnitude);
    else
      into = magnitude;
    return true;
  }

  bool real(const char* start, json& into) const {
    double parsed = 0;
    const auto [end, error] = std::from_chars(start, at_, parsed);
    if (error != std::errc() || end != at_) return false;
    into = parsed;
    return true;
  }

  static constexpr int most_nested = 64;
  const char* at_;
  const char* end_;
  int depth_ = 0;
};

}  // namespace

std::optional<json> quick_json(std::string_view text) {
  std::optional<json> made(std::in_place);
  if (!QuickReader(text).whole(*made)) made.reset();
  return made;
}

}  // namespace assay
