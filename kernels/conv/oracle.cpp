// The fp64 reference of single outputs, and the magnitudes of test data. Bounds: bounds.cpp; sum of
// all outputs: checksum.cpp; choice of outputs: sample.cpp.

#include <cmath>
#include <stdexcept>

#include "core/api/prover.hpp"
#include "kernels/conv/bounds.hpp"
#include "kernels/conv/geometry.hpp"
#include "kernels/conv/parts.hpp"
#include "kernels/oracle/failure.hpp"

namespace assay {
namespace convolution {
namespace {

/// Reads values[first + i*stride], by whole blocks if fewer values are generated that way.
void gather(const Values& values, std::int64_t first, std::int64_t stride, std::int64_t count,
            double* out, std::vector<double>& scratch) {
  if (count <= 0) return;
  if (stride == 1) {
    values.fill(first, {out, static_cast<std::size_t>(count)});
  } else if (stride <= 4 && count > 1) {
    scratch.resize(static_cast<std::size_t>((count - 1) * stride + 1));
    values.fill(first, scratch);
    for (std::int64_t i = 0; i < count; ++i) out[i] = scratch[static_cast<std::size_t>(i * stride)];
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = values(first + i * stride);
  }
}

/// Computes outputs one at a time, with one object for each thread. Neighbouring outputs share a
/// filter, which is cached.
class Reference {
 public:
  Reference(const ConvProblem& problem, const Values& a, const Values& b)
      : shape_(problem.shape()),
        direction_(problem.direction()),
        a_(a),
        b_(b),
        axes_(axes(shape_)),
        compensated_(problem.precision() == Precision::fp64),
        random_(a.random() && b.random()) {}

  Terms output(std::int64_t index) {
    Sum sum(compensated_, random_);
    switch (direction_) {
      case ConvDirection::forward:
        forward(index, sum);
        break;
      case ConvDirection::bwd_data:
        bwd_data(index, sum);
        break;
      case ConvDirection::bwd_weights:
        bwd_weights(index, sum);
        break;
    }
    return sum.terms();
  }

 private:
  using Position = std::array<std::int64_t, 3>;

  /// Splits a logical offset of [n, channels, z, y, x] with these spatial extents.
  static Position spatial(std::int64_t& index, std::int64_t d, std::int64_t h, std::int64_t w) {
    Position at{0, 0, index % w};
    index /= w;
    at[1] = index % h;
    index /= h;
    at[0] = index % d;
    index /= d;
    return at;
  }

  void forward(std::int64_t index, Sum& sum) {
    const ConvShape& s = shape_;
    const Position at = spatial(index, s.od, s.oh, s.ow);
    const std::int64_t o = index % s.oc, n = index / s.oc, icg = s.ic / s.g, volume = taps(s),
                       group = o / (s.oc / s.g);
    if (o != kept_) {
      filter_.resize(static_cast<std::size_t>(icg * volume));
      b_.fill(o * icg * volume, filter_);
      kept_ = o;
    }
    // Taps of the innermost dimension whose input is inside.
    const Axis& x = axes_[2];
    const std::int64_t left = x.input(at[2], 0);
    const std::int64_t first = left >= 0 ? 0 : (-left + x.step - 1) / x.step;
    const std::int64_t last = std::min(x.taps, left >= x.in ? 0 : (x.in - 1 - left) / x.step + 1);
    if (first >= last) return;
    row_.resize(static_cast<std::size_t>(last - first));
    for (std::int64_t i = 0; i < s.kd; ++i) {
      const std::int64_t iz = axes_[0].input(at[0], i);
      if (iz < 0 || iz >= s.id) continue;
      for (std::int64_t j = 0; j < s.kh; ++j) {
        const std::int64_t iy = axes_[1].input(at[1], j);
        if (iy < 0 || iy >= s.ih) continue;
        for (std::int64_t c = 0; c < icg; ++c) {
          const std::int64_t plane = ((n * s.ic + group * icg + c) * s.id + iz) * s.ih + iy;
          gather(a_, plane * s.iw + x.input(at[2], first), x.step, last - first, row_.data(),
                 scratch_);
          sum.add(row_.data(),
                  &filter_[static_cast<std::size_t>(((c * s.kd + i) * s.kh + j) * s.kw + first)],
                  last - first);
        }
      }
    }
  }

