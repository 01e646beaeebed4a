#pragma once
// Fills the buffers of an operation with data that its oracle knows, and checks what the operation
// made of them. Any workload that runs operations verifies what it timed with this.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Which data the arguments hold. Every draw has other values in every input, and another sample
/// and other weights of the checksum: what a computation kept from an earlier draw is wrong for
/// this one.
struct Draw {
  bool exact = false;  ///< small integers, on which the arithmetic is exact; else full significands
  int number = 0;
};

struct VerifierSetup {
  std::uint64_t seed = 1;
  double reference_budget = 2e7;  ///< multiply-adds of the fp64 reference of one check
  int rank = 0;                   ///< whose data: Values::of_rank
};

class Verifier {
 public:
  /// `buffers` and `oracle` must outlive the verifier. `executed`: asks the operation what it says
  /// of itself, on which data and bounds depend.
  Verifier(const BufferSets& buffers, const Oracle& oracle, std::function<Executed()> executed,
           const VerifierSetup& setup);

  /// Starts a pass: forgets all samples and expected values. False, and nothing is changed, where
  /// the operation is exact on no integers.
  bool begin(bool exact);

  /// Writes every input (in-place tensors, too) of a set, as `draw` has it; its expected values are
  /// computed when it is checked. `budget_part`: part of the reference's budget for this draw's own
  /// sample; 0: the sample that all sets of the pass share.
  void fill(std::size_t set, Draw draw, double budget_part = 0);
  /// After a fill for a check among the timed runs: gives the set the data back that are timed,
  /// where those of the check are zero for the most part (Oracle::of_later_draw). False, and
  /// nothing is changed, where they are not.
  bool restore(std::size_t set);
  /// Writes the tensors of one role again: in-place ones, which a run overwrites, or `unmodified`
  /// ones, which a faulty run may have changed.
  void refill(std::size_t set, Role role) const;

  /// Compares all outputs of a set with what its draw must give, and adds that to `result`. `when`
  /// names the moment in a failure's reason: "before timing".
  void check(std::size_t set, const std::string& when, Verification& result);

  /// Seconds of the first fill, without layout conversions, and of these.
  double fill_seconds() const { return fill_seconds_; }
  double reorder_seconds() const { return reorder_seconds_; }

 private:
  struct SetState {
    Draw draw;
    double budget_part = 0;
    std::optional<std::vector<Expectation>> expected;  ///< one for each output, in their order
  };

  Values values(std::size_t set, const TensorSpec& spec, Draw draw) const;
  Values whole_values(std::size_t set, const TensorSpec& spec, Draw draw) const;
  /// What a draw holds of them, where that is not all.
  std::optional<Values> part_of(const Values& whole, const TensorSpec& spec, Draw draw) const;
  void write(std::size_t set, const std::function<bool(const TensorSpec&)>& chosen) const;
  std::uint64_t seed_of(Draw draw) const;
  /// What the inputs of a set hold (and outputs whose expected values are made of their own).
  Inputs inputs(std::size_t set) const;
  /// Of the checksum's weights, or of the oracle's random vectors.
  std::uint64_t seed_of(std::size_t set, std::size_t output) const;
  std::vector<std::int64_t> sample(std::size_t set, std::size_t output);
  std::vector<Expectation> expect(std::size_t set);
  Expectation expect(std::size_t set, std::size_t output, const Inputs& inputs);
  void add_checksum(Expectation& expectation, const TensorSpec& spec, const Inputs& inputs,
                    bool exact, std::uint64_t seed) const;
  /// `what`: the name of an output, or of a relation.
  void judge(const OutputCheck& check, const std::string& what, Draw draw, const std::string& where,
             Verification& result) const;
  /// `outputs`: those that the oracle judges by relations, of a set.
  void judge_relations(std::size_t set, const Outputs& outputs, const std::string& where,
                       Verification& result);
  void describe(Verification& result) const;

  const BufferSets& buffers_;
  const Oracle& oracle_;
  std::function<Executed()> executed_;
  VerifierSetup setup_;
  int magnitude_ = 0;  ///< of the integers of the exact pass
  std::vector<SetState> states_;
  std::vector<std::optional<SetState>> timed_;  ///< what a check's data have taken the place of
  std::map<std::size_t, std::vector<std::int64_t>> samples_;  ///< of this pass, by output
  std::vector<std::int64_t> block_;                           ///< of a range that is checked whole
  std::string exact_text_;                                    ///< what an exact pass has shown
  std::string relations_text_;                                ///< names of the relations
  double fill_seconds_ = 0, reorder_seconds_ = 0;
};

}  // namespace assay
