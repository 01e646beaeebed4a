// Direct convolution by plain loops over whole planes, accumulated in fp64, rounded once to the
// tensor's type.

#include "kernels/conv/problem.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstddef>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Tensors are decoded plane by plane, and a block of channels shares each decoded plane. Its size:
/// as many channels as fit 4 MiB of sums.
std::int64_t channels_at_once(std::size_t plane) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 19) / static_cast<std::int64_t>(plane), 1,
                                  16);
}

/// Tap range [first, last) of outputs for which output*stride + offset lies in [0, in).
struct Range {
  std::int64_t first, last;
};
Range inside(std::int64_t offset, std::int64_t stride, std::int64_t in, std::int64_t out) {
  Range range{0, out};
  while (range.first < range.last && range.first * stride + offset < 0) ++range.first;
  while (range.last > range.first && (range.last - 1) * stride + offset >= in) --range.last;
  return range;
}

class DirectConvolution final : public PlainOperation {
 public:
  DirectConvolution(const ConvProblem& problem, int threads)
      : PlainOperation(problem, threads,
                       problem.shape().kd == 1 && problem.shape().id == 1 ? "nchw" : "ncdhw"),
        shape_(problem.shape()),
        direction_(problem.direction()) {
    const ConvShape& s = shape_;
    in_ = static_cast<std::size_t>(s.id * s.ih * s.iw);
    out_ = static_cast<std::size_t>(s.od * s.oh * s.ow);
    taps_ = static_cast<std::size_t>(s.kd * s.kh * s.kw);
    for (std::int64_t i = 0; i < s.kd; ++i)
      for (std::int64_t j = 0; j < s.kh; ++j)
        for (std::int64_t k = 0; k < s.kw; ++k) {
          const std::int64_t z = i * (s.dd + 1) - s.pd, y = j * (s.dh + 1) - s.ph,
                             x = k * (s.dw + 1) - s.pw;
          windows_.push_back({z, y, x, inside(z, s.sd, s.id, s.od), inside(y, s.sh, s.ih, s.oh),
                              inside(x, s.sw, s.iw, s.ow)});
        }
    // Scratch of each thread: one plane of src and of dst, a block of accumulators, and a filter.
    const std::size_t widest = direction_ == ConvDirection::forward    ? out_
                               : direction_ == ConvDirection::bwd_data ? in_
                                                                       : taps_;
    block_ = channels_at_once(widest);
    plane_ = direction_ == ConvDirection::forward ? in_ : out_;
    other_ = direction_ == ConvDirection::bwd_weights ? in_ : 0;
    sums_ = widest * static_cast<std::size_t>(block_);
    scratch_.resize(static_cast<std::size_t>(threads_));
    // The runner allocates the workspace, after it has checked that there is enough memory for
    // everything.
    execution_.workspace_bytes = scratch_.size() * scratch_values() * sizeof(double);
    arguments_.push_back(bytes_tensor("scratchpad", Role::workspace, execution_.workspace_bytes));
    execution_.implementation = "direct loop";
    if (arguments_[0].type != DataType::u8)
      execution_.storage = std::string(name(arguments_[0].type));
  }

  void bind(std::span<Tensor* const> tensors) override {
    PlainOperation::bind(tensors);
    auto* values = data<double>(3);
    for (Scratch& scratch : scratch_) {
      double* next = values;
      const auto take = [&next](std::size_t count) {
        const std::span<double> part(next, count);
        next += count;
        return part;
      };
      scratch = {take(plane_), take(other_), take(sums_), take(taps_)};
      values += scratch_values();
    }
  }

