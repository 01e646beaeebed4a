#include "comm/known_ranks.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/measure/agreement.hpp"

namespace assay {

namespace {

/// Every rank's number, by rank.
std::vector<int> gather_numbers(Communicator& ranks, int mine) {
  const std::vector<double> numbers = allgather_numbers(mine, ranks);
  return {numbers.begin(), numbers.end()};
}

/// Renumbers nodes as 0, 1, 2, … in their order.
void renumber(std::vector<int>& nodes) {
  std::vector<int> used = nodes;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (int& node : nodes)
    node = static_cast<int>(std::lower_bound(used.begin(), used.end(), node) - used.begin());
}

}  // namespace

int ranks_per_node(const Options& options) {
  return static_cast<int>(whole_number("--ranks-per-node", options.get("ranks_per_node", "0"), 0,
                                       std::numeric_limits<int>::max()));
}

Ranks read_ranks(Communicator& known, const Options& options) {
  Ranks ranks;
  ranks.known = &known;
  if (const int imposed = ranks_per_node(options); imposed > 0)
    for (int rank = 0; rank < known.size(); ++rank) ranks.nodes.push_back(rank / imposed);
  else
    ranks.nodes = gather_numbers(known, known.node());
  return ranks;
}

Ranks select_part(const Ranks& ranks, int color, int key) {
  Ranks part;
  part.owned = ranks.known->split(color, key);
  part.known = part.owned.get();
  part.nodes =
      gather_numbers(*part.known, ranks.nodes[static_cast<std::size_t>(ranks.known->rank())]);
  renumber(part.nodes);
  return part;
}

int KnownRanks::nodes() const {
  return 1 + *std::max_element(ranks_.nodes.begin(), ranks_.nodes.end());
}

std::string hex(std::span<const char> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

std::vector<char> unhex(const std::string& text) {
  std::vector<char> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    int value = 0;
    const char* digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
    if (error != std::errc() || end != digits + 2)
      throw CaseError("a rank sent '" + text + "', which is not an address in hexadecimal digits");
    bytes[i] = static_cast<char>(value);
  }
  return bytes;
}

}  // namespace assay
