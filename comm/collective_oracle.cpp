// The data that every rank must have after a collective. They follow from the other ranks' data,
// which are functions of seed, rank and index.

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/bisection.hpp"
#include "comm/collective.hpp"
#include "comm/layers/wire.hpp"

namespace assay {
namespace {

constexpr int small = 1024;  // integers of the exact pass: enough to tell any two indices apart

/// Bits of a significand; integers: of the type without its sign.
int significand(DataType type) {
  const double u = unit_roundoff(type);
  return u > 0 ? static_cast<int>(std::lround(-std::log2(u))) : 31;
}

int log2_up(int ranks) {
  int bits = 0;
  while ((1 << bits) < ranks) ++bits;
  return bits;
}

class CollectiveOracle final : public WholeOracle {
 public:
  CollectiveOracle(const CollectiveProblem& problem, int rank, std::vector<int> members)
      : problem_(problem), shape_(problem_.shape()), rank_(rank), members_(std::move(members)) {
    if (members_.empty())
      for (int each = 0; each < shape_.ranks; ++each) members_.push_back(each);
    if (shape_.pattern == Pattern::bisection)
      partners_ = make_pairings(shape_.ranks, shape_.rounds);
  }

  int exact_magnitude(const Execution& execution) const override {
    const int bits = count_bits(execution) - (sums() ? log2_up(adders(execution)) : 0);
    if (shape_.op == ReduceOp::average && sums()) return 0;  // averages are not integers
    return bits < 1 ? 0 : std::min(small, 1 << std::min(bits, 20));
  }
  int full_magnitude(const TensorSpec&) const override {
    return sums() ? 2147483647 / shape_.ranks : 2147483647;
  }
  /// If the sum of all ranks' values fits the significand, no order of additions rounds it.
  int fixed_bits(const TensorSpec&, const Execution& execution) const override {
    if (!sums() || is_integer(shape_.type) || compressed(execution)) return 0;
    return std::max(0, significand(shape_.type) - log2_up(adders(execution)));
  }
  /// If there are more ranks than a sum without rounding allows, groups of ranks are nonzero in
  /// turn, each group at other elements. A group has at most half of the allowed ranks, so that
  /// values have 2 bits or more.
  int groups(const Execution& execution) const override {
    if (!sums() || is_integer(shape_.type) || compressed(execution)) return 1;
    const int most = 1 << std::min(significand(shape_.type) - 1, 30);
    return shape_.ranks <= most ? 1 : (shape_.ranks + most / 2 - 1) / (most / 2);
  }
  std::optional<ElementRange> whole(const TensorSpec& output) const override {
    // A reduce_scatter in place has only the rank's own part as its result.
    if (shape_.pattern == Pattern::reduce_scatter && shape_.in_place)
      return ElementRange{rank_ * problem_.part(), problem_.part()};
    return ElementRange{0, output.elements()};
  }

  /// `indices` are consecutive (they come from whole()).
  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
              bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
    if (indices.empty()) return;
    const std::int64_t first = indices.front();
    values_.resize(indices.size());
    if (output.role == Role::unmodified) {
      inputs.at(output.name).fill(first, values_);
      for (std::size_t i = 0; i < values_.size(); ++i) expected[i] = {values_[i], 0, 0};
    } else if (reduces(shape_.pattern)) {
      reduced(inputs, execution, exact, first, expected);
    } else {
      moved(inputs, first, expected);
    }
  }

 private:
  bool sums() const {
    return reduces(shape_.pattern) &&
           (shape_.op == ReduceOp::sum || shape_.op == ReduceOp::average);
  }
  /// Most ranks whose values are added at one element.
  int adders(const Execution& execution) const {
    const int all = groups(execution);
    return (shape_.ranks + all - 1) / all;
  }
  static bool compressed(const Execution& execution) { return execution.wire_bits.has_value(); }
  static DataType find_wire(const Execution& execution) {
    return *execution.wire_bits == significand(DataType::fp16) ? DataType::fp16 : DataType::bf16;
  }
  /// Bits of a value that survive transport.
  int count_bits(const Execution& execution) const {
    const int own = significand(shape_.type);
    return compressed(execution) ? std::min(own, *execution.wire_bits) : own;
  }

