#pragma once
// Regular expressions of tests.

#include <re2/re2.h>

#include <string>

namespace assay {

/// The text with `by` in place of each match.
inline std::string replaced(std::string text, const RE2& matches, const std::string& by) {
  RE2::GlobalReplace(&text, matches, by);
  return text;
}

}  // namespace assay
