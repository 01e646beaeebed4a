#pragma once
// Sides of one result that would pair more rows than those that were chosen.

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/compare/side.hpp"

namespace assay {

/// Values of further parameters of the system, by which rows of the two sides do the same work.
struct MorePairs {
  std::vector<std::string> names{};          ///< the parameters
  std::vector<std::string> base{}, updated;  ///< "NAME=VALUE", to add to each side
  std::size_t rows = 0;                      ///< number of measured rows that they pair
};

/// Those that pair more measured rows than `vary` does, at most three, the most rows first.
std::vector<MorePairs> find_more_pairs(const Side& base, const Side& updated,
                                       const Variation& vary);

}  // namespace assay
