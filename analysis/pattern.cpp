#include "analysis/pattern.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include "core/base/error.hpp"

namespace assay {

TextPattern::TextPattern(const std::string& text, const std::string& what) {
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_shared<const RE2>(text, options);
  if (!expression->ok()) {
    // The message quotes a part of the expression, which may be long.
    constexpr std::size_t longest = 200;
    std::string why = expression->error();
    if (why.size() > longest) why = why.substr(0, longest) + "...";
    throw InputError(
        fmt::format("{} is not a valid regular expression ({}). Use the syntax of RE2, like "
                    "conv/.*fp32, without "
                    "back-references and (?=...); a backslash escapes special characters.",
                    what.size() > longest ? what.substr(0, longest) + "..." : what, why));
  }
  compiled_ = std::move(expression);
}

bool TextPattern::in(const std::string& text) const {
  return compiled_ == nullptr || RE2::PartialMatch(text, *compiled_);
}

std::optional<std::vector<std::string>> TextPattern::match_groups(const std::string& text) const {
  if (compiled_ == nullptr) return std::vector<std::string>{};
  const int count = compiled_->NumberOfCapturingGroups() + 1;  // the whole first
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(count));
  if (!compiled_->Match(text, 0, text.size(), RE2::ANCHOR_BOTH, parts.data(), count))
    return std::nullopt;
  std::vector<std::string> groups;
  for (std::size_t i = 1; i < parts.size(); ++i)
    groups.emplace_back(parts[i].data() == nullptr ? "" : std::string(parts[i]));
  return groups;
}

}  // namespace assay
