#pragma once
// A device that computes parts of references itself, so that no tensor crosses to the host for its
// check. Its arithmetic is believed of a formula after it has agreed with the host's, in each
// process.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/api/formula.hpp"
#include "core/api/oracle.hpp"

namespace assay {

class Tensor;

/// Tensors [images, channels, plane].
struct Channels {
  std::int64_t images = 1, channels = 1, plane = 1;
};

/// All functions return nothing where the device does not have the code of the formula, or does not
/// know the layout of a tensor; the host computes then.
class Prover {
 public:
  virtual ~Prover() = default;
  /// Compares the elements `range` of `output` with what the formula expects.
  virtual std::optional<ElementComparison> compare(Tensor& output, ElementRange range,
                                                   const ElementFormula& formula,
                                                   const Inputs& inputs) = 0;
  /// What the formula expects of the elements `indices`.
  virtual std::optional<std::vector<Expected>> expect(const ElementFormula& formula,
                                                      const Inputs& inputs,
                                                      std::span<const std::int64_t> indices) = 0;
  /// The sums of the formula's terms over each channel: [channel][term].
  virtual std::optional<std::vector<double>> sum(const ElementFormula& formula,
                                                 const Inputs& inputs, const Channels& over) = 0;
  /// Whether this is the first call with `what`: the host then checks it.
  bool is_new(const std::string& what) { return believed_.insert(what).second; }

 private:
  std::set<std::string> believed_;
};

}  // namespace assay
