#pragma once
// Regular expressions that people give. RE2's, which take time linear in the text and bounded
// memory whatever the expression is: std::regex recurses, and may never end.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace assay {

class Pattern {
 public:
  /// Everything matches.
  Pattern() = default;
  /// InputError: `what` ("--filter '('") is no regular expression, and why. Of what ECMAScript
  /// knows, RE2 refuses references to groups and looking ahead: neither can be had in linear time.
  Pattern(const std::string& text, const std::string& what);
  /// Whether a part of the text matches.
  bool in(const std::string& text) const;
  /// The groups of a match of the whole text ("" for one that took no part), or nothing.
  std::optional<std::vector<std::string>> groups_of(const std::string& text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace assay
