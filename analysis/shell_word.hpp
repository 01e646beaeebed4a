#pragma once
// Command lines that people can paste into a shell.

#include <string>

namespace assay {

/// A word quoted for a shell: what comes from a file must not run when it is pasted.
std::string shell_word(const std::string& word);

}  // namespace assay
