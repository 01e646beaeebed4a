#pragma once
// An agreement of ranks: each rank has a finding or a number, and all ranks learn all of them.

#include <algorithm>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// The findings of all ranks in one step: a text, or "" on a rank without one. Every rank decides
/// by the same texts, so no rank enters a collective call that another rank does not make.
class Agreement {
 public:
  /// Collective.
  Agreement(const std::string& mine, Communicator& ranks);
  bool none() const { return first_ == findings_.size(); }
  /// True if every rank has a finding.
  bool all() const;
  /// The first rank with a finding.
  std::size_t rank() const { return first_; }
  /// The finding of that rank; "" if none has one.
  std::string text() const { return none() ? "" : findings_[first_]; }
  /// "rank 1 on HOST": that rank. Collective, if not none().
  std::string place() const;
  /// "" if no rank has a finding; the finding that all ranks have, or that of the first rank with
  /// its place. Collective.
  std::string describe() const;

 private:
  Communicator& ranks_;
  std::vector<std::string> findings_;
  std::size_t first_;
};

/// The numbers of all ranks, by rank, exactly; none is infinite or NaN. Collective.
std::vector<double> allgather_numbers(double mine, Communicator& ranks);

/// The lists of numbers, or of structs of them, of all ranks, by rank, exactly. Collective.
template <class Number>
std::vector<std::vector<Number>> allgather_lists(const std::vector<Number>& mine,
                                                 Communicator& ranks) {
  static_assert(std::is_trivially_copyable_v<Number>);
  std::vector<std::vector<Number>> lists;
  const auto* const bytes = reinterpret_cast<const char*>(mine.data());
  for (const std::string& list : ranks.allgather({bytes, mine.size() * sizeof(Number)})) {
    if (list.size() % sizeof(Number) != 0)
      throw std::logic_error("a rank has sent a list of other numbers");
    lists.emplace_back(list.size() / sizeof(Number));
    std::ranges::copy(list, reinterpret_cast<char*>(lists.back().data()));
  }
  return lists;
}

/// The documents of all ranks, by rank. Bytes of texts that are not UTF-8 (from drivers) are
/// replaced, so that no rank throws alone. Collective.
std::vector<nlohmann::json> allgather_json(const nlohmann::json& mine, Communicator& ranks);

}  // namespace assay
