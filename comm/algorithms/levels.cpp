#include "comm/algorithms/levels.hpp"

#include <cstdint>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

std::vector<int> read_levels(const std::string& text) {
  constexpr std::uint64_t most = 1 << 20;
  std::vector<int> levels;
  if (text == "auto") return levels;
  std::uint64_t ranks = 1;
  for (const std::string& word : split(text, 'x')) {
    const std::uint64_t members = whole_number("--levels", word, 1, most);
    if ((ranks *= members) > most)
      throw InputError("--levels " + text + " has more than 1048576 ranks. Use fewer.");
    levels.push_back(static_cast<int>(members));
  }
  return levels;
}

}  // namespace assay
