#pragma once
// The reference of a problem: expected results in fp64, with error bounds. It stores no tensors,
// because inputs are functions of the element index (Values).

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/api/checksum_weights.hpp"
#include "core/api/expected.hpp"
#include "core/api/formula.hpp"
#include "core/api/operation.hpp"
#include "core/api/random.hpp"

namespace assay {

class Prover;  // core/api/prover.hpp

/// The data of an operation's arguments, by name. The entry of an output has the data that an input
/// of this name would hold: a collective's output may be an input on another rank.
using Inputs = std::map<std::string, Values, std::less<>>;

/// Elements [first, first + count).
struct ElementRange {
  std::int64_t first = 0, count = 0;
};

/// All elements of outputs as fp64 in row-major order, by argument name.
using Outputs = std::map<std::string, std::vector<double>, std::less<>>;

/// A property that correct outputs have together, and how much the computed ones violate it.
struct Relation {
  std::string name;     ///< "residual"
  std::string formula;  ///< formula of `error`: "||a v - v w||_F / ||a||_F"
  double error = 0;     ///< relative error; if `bound` is 0, the number of violations
  double bound = 0;     ///< `error` must not exceed it; 0: a property without rounding errors, such
                        ///< as an order
};

/// Expected results and error bounds of one kind of problem. docs/method*.md derive the bounds.
/// The defaults are those of data of floating types, for which no arithmetic is exact.
class Oracle {
 public:
  virtual ~Oracle() = default;

  // The data of the inputs. There are two passes: integer inputs, for which the arithmetic is
  // exact, and inputs with full significands, which are also those of the timed runs.

  /// Largest magnitude of integer inputs for which every sum is exact in the arithmetic of the
  /// execution (direct sums of products). 0 if the algorithm is not exact on integers (Winograd) or
  /// no magnitude is small enough; there is then no integer pass.
  virtual int exact_magnitude(const Execution&) const { return 0; }
  /// Magnitude of the full-significand data of an argument of an integer type (Values). Not used
  /// for floating types.
  virtual int full_magnitude(const TensorSpec&) const { return 0; }
  /// Full-significand data of a floating type are multiplied by 2 to this power. A recurrence needs
  /// weights of about 1/sqrt(n), so that errors do not grow from step to step.
  virtual int scale_exponent(const TensorSpec&) const { return 0; }
  /// True if full-significand data of a floating type are not negative, as variances.
  virtual bool nonnegative(const TensorSpec&) const { return false; }
  /// Number of bits of the data in place of full significands (Values::Kind::fixed), if sums must
  /// be exact in any order; 0: full significands.
  virtual int fixed_bits(const TensorSpec&, const Execution&) const { return 0; }

  /// The data of `argument` in later draws than that of the timed runs, if the reference for all of
  /// `values` would take too long: zero except in a few rows (Values::in_rows), which differ
  /// between draws. `budget` and `seed` as in sample(). Nothing: all of `values`.
  virtual std::optional<Values> of_later_draw(const TensorSpec& /*argument*/,
                                              const Values& /*values*/, double /*budget*/,
                                              std::uint64_t /*seed*/) const {
    return std::nullopt;
  }

  /// Number of groups of ranks (Values::in_groups). At each element only the ranks of one group
  /// have values other than zero. More than 1 if the type cannot add the values of all ranks
  /// without rounding.
  virtual int groups(const Execution&) const { return 1; }

  // The check of an output.

  /// The range of `output` in which every element is checked, block by block as it is read, if
  /// expect() is cheap enough; sample() and checksum() are then not called. Nothing: a sample.
  /// Several threads call expect() for blocks of a range, but only after its first call with the
  /// same inputs has returned. So the first call may cache what it computes from all inputs.
  virtual std::optional<ElementRange> whole(const TensorSpec&) const { return std::nullopt; }

  /// Indices of the output elements to check, sorted and distinct: all if their reference costs at
  /// most `budget` multiply-adds, else corners, edges, the last block of every tile, and random
  /// elements from `seed` within the budget. An oracle without whole() and relations has its own.
  virtual std::vector<std::int64_t> sample(const TensorSpec& /*output*/, double /*budget*/,
                                           std::uint64_t /*seed*/) const {
    throw std::logic_error("this oracle chooses no sample of an output");
  }

  /// Computes `expected` for the elements `indices` of `output`. `exact`: the inputs are integers
  /// of exact_magnitude(), and all bounds are 0.
  virtual void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution,
                      bool exact, std::span<const std::int64_t> indices,
                      std::span<Expected> expected) const = 0;

  /// expect() of an output whose whole() range is checked, as code that a device may have. Nothing:
  /// the host compares.
  virtual std::optional<ElementFormula> formula(const TensorSpec& /*output*/, const Inputs&,
                                                const Execution&, bool /*exact*/) const {
    return std::nullopt;
  }
  /// Gives the device of the arguments, which may compute parts of the reference. It outlives the
  /// oracle.
  virtual void use(Prover& prover) const { prover_ = &prover; }

  /// Weighted sum of all elements of `output` (before they are rounded to its type), computed from
  /// the inputs in a cheap, independent way; nothing if there is none. With integer inputs it is
  /// exact, so that a single wrong element is found. With other inputs it finds errors larger than
  /// the rounding errors of all elements together.
  virtual std::optional<double> checksum(const TensorSpec& /*output*/, const Inputs&,
                                         const ChecksumWeights&) const {
    return std::nullopt;
  }

  /// The reason why results of such an execution cannot be judged (there is no error bound for it);
  /// nothing if they can.
  virtual std::optional<std::string> why_unjudgeable(const Execution&) const {
    return std::nullopt;
  }

  /// True if `output` is judged by relations() instead of element by element, because it has
  /// several correct values: eigenvectors are determined up to their signs, and in clusters of
  /// eigenvalues up to a rotation. whole(), sample(), expect() and checksum() are then not called.
  /// All elements are read and stored (8 bytes each), and must be written and finite. The answer
  /// for an output must not change.
  virtual bool is_judged_by_relations(const TensorSpec&) const { return false; }

  /// The relations of all outputs that are judged by relations. Together they must hold for correct
  /// results only. `seed` is for random vectors and differs between draws of inputs.
  virtual std::vector<Relation> relations(const Inputs&, const Outputs&, const Execution&,
                                          std::uint64_t /*seed*/) const {
    return {};
  }

  /// The largest relative error bound (of the 2-norm, or of a relation) that still distinguishes
  /// the arithmetic of the problem's precision from the next coarser one. With a larger bound the
  /// results are `unsupported`, because they cannot be judged.
  virtual double widest_norm_bound() const { return std::numeric_limits<double>::infinity(); }

 protected:
  mutable Prover* prover_ = nullptr;  ///< given by use()
};

/// An oracle that checks every element of its results, by expect() alone.
class WholeOracle : public Oracle {
 public:
  std::optional<ElementRange> whole(const TensorSpec& output) const override {
    if (output.role != Role::output && output.role != Role::inout) return std::nullopt;
    return ElementRange{0, output.elements()};
  }
};

}  // namespace assay
