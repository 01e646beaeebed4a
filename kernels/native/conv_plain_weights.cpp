// Convolutions on plain weights [g, oc, ic, kh, kw], the layout for an optimizer and an allreduce.
// Each run converts them to the layout of the kernels, or gradients back from it.

#include <cstring>

#include "kernels/native/conv_parts.hpp"

namespace assay::native {
namespace {

/// A tile is read and written in whole cache lines of fp32.
constexpr std::ptrdiff_t edge = 16;

/// Copies weights between the plain order and a Layout. The place of an element in a Layout is a
/// sum of one term for each dimension; the terms are tabulated.
class Packing {
 public:
  explicit Packing(const TensorSpec& spec)
      : layout_(*spec.layout),
        size_(size_of(spec.type)),
        padded_(layout_.elements > spec.elements()),
        groups_(spec.dims[0]),
        outputs_(spec.dims[1]),
        inputs_(spec.dims[2]),
        taps_(spec.dims[3] * spec.dims[4]) {
    group_ = places(0, groups_);
    output_ = places(1, outputs_);
    if (outputs_ > 1) step_ = output_[1] - output_[0];
    const std::vector<std::ptrdiff_t> input = places(2, inputs_), row = places(3, spec.dims[3]),
                                      column = places(4, spec.dims[4]);
    for (std::ptrdiff_t i = 0; i < inputs_; ++i)
      for (const std::ptrdiff_t y : row)
        for (const std::ptrdiff_t x : column) filter_.push_back(input[at(i)] + y + x);
  }

  void pack(const void* plain, void* packed, int threads) const {
    if (padded_) std::memset(packed, 0, static_cast<std::size_t>(layout_.elements) * size_);
    size_ == 4 ? pack(static_cast<const std::uint32_t*>(plain), static_cast<std::uint32_t*>(packed),
                      threads)
               : pack(static_cast<const std::uint16_t*>(plain), static_cast<std::uint16_t*>(packed),
                      threads);
  }
  void unpack(const void* packed, void* plain, int threads) const {
    size_ == 4 ? unpack(static_cast<const std::uint32_t*>(packed),
                        static_cast<std::uint32_t*>(plain), threads)
               : unpack(static_cast<const std::uint16_t*>(packed),
                        static_cast<std::uint16_t*>(plain), threads);
  }

 private:
  static std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

  std::vector<std::ptrdiff_t> places(std::size_t dimension, std::ptrdiff_t extent) const {
    const Split& split = layout_.splits[dimension];
    std::vector<std::ptrdiff_t> all(at(extent));
    for (std::ptrdiff_t i = 0; i < extent; ++i)
      all[at(i)] = i / split.block * split.outer + i % split.block * split.inner;
    return all;
  }

  /// Calls body(first output of a tile, outputs in it, first element of their filters, elements,
  /// place of the group, plain elements before it) for all tiles, in parallel. A tile of outputs
  /// lies within one block of the layout, because blocks have 16 outputs or multiples of 16.
  template <class Body>
  void tiles(int threads, const Body& body) const {
    const std::ptrdiff_t filter = inputs_ * taps_, per_group = count_blocks(outputs_, edge);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::ptrdiff_t block = 0; block < groups_ * per_group; ++block) {
      const std::ptrdiff_t g = block / per_group, first = block % per_group * edge,
                           count = std::min(edge, outputs_ - first);
      for (std::ptrdiff_t from = 0; from < filter; from += edge)
        body(first, count, from, std::min(edge, filter - from), group_[at(g)],
             (g * outputs_ + first) * filter);
    }
  }

  template <class T>
  void pack(const T* plain, T* packed, int threads) const {
    const std::ptrdiff_t filter = inputs_ * taps_;
    tiles(threads, [=, this](std::ptrdiff_t first, std::ptrdiff_t outputs, std::ptrdiff_t from,
                             std::ptrdiff_t elements, std::ptrdiff_t group, std::ptrdiff_t before) {
      T tile[edge * edge];
      for (std::ptrdiff_t o = 0; o < outputs; ++o)
        std::memcpy(tile + o * edge, plain + before + o * filter + from, at(elements) * sizeof(T));
      for (std::ptrdiff_t e = 0; e < elements; ++e) {
        T* const to = packed + group + output_[at(first)] + filter_[at(from + e)];
        for (std::ptrdiff_t o = 0; o < outputs; ++o) to[o * step_] = tile[o * edge + e];
      }
    });
  }

  template <class T>
  void unpack(const T* packed, T* plain, int threads) const {
    const std::ptrdiff_t filter = inputs_ * taps_;
    tiles(threads, [=, this](std::ptrdiff_t first, std::ptrdiff_t outputs, std::ptrdiff_t from,
                             std::ptrdiff_t elements, std::ptrdiff_t group, std::ptrdiff_t before) {
      T tile[edge * edge];
      for (std::ptrdiff_t e = 0; e < elements; ++e) {
        const T* const in = packed + group + output_[at(first)] + filter_[at(from + e)];
        for (std::ptrdiff_t o = 0; o < outputs; ++o) tile[o * edge + e] = in[o * step_];
      }
      for (std::ptrdiff_t o = 0; o < outputs; ++o)
        std::memcpy(plain + before + o * filter + from, tile + o * edge, at(elements) * sizeof(T));
    });
  }

  Layout layout_;
  std::size_t size_;
  bool padded_;
  std::ptrdiff_t groups_, outputs_, inputs_, taps_;
  std::ptrdiff_t step_ = 0;                     ///< between outputs within a tile
  std::vector<std::ptrdiff_t> group_, output_;  ///< places of their indices
  std::vector<std::ptrdiff_t> filter_;          ///< of the elements [ic, kh, kw] of one filter
};

class OnPlainWeights final : public BoundOperation {
 public:
  OnPlainWeights(std::unique_ptr<Operation> inner, const Request& request)
      : BoundOperation(inner->arguments()),
        inner_(std::move(inner)),
        gradient_(request.problem.direction() == ConvDirection::bwd_weights),
        weights_(gradient_ ? 2 : 1),
        threads_(request.threads),
        packing_(arguments_[weights_]) {
    const std::size_t packed = arguments_[weights_].bytes;
    arguments_[weights_] = request.problem.tensors()[weights_];
    arguments_.push_back(bytes_tensor("packed_weights", Role::workspace, packed));
    execution_ = inner_->execution();
    execution_.workspace_bytes += packed;
    execution_.layout += ", weights packed within the run";
  }

  void bind(std::span<Tensor* const> tensors) override {
    std::vector<Tensor*> inner(tensors.begin(), tensors.end() - 1);
    plain_ = inner[weights_]->data();
    packed_ = tensors.back()->data();
    inner[weights_] = tensors.back();
    inner_->bind(inner);
  }

  void run(Stream& stream) override {
    if (!gradient_) packing_.pack(plain_, packed_, threads_);
    inner_->run(stream);
    if (gradient_) packing_.unpack(packed_, plain_, threads_);
  }

 private:
  std::unique_ptr<Operation> inner_;
  bool gradient_;
  std::size_t weights_;  ///< among the arguments
  int threads_;
  Packing packing_;
  void *plain_ = nullptr, *packed_ = nullptr;
};

}  // namespace

std::unique_ptr<Operation> on_plain_weights(std::unique_ptr<Operation> convolution,
                                            const Request& request) {
  return std::make_unique<OnPlainWeights>(std::move(convolution), request);
}

}  // namespace assay::native
