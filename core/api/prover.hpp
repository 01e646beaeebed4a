#pragma once
// A device that computes parts of references itself, so no tensor is copied to the host for its
// check. In each process, its results of a formula are trusted only after a sample of them has
// agreed with the host's.

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
/// the distances of rows in elements. b consists of the columns [first, first + count) of a kept
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

/// All functions return nothing if the device lacks the code of the formula or does not know the
/// layout of a tensor. The host computes then.
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
  /// Copies a row-major matrix to the device; null if the device cannot multiply.
  virtual std::unique_ptr<KeptMatrix> keep(std::int64_t /*rows*/, std::int64_t /*columns*/,
                                           const float* /*numbers*/) {
    return nullptr;
  }
  /// If the device cannot multiply, returns false and does not change c.
  virtual bool multiply(const KeptMatrix&, const KeptProduct&) { return false; }
  /// True if the host has to check `what` before the device is trusted with it.
  bool is_new(const std::string& what) const { return !believed_.contains(what); }
  void believe(const std::string& what) { believed_.insert(what); }

 private:
  std::set<std::string> believed_;
};

}  // namespace assay