  struct Pair {
    std::int64_t tap, output;
  };
  /// The taps of one dimension through which outputs read input `at`, and those outputs. Both are
  /// arithmetic sequences.
  static void readers(const Axis& axis, std::int64_t at, std::vector<Pair>& pairs) {
    pairs.clear();
    for (std::int64_t t = 0; t < axis.taps; ++t) {
      const std::int64_t scaled = at + axis.pad - t * axis.step;
      if (scaled >= 0 && scaled % axis.stride == 0 && scaled / axis.stride < axis.out)
        pairs.push_back({t, scaled / axis.stride});
    }
  }

  void bwd_data(std::int64_t index, Sum& sum) {
    const ConvShape& s = shape_;
    const Position at = spatial(index, s.id, s.ih, s.iw);
    const std::int64_t c = index % s.ic, n = index / s.ic, icg = s.ic / s.g, ocg = s.oc / s.g,
                       volume = taps(s), group = c / icg;
    if (c != kept_) {
      filter_.resize(static_cast<std::size_t>(ocg * volume));
      for (std::int64_t o = 0; o < ocg; ++o)
        b_.fill(((group * ocg + o) * icg + c % icg) * volume,
                {&filter_[static_cast<std::size_t>(o * volume)], static_cast<std::size_t>(volume)});
      kept_ = c;
    }
    for (std::size_t d = 0; d < 3; ++d) readers(axes_[d], at[d], pairs_[d]);
    if (pairs_[2].empty()) return;
    const std::vector<Pair>& x = pairs_[2];
    const auto count = static_cast<std::int64_t>(x.size());
    const std::int64_t stride = count > 1 ? x[0].output - x[1].output : 1;
    row_.resize(x.size());
    weights_.resize(x.size());
    for (const Pair& z : pairs_[0])
      for (const Pair& y : pairs_[1])
        for (std::int64_t o = 0; o < ocg; ++o) {
          const std::int64_t plane =
              ((n * s.oc + group * ocg + o) * s.od + z.output) * s.oh + y.output;
          gather(a_, plane * s.ow + x.back().output, stride, count, row_.data(), scratch_);
          const std::int64_t taps_row = ((o * s.kd + z.tap) * s.kh + y.tap) * s.kw;
          for (std::int64_t i = 0; i < count; ++i)  // outputs descend as taps ascend
            weights_[static_cast<std::size_t>(i)] = filter_[static_cast<std::size_t>(
                taps_row + x[static_cast<std::size_t>(count - 1 - i)].tap)];
          sum.add(row_.data(), weights_.data(), count);
        }
  }

  void bwd_weights(std::int64_t index, Sum& sum) {
    const ConvShape& s = shape_;
    const Position tap = spatial(index, s.kd, s.kh, s.kw);
    const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g, o = index / icg,
                       c = o / ocg * icg + index % icg;
    std::array<std::array<std::int64_t, 2>, 3> inside;
    for (std::size_t d = 0; d < 3; ++d) inside[d] = axes_[d].outputs(tap[d]);
    const std::int64_t count = inside[2][1] - inside[2][0];
    if (count <= 0) return;
    row_.resize(static_cast<std::size_t>(count));
    weights_.resize(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < s.mb; ++n)
      for (std::int64_t z = inside[0][0]; z < inside[0][1]; ++z)
        for (std::int64_t y = inside[1][0]; y < inside[1][1]; ++y) {
          const std::int64_t iz = axes_[0].input(z, tap[0]), iy = axes_[1].input(y, tap[1]);
          gather(a_,
                 (((n * s.ic + c) * s.id + iz) * s.ih + iy) * s.iw +
                     axes_[2].input(inside[2][0], tap[2]),
                 s.sw, count, row_.data(), scratch_);
          gather(b_, (((n * s.oc + o) * s.od + z) * s.oh + y) * s.ow + inside[2][0], 1, count,
                 weights_.data(), scratch_);
          sum.add(row_.data(), weights_.data(), count);
        }
  }