  Values sent_by(int rank, const Inputs& inputs) const {
    const auto entry = inputs.find("send");
    const Values& all = entry != inputs.end() ? entry->second : inputs.at("data");
    return all.of_rank(members_[static_cast<std::size_t>(rank)]);
  }

  void reduced(const Inputs& inputs, const Execution& execution, bool exact, std::int64_t first,
               std::span<Expected> expected) const {
    // A separate receive buffer begins with the rank's own part.
    const bool own_part = shape_.pattern == Pattern::reduce_scatter && !shape_.in_place;
    const std::int64_t at = own_part ? first + rank_ * problem_.part() : first;
    sizes_.assign(values_.size(), 0);
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      sent_by(rank, inputs).fill(at, values_);
      for (std::size_t i = 0; i < values_.size(); ++i) {
        double& value = expected[i].value;
        sizes_[i] += std::abs(values_[i]);
        if (rank == 0)
          value = values_[i];
        else if (shape_.op == ReduceOp::min)
          value = std::min(value, values_[i]);
        else if (shape_.op == ReduceOp::max)
          value = std::max(value, values_[i]);
        else
          value += values_[i];
      }
    }
    const double bound = relative_bound(exact);
    const double mean = shape_.op == ReduceOp::average ? shape_.ranks : 1;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i].value /= mean;
      const bool wired = compressed(execution) && !exact;
      expected[i].max_bound = expected[i].rms_bound =
          wired ? wire_bound(find_wire(execution), shape_.type, shape_.op, shape_.ranks,
                             expected[i].value, sizes_[i])
                : bound * sizes_[i] / mean;
    }
  }

  /// Error bound relative to the sum of the summands' magnitudes; 0: exact.
  double relative_bound(bool exact) const {
    if (exact || !sums()) return 0;
    // 2 units in the last place; integers have no average.
    return shape_.op == ReduceOp::average ? 4 * unit_roundoff(shape_.type) : 0;
  }

  void moved(const Inputs& inputs, std::int64_t first, std::span<Expected> expected) const {
    const int n = shape_.ranks;
    const std::int64_t part = problem_.part();
    std::size_t done = 0;
    while (done < expected.size()) {
      const std::int64_t at = first + static_cast<std::int64_t>(done);
      std::int64_t from = at, run = static_cast<std::int64_t>(expected.size() - done);
      int source = shape_.root;
      if (shape_.pattern == Pattern::sendrecv) {
        source = (rank_ + n - 1) % n;
      } else if (shape_.pattern == Pattern::alltoallv) {
        const ElementRange own = problem_.of_rank(rank_);
        source = static_cast<int>(at / own.count);
        from = own.first + at % own.count;
        run = std::min(run, (source + 1) * own.count - at);
      } else if (shape_.pattern == Pattern::bisection) {
        const std::int64_t message = problem_.elements(), round = at / message;
        source = partners_[static_cast<std::size_t>(round)][static_cast<std::size_t>(rank_)];
        from = at % message;
        run = std::min(run, message - from);
      } else if (has_parts(shape_.pattern)) {
        source = static_cast<int>(at / part);
        run = std::min(run, (source + 1) * part - at);
        if (shape_.pattern == Pattern::alltoall)
          from = rank_ * part + at % part;
        else if (!shape_.in_place)
          from = at % part;
      }
      sent_by(source, inputs)
          .fill(from, std::span(values_).subspan(done, static_cast<std::size_t>(run)));
      done += static_cast<std::size_t>(run);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = {values_[i], 0, 0};
  }

  CollectiveProblem problem_;
  const CollectiveShape& shape_;
  int rank_;
  std::vector<int> members_;                ///< by rank, the number of its data
  std::vector<std::vector<int>> partners_;  ///< of bisection, [round][rank]
  // Each thread has the values of its block.
  static thread_local std::vector<double> values_, sizes_;
};

thread_local std::vector<double> CollectiveOracle::values_, CollectiveOracle::sizes_;

}  // namespace

std::unique_ptr<Oracle> make_collective_oracle(const CollectiveProblem& problem, int rank,
                                               std::vector<int> members) {
  return std::make_unique<CollectiveOracle>(problem, rank, std::move(members));
}

}  // namespace assay
