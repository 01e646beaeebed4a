#include "kernels/cuda/conv_operation.hpp"

#include <fmt/format.h>

#include "kernels/conv/bounds.hpp"
#include "kernels/cuda/conv_algorithms.hpp"
#include "kernels/cuda/trial_run.hpp"

namespace assay::cuda {
namespace {

constexpr double longest_shown = 1e6;

}  // namespace

Convolution::Convolution(const CudnnDevice& device, const ConvProblem& problem,
                         const ConvForm& form, const std::string& algorithm,
                         std::unique_ptr<ConvWay> way)
    : BoundOperation(form.specs),
      device_(device),
      precision_(problem.precision()),
      direction_(problem.direction()),
      products_(problem.flops() / 2 / static_cast<double>(form.specs[2].elements())),
      way_(std::move(way)) {
  execution_.algorithm = algorithm;
  execution_.implementation = way_->implementation;
  execution_.storage = std::string(name(storage(precision_)));
  if (precision_ == Precision::int8) execution_.storage = std::string(name(precision_));
  execution_.compute = form.arithmetic.compute;
  execution_.accumulate = form.arithmetic.accumulate;
  execution_.layout = form.layout;
  execution_.workspace_bytes = way_->workspace;
  if (way_->workspace > 0)
    arguments_.push_back(bytes_tensor("workspace", Role::workspace, way_->workspace));
  if (way_->nondeterministic) execution_.numbers["nondeterministic"] = 1;
  if (way_->winograd_points > 0)
    execution_.tile = way_->winograd_points - static_cast<int>(problem.shape().kh) + 1;
}

std::optional<Unsupported> Convolution::prove(CudnnDevice& device, const std::string& request,
                                              bool timed) {
  const std::optional<KernelMeaning> seen =
      trial_run(device, *this, request, timed ? &seconds_ : nullptr);
  recorded_ = seen.has_value();
  if (seen) seconds_ = seen->seconds;
  return judge(seen);
}

std::unique_ptr<Convolution> Convolution::again() const {
  auto other = std::make_unique<Convolution>(*this);
  other->way_ = way_->again();
  return other;
}

void Convolution::note_seconds(double seconds) {
  seconds_ = seconds;
  if (recorded_) note("kernels_s", seconds);
}

void Convolution::note_failed(const std::vector<std::string>& names) {
  execution_.implementation += fmt::format(", without {}, which failed", fmt::join(names, ", "));
}

void Convolution::bind(std::span<Tensor* const> tensors) {
  std::vector<void*> data;
  for (Tensor* const tensor : tensors) data.push_back(tensor->data());
  way_->bind(data.data(), way_->workspace > 0 ? data.back() : nullptr);
}

void Convolution::run(Stream& stream) {
  device_.use(stream);
  const cudnnStatus_t status = way_->run();
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnError(fmt::format("{} ({})", execution_.algorithm, name(direction_)), status);
}

std::optional<Unsupported> Convolution::judge(const std::optional<KernelMeaning>& seen) {
  const Family family = find_family(execution_.algorithm);
  if (!seen && !way_->meaning) {
    // The bounds of fp32 exclude tf32, and exact integers exclude transforms, so an ok row proves
    // both. This fails for long sums, because the bounds become wide and no integers are small
    // enough. Errors tell too little about the arithmetic of 16-bit tensors, and about the kind of
    // transform.
    const bool shown = (precision_ == Precision::fp32 || precision_ == Precision::fp64 ||
                        precision_ == Precision::int8) &&
                       products_ < longest_shown;
    execution_.evidence = shown && family == Family::direct ? "numerical" : "requested";
    return std::nullopt;
  }
  KernelMeaning known = seen ? *seen : *way_->meaning;
  if (seen && way_->meaning) {
    known.names = fmt::format("{}: {}", way_->meaning->names, seen->names);
    // The engine's note covers everything that the engine may do. Kernel names may not tell the
    // type of an addition: a kernel may contain a reduction that its name does not mention, and
    // only the library knows. So the note alone is evidence for the wider bound, unless a kernel
    // ran that adds parts stored in fp32: no kernel has two ways to add its parts.
    known.adds_parts |= way_->meaning->adds_parts && !seen->adds_in_fp32;
  }
  execution_.implementation = known.names;
  const std::string why = note_kernels(known, precision_, execution_);
  // The note says that an engine may use tensor cores. This does not prove tf32; its errors do.
  if (!seen) execution_.evidence = precision_ == Precision::tf32 ? "requested" : "library";
  if (known.adds_parts && size_of(storage(precision_)) == 2) {
    execution_.accumulate = execution_.storage;
    execution_.numbers[sums::partial_sums] = sums::most_parts;  // docs/method-conv.md
  }
  if (known.family != family)
    return Unsupported{fmt::format("{} ran something else for {} ({})", cudnn_library(),
                                   execution_.algorithm, known.names)};
  if (!why.empty()) return Unsupported{fmt::format("{}: {}", cudnn_library(), why)};
  return std::nullopt;
}

}  // namespace assay::cuda