  const ConvShape& shape_;
  ConvDirection direction_;
  const Values& a_;
  const Values& b_;
  std::array<Axis, 3> axes_;
  bool compensated_, random_;
  std::int64_t kept_ = -1;  ///< channel whose filter is held
  std::vector<double> filter_, row_, weights_, scratch_;
  std::array<std::vector<Pair>, 3> pairs_;
};

class ConvOracle final : public Oracle {
 public:
  explicit ConvOracle(const ConvProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  int exact_magnitude(const Execution& execution) const override {
    if (method(execution) != Method::direct)
      return 0;  // transforms are exact for no useful integers
    return sums::exact_magnitude(
        problem_.precision(), execution, tensors_[0].type,
        static_cast<double>(reduction(problem_.shape(), problem_.direction())));
  }

  int full_magnitude(const TensorSpec& argument) const override {
    return sums::full_magnitude(argument.type);
  }

  std::vector<std::int64_t> sample(const TensorSpec&, double budget,
                                   std::uint64_t seed) const override {
    return sample_outputs(problem_, budget, seed);
  }

  void expect(const TensorSpec&, const Inputs& inputs, const Execution& execution, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    if (indices.size() != expected.size())
      throw std::logic_error("conv oracle: as many indices as places are needed");
    const Values& a = inputs.find(tensors_[0].name)->second;
    const Values& b = inputs.find(tensors_[1].name)->second;
    const double mean_square = method(execution) == Method::direct  // which does not need it
                                   ? 0
                                   : moments(a, tensors_[0].elements()).mean_square *
                                         moments(b, tensors_[1].elements()).mean_square;
    const auto count = static_cast<std::int64_t>(indices.size());
    const bool random = a.random() && b.random();
    const ErrorModel model(problem_, execution, indices.size(), mean_square,
                           random ? indices : std::span<const std::int64_t>());
    // Waking threads costs more than a small reference.
    const bool worthwhile =
        static_cast<double>(count) *
            static_cast<double>(reduction(problem_.shape(), problem_.direction())) >
        1e4;
    std::optional<std::vector<Terms>> there;
    if (prover_ != nullptr)
      there = sums_there(*prover_, problem_, inputs, indices, [&](std::int64_t output) {
        return Reference(problem_, a, b).output(output);
      });
    sums::Failure failure;
#pragma omp parallel if (worthwhile && !there)
    {
      Reference reference(problem_, a, b);
#pragma omp for schedule(dynamic, 16)
      for (std::int64_t i = 0; i < count; ++i) {
        Terms terms;
        failure.keep([&] {
          terms = there ? (*there)[static_cast<std::size_t>(i)]
                        : reference.output(indices[static_cast<std::size_t>(i)]);
        });
        if (!random) terms = sums::of_any_data(terms);
        Expected& want = expected[static_cast<std::size_t>(i)];
        want = exact ? Expected{terms.value, 0, 0} : model.expected(terms);
        if (exact || random || terms.absolute == 0) continue;
        const double lost = sums::bound_flushed(problem_.precision(), terms);
        want.max_bound += lost;
        want.rms_bound += lost;
      }
    }
    failure.rethrow();
  }

  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    const Values& a = inputs.find(tensors_[0].name)->second;
    const Values& b = inputs.find(tensors_[1].name)->second;
    if (output.type == DataType::bf16 || output.type == DataType::fp16) {
      const Moments of_a = moments(a, tensors_[0].elements()),
                    of_b = moments(b, tensors_[1].elements());
      const double k = static_cast<double>(reduction(problem_.shape(), problem_.direction()));
      const double limit = std::ldexp(1, significand_bits(output.type));
      if (log_tail(k, of_a.mean_square * of_b.mean_square, of_a.largest * of_b.largest, limit) >
          never)
        return std::nullopt;
    }
    return sum_of_outputs(problem_, a, b, weights);
  }

  std::optional<std::string> why_unjudgeable(const Execution& execution) const override {
    return explain_unjudged(problem_, execution);
  }

  double widest_norm_bound() const override {
    return sums::widest_norm_bound(problem_.precision());
  }

 private:
  ConvProblem problem_;
  std::vector<TensorSpec> tensors_;
};

}  // namespace
}  // namespace convolution

std::unique_ptr<Oracle> make_conv_oracle(const ConvProblem& problem) {
  return std::make_unique<convolution::ConvOracle>(problem);
}

}  // namespace assay
