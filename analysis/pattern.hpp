#pragma once
// Regular expressions that users give. RE2 needs linear time and bounded memory for any expression;
// std::regex recurses and may not terminate.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace assay {

class TextPattern {
 public:
  /// Matches everything.
  TextPattern() = default;
  /// `what` ("--filter '('") names the expression in messages. InputError for an invalid
  /// expression. RE2 does not support ECMAScript's back-references and look-ahead, because they
  /// need more than linear time.
  TextPattern(const std::string& text, const std::string& what);
  /// True if any part of the text matches.
  bool in(const std::string& text) const;
  /// The groups of a match of the whole text ("" for an unused group); nothing if it does not
  /// match.
  std::optional<std::vector<std::string>> match_groups(const std::string& text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace assay
