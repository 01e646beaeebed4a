#pragma once
// What a benchmark knows of the right answer, in fp64, without storing a tensor: inputs are
// functions of the element index.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/checksum_weights.hpp"
#include "core/api/operation.hpp"
#include "core/api/random.hpp"

namespace assay {

/// The data of an operation's arguments, by name: what an input holds, and for an output what an
/// input of that name would hold (on another rank it is an input).
using Inputs = std::map<std::string, Values, std::less<>>;

/// The right value of one output element and how far a correct implementation may be from it.
struct Expected {
  double value = 0;      ///< fp64, not rounded to the output's type
  double max_bound = 0;  ///< |computed - value| must not exceed this (0: must equal value rounded
                         ///< to the output's type)
  double rms_bound = 0;  ///< contribution to the norm test: ||computed - value||_2 <=
                         ///< ||rms_bound||_2 over the sample
};

/// Elements [first, first + count).
struct ElementRange {
  std::int64_t first = 0, count = 0;
};

/// Outputs by argument name, read whole, as fp64.
using Outputs = std::map<std::string, std::vector<double>, std::less<>>;

/// A property that outputs have together, of which `error` is how far they miss it.
struct Relation {
  std::string name;     ///< "residual"
  std::string formula;  ///< what `error` is: "||a v - v w||_F / ||a||_F"
  double error = 0;     ///< relative where `bound` is not 0
  double bound = 0;  ///< error must not exceed it; 0: a property without rounding errors, such as
                     ///< an order, of which `error` counts the violations
};

/// Reference and error bound of one kind of problem. docs/method.md derives the bounds.
class Oracle {
 public:
  virtual ~Oracle() = default;

  /// Magnitude of the small integers for which every sum is exact in `executed`'s arithmetic
  /// (direct sums of products), or 0 where the algorithm is not exact on integers (Winograd) or no
  /// magnitude is small enough.
  virtual int exact_magnitude(const Executed& executed) const = 0;
  /// Magnitude of Values for the full-significand pass of an integer type (ignored for floating
  /// types).
  virtual int full_magnitude(const TensorSpec& argument) const = 0;
  /// The full-significand pass's data of a floating type are multiplied by 2 to this power: weights
  /// of a recurrence near 1/sqrt(n), so that errors do not grow from step to step.
  virtual int scale_exponent(const TensorSpec&) const { return 0; }
  /// Whether the full-significand pass's data of a floating type are magnitudes: variances.
  virtual bool nonnegative(const TensorSpec&) const { return false; }
  /// Bits of the full-significand pass's data where only fewer than the type's keep sums exact in
  /// any order (Values::Kind::fixed); 0: full significands.
  virtual int fixed_bits(const TensorSpec&, const Executed&) const { return 0; }

  /// What `argument` holds in a later draw than that of the timed runs, where its reference would
  /// take too long for the whole of `values`: zeros but in a few rows (Values::in_rows), others in
  /// each draw. `budget` and `seed` are those of sample(). Nothing: `values`.
  virtual std::optional<Values> of_later_draw(const TensorSpec& /*argument*/,
                                              const Values& /*values*/, double /*budget*/,
                                              std::uint64_t /*seed*/) const {
    return std::nullopt;
  }

  /// Groups of ranks, of which one at a time has values other than zero at an element
  /// (Values::in_groups): for sums of more ranks than the type could add without rounding.
  virtual int groups(const Executed&) const { return 1; }

  /// The part of `output` that is checked whole, block by block as it is read, where expect() costs
  /// no more than that; sample() and checksum() are then not asked. Nothing: by sample.
  virtual std::optional<ElementRange> whole(const TensorSpec&) const { return std::nullopt; }

  /// Output elements to check, sorted and distinct: all of them if their reference costs at most
  /// `budget` multiply-adds, else corners, edges, the last block of every tile, and a random
  /// remainder from `seed` within the budget.
  virtual std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                           std::uint64_t seed) const = 0;

  /// Fills `expected` for the elements `indices` of `output`. `exact`: inputs are integers of
  /// exact_magnitude, bounds are 0.
  virtual void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed,
                      bool exact, std::span<const std::int64_t> indices,
                      std::span<Expected> expected) const = 0;

  /// Weighted sum of all elements of `output` (before rounding to its type), from the inputs, by an
  /// independent and cheap way; nothing where there is none. With integer inputs it is exact, so
  /// that one wrong element anywhere shows; with others it shows what is larger than the rounding
  /// errors of all elements together.
  virtual std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                         const ChecksumWeights& weights) const = 0;

  /// Why results of `executed` cannot be judged (no error bound was derived for it); nothing where
  /// they can.
  virtual std::optional<std::string> cannot_judge(const Executed&) const { return std::nullopt; }

  /// Whether `output` is judged by relations() instead of element by element, since right answers
  /// differ in it: eigenvectors in their signs, and in clusters of eigenvalues altogether. whole(),
  /// sample(), expect() and checksum() are then not asked. All elements are read and kept, eight
  /// bytes each, and must be written and finite. The same for every call.
  virtual bool judged_by_relations(const TensorSpec&) const { return false; }

  /// The properties of the outputs that are judged by relations; `outputs` has all of them.
  /// Together they must hold for right answers only. `seed`: of random vectors, another one for
  /// each draw of inputs.
  virtual std::vector<Relation> relations(const Inputs&, const Outputs&, const Executed&,
                                          std::uint64_t /*seed*/) const {
    return {};
  }

  /// Widest norm bound, over the norm of the results, and widest bound of a relation, that still
  /// tell the arithmetic that the problem's precision promises from the next coarser one.
  virtual double widest_norm_bound() const { return std::numeric_limits<double>::infinity(); }
};

}  // namespace assay
