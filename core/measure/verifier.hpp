#pragma once
// Fills the buffers of an operation with data that its oracle knows, and checks the outputs that
// the operation computes from them. Any workload that runs operations can use it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// A draw of random input data. Each number gives other values in all inputs, another sample of
/// checked elements and other checksum weights, so that results of an earlier draw are wrong in a
/// later one.
struct Draw {
  bool exact =
      false;       ///< small integers, for which the arithmetic is exact; else full significands
  int number = 0;  ///< 0: the data of the timed runs
  bool constant = false;  ///< of exact ones: every element is 1
};

struct VerifierSetup {
  std::uint64_t seed = 1;
  double reference_budget = 2e7;  ///< most multiply-adds of the fp64 reference in one check
  int rank = 0;                   ///< the rank whose data are written: Values::of_rank
};

class Verifier {
 public:
  /// `buffers` and `oracle` must outlive the verifier. `execution` returns Operation::execution(),
  /// on which data and error bounds depend.
  Verifier(const BufferSets& buffers, const Oracle& oracle, std::function<Execution()> execution,
           const VerifierSetup& setup);

  /// Starts a pass of checks: discards all samples and expected values. With `exact`, returns false
  /// and changes nothing if the operation's arithmetic is exact for no integers.
  bool begin(bool exact);

  /// Writes the data of `draw` to all inputs of a set, in-place tensors included. The expected
  /// values are computed when the set is checked. `budget_part` > 0: for an audit among the timed
  /// runs; the draw gets a sample of its own, with this part of the reference's budget. 0: all sets
  /// of the pass share one sample.
  void fill(std::size_t set, Draw draw, double budget_part = 0);
  /// After the audit of a set: writes the data of the timed runs again if those of the audit were
  /// mostly zeros (Oracle::of_later_draw). Else returns false and changes nothing.
  bool restore(std::size_t set);
  /// Writes the tensors of one role again: Role::inout, which a run overwrites, or
  /// Role::unmodified, which a faulty run may have changed.
  void refill(std::size_t set, Role role) const;

  /// Compares all outputs of a set with the expected values of its draw, and adds the findings to
  /// `result`. `when` names the moment in the reason of a failure: "before timing".
  void check(std::size_t set, const std::string& when, Verification& result);

  /// Number of these elements of an output (sorted row-major indices) that are beyond their bounds,
  /// or hold no result.
  std::int64_t wrong_elements(std::size_t set, std::size_t output,
                              std::vector<std::int64_t> indices) const;

  /// Seconds that the first fill took: without layout conversions, and for these alone.
  double fill_seconds() const { return fill_seconds_; }
  double reorder_seconds() const { return reorder_seconds_; }

 private:
  struct SetState {
    Draw draw;
    double budget_part = 0;
    std::optional<std::vector<Expectation>> expected;  ///< one for each output, in their order
  };

  /// The data of an argument in a draw.
  Values values(std::size_t set, const TensorSpec& spec, Draw draw) const;
  /// The same before Oracle::of_later_draw.
  Values whole_values(std::size_t set, const TensorSpec& spec, Draw draw) const;
  /// Oracle::of_later_draw of `whole`; nothing if the draw uses all of it.
  std::optional<Values> make_part(const Values& whole, const TensorSpec& spec, Draw draw) const;
  void write(std::size_t set, const std::function<bool(const TensorSpec&)>& chosen) const;
  std::uint64_t make_seed(Draw draw) const;
  /// The data of the inputs of a set, and of outputs that are checked whole (Oracle::whole).
  Inputs inputs(std::size_t set) const;
  /// Seed of the checksum's weights, or of the oracle's random vectors.
  std::uint64_t make_seed(std::size_t set, std::size_t output) const;
  std::vector<std::int64_t> sample(std::size_t set, std::size_t output);
  std::vector<Expectation> expect(std::size_t set);
  Expectation expect(std::size_t set, std::size_t output, const Inputs& inputs);
  void add_checksum(Expectation& expectation, const TensorSpec& spec, const Inputs& inputs,
                    bool exact, std::uint64_t seed) const;
  /// `what`: the name of an output, or of a relation.
  void judge(const OutputCheck& check, const std::string& what, Draw draw, const std::string& where,
             Verification& result) const;
  /// `outputs`: the outputs of a set that the oracle judges by relations.
  void judge_relations(std::size_t set, const Outputs& outputs, const std::string& where,
                       Verification& result);
  void describe(Verification& result) const;

  const BufferSets& buffers_;
  const Oracle& oracle_;
  std::function<Execution()> execution_;
  VerifierSetup setup_;
  int magnitude_ = 0;  ///< largest integer of the exact pass
  std::vector<SetState> states_;
  std::vector<std::optional<SetState>> timed_;  ///< by set: its state before the audit's fill
  std::map<std::size_t, std::vector<std::int64_t>> samples_;  ///< of this pass, by output
  std::string exact_text_;      ///< for Verification::reference: result of the exact pass
  std::string relations_text_;  ///< for Verification::reference: names of the relations
  double fill_seconds_ = 0, reorder_seconds_ = 0;
};

}  // namespace assay