  void run(Stream&) override {
    const ConvShape& s = shape_;
    const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g;
    // Work items: an image or an output channel, a group, and a block of channels.
    const bool weights = direction_ == ConvDirection::bwd_weights;
    const std::int64_t leading = weights ? ocg : s.mb;
    const std::int64_t channels = direction_ == ConvDirection::forward ? ocg : icg;
    const std::int64_t blocks = (channels + block_ - 1) / block_;
#pragma omp parallel for schedule(dynamic, 1) collapse(3) num_threads(threads_)
    for (std::int64_t first = 0; first < leading; ++first)
      for (std::int64_t group = 0; group < s.g; ++group)
        for (std::int64_t part = 0; part < blocks; ++part) {
          Scratch& scratch = scratch_[static_cast<std::size_t>(omp_get_thread_num())];
          const std::int64_t begin = part * block_, end = std::min(channels, begin + block_);
          switch (direction_) {
            case ConvDirection::forward:
              forward(scratch, first, group, begin, end);
              break;
            case ConvDirection::bwd_data:
              bwd_data(scratch, first, group, begin, end);
              break;
            case ConvDirection::bwd_weights:
              bwd_weights(scratch, first, group, begin, end);
              break;
          }
        }
  }

 private:
  struct Scratch {
    std::span<double> plane, other, sums, filter;
  };
  struct Window {
    std::int64_t z, y, x;  ///< input coordinate read by output 0
    Range out_z, out_y, out_x;
  };

  /// fp64 values of one thread's scratch, in whole cache lines: threads do not share one.
  std::size_t scratch_values() const { return (plane_ + other_ + sums_ + taps_ + 7) / 8 * 8; }

  std::int64_t src_plane(std::int64_t n, std::int64_t c) const {
    return (n * shape_.ic + c) * static_cast<std::int64_t>(in_);
  }
  std::int64_t dst_plane(std::int64_t n, std::int64_t o) const {
    return (n * shape_.oc + o) * static_cast<std::int64_t>(out_);
  }
  std::int64_t filter_at(std::int64_t group, std::int64_t o, std::int64_t c) const {
    return ((group * (shape_.oc / shape_.g) + o) * (shape_.ic / shape_.g) + c) *
           static_cast<std::int64_t>(taps_);
  }

  /// body(offset of an output row, offset of the input that its first element reads, outputs) for
  /// each row of one tap.
  template <class Body>
  void rows(const Window& w, Body body) const {
    const ConvShape& s = shape_;
    for (std::int64_t z = w.out_z.first; z < w.out_z.last; ++z)
      for (std::int64_t y = w.out_y.first; y < w.out_y.last; ++y)
        body((z * s.oh + y) * s.ow + w.out_x.first,
             ((z * s.sd + w.z) * s.ih + y * s.sh + w.y) * s.iw + w.out_x.first * s.sw + w.x,
             w.out_x.last - w.out_x.first);
  }

  void forward(Scratch& t, std::int64_t n, std::int64_t group, std::int64_t begin,
               std::int64_t end) const {
    const std::int64_t icg = shape_.ic / shape_.g, ocg = shape_.oc / shape_.g, stride = shape_.sw;
    std::fill(t.sums.begin(), t.sums.end(), 0.0);
    for (std::int64_t c = 0; c < icg; ++c) {
      read(0, src_plane(n, group * icg + c), t.plane);
      for (std::int64_t o = begin; o < end; ++o) {
        read(1, filter_at(group, o, c), t.filter);
        double* const sums = t.sums.data() + static_cast<std::size_t>(o - begin) * out_;
        for (std::size_t tap = 0; tap < taps_; ++tap)
          rows(windows_[tap],
               [&, weight = t.filter[tap]](std::int64_t to, std::int64_t from, std::int64_t count) {
                 for (std::int64_t x = 0; x < count; ++x)
                   sums[to + x] += weight * t.plane[static_cast<std::size_t>(from + x * stride)];
               });
      }
    }
    for (std::int64_t o = begin; o < end; ++o)
      write(2, dst_plane(n, group * ocg + o),
            t.sums.subspan(static_cast<std::size_t>(o - begin) * out_, out_));
  }

