#pragma once
// A device that computes parts of references itself, so that no tensor crosses to the host for its
// check. Its arithmetic is believed of a formula after it has agreed with the host's, in each
// process.

#include <cstdint>
#include <memory>
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

/// A matrix in the memory of a device.
class KeptMatrix {
 public:
  KeptMatrix() = default;
  virtual ~KeptMatrix() = default;
  KeptMatrix(const KeptMatrix&) = delete;
  KeptMatrix& operator=(const KeptMatrix&) = delete;
};

/// c = a b in fp64, or c += a b if `add` is true. a and c, row-major, have m rows; lda and ldc are
/// the distances of these in elements. b consists of the columns [first, first + count) of a kept
/// matrix, or is their transposition.
struct KeptProduct {
  std::int64_t m, first, count;
  bool transposed;
  const double* a;
  std::int64_t lda;
  double* c;
  std::int64_t ldc;
  bool add;
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
  /// The values of the elements `indices` by the formula.
  virtual std::optional<std::vector<Expected>> expect(const ElementFormula& formula,
                                                      const Inputs& inputs,
                                                      std::span<const std::int64_t> indices) = 0;
  /// The sums of the formula's terms over each channel: [channel][term].
  virtual std::optional<std::vector<double>> sum(const ElementFormula& formula,
                                                 const Inputs& inputs, const Channels& over) = 0;
  /// Copies a row-major matrix to the device; null where that cannot multiply.
  virtual std::unique_ptr<KeptMatrix> keep(std::int64_t /*rows*/, std::int64_t /*columns*/,
                                           const float* /*numbers*/) {
    return nullptr;
  }
  /// False, with c unchanged, where the device cannot multiply.
  virtual bool multiply(const KeptMatrix&, const KeptProduct&) { return false; }
  /// True if the host has to check `what` before it is believed of the device.
  bool is_new(const std::string& what) const { return !believed_.contains(what); }
  void believe(const std::string& what) { believed_.insert(what); }

 private:
  std::set<std::string> believed_;
};

}  // namespace assay