  void bwd_data(Scratch& t, std::int64_t n, std::int64_t group, std::int64_t begin,
                std::int64_t end) const {
    const std::int64_t icg = shape_.ic / shape_.g, ocg = shape_.oc / shape_.g, stride = shape_.sw;
    std::fill(t.sums.begin(), t.sums.end(), 0.0);
    for (std::int64_t o = 0; o < ocg; ++o) {
      read(0, dst_plane(n, group * ocg + o), t.plane);
      for (std::int64_t c = begin; c < end; ++c) {
        read(1, filter_at(group, o, c), t.filter);
        double* const sums = t.sums.data() + static_cast<std::size_t>(c - begin) * in_;
        for (std::size_t tap = 0; tap < taps_; ++tap)
          rows(windows_[tap],
               [&, weight = t.filter[tap]](std::int64_t from, std::int64_t to, std::int64_t count) {
                 for (std::int64_t x = 0; x < count; ++x)
                   sums[to + x * stride] += weight * t.plane[static_cast<std::size_t>(from + x)];
               });
      }
    }
    for (std::int64_t c = begin; c < end; ++c)
      write(2, src_plane(n, group * icg + c),
            t.sums.subspan(static_cast<std::size_t>(c - begin) * in_, in_));
  }

  void bwd_weights(Scratch& t, std::int64_t o, std::int64_t group, std::int64_t begin,
                   std::int64_t end) const {
    const std::int64_t icg = shape_.ic / shape_.g, ocg = shape_.oc / shape_.g, stride = shape_.sw;
    std::fill(t.sums.begin(), t.sums.end(), 0.0);
    for (std::int64_t n = 0; n < shape_.mb; ++n) {
      read(1, dst_plane(n, group * ocg + o), t.plane);
      for (std::int64_t c = begin; c < end; ++c) {
        read(0, src_plane(n, group * icg + c), t.other);
        for (std::size_t tap = 0; tap < taps_; ++tap) {
          double sum = 0;
          rows(windows_[tap], [&](std::int64_t out, std::int64_t in, std::int64_t count) {
            for (std::int64_t x = 0; x < count; ++x)
              sum += t.other[static_cast<std::size_t>(in + x * stride)] *
                     t.plane[static_cast<std::size_t>(out + x)];
          });
          t.sums[static_cast<std::size_t>(c - begin) * taps_ + tap] += sum;
        }
      }
    }
    for (std::int64_t c = begin; c < end; ++c)
      write(2, filter_at(group, o, c),
            t.sums.subspan(static_cast<std::size_t>(c - begin) * taps_, taps_));
  }

  ConvShape shape_;
  ConvDirection direction_;
  std::int64_t block_ = 1;                        ///< channels of one work item
  std::size_t in_ = 0, out_ = 0, taps_ = 0;       ///< elements of one plane, and of one filter
  std::size_t plane_ = 0, other_ = 0, sums_ = 0;  ///< elements of the parts of a Scratch
  std::vector<Window> windows_;
  std::vector<Scratch> scratch_;
};

Result<std::unique_ptr<Operation>> make_conv(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const ConvProblem& conv = problem_cast<ConvProblem>(problem);
  const std::string algorithm = options.get("algorithm", "auto"),
                    layout = options.get("layout", "any");
  if (algorithm != "auto" && algorithm != "direct")
    return Unsupported{fmt::format(
        "reference has no {} convolution (it only computes direct). Use direct.", algorithm)};
  if (layout != "any" && layout != "nchw")
    return Unsupported{
        fmt::format("reference has no layout {} (it only has nchw). Use any.", layout)};
  if (conv.precision() == Precision::tf32)
    return Unsupported{"reference has no tf32 (it computes in fp64). Use fp32."};
  if (const auto why = why_not_precision(conv)) return Unsupported{*why};
  return std::make_unique<DirectConvolution>(conv, std::max(1, options.threads));
}

const Maker add_conv{makers(), problem_kind<ConvProblem>(), &make_conv, {"direct"}};

}  // namespace
}  // namespace assay::reference
