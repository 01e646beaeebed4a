#include "kernels/cuda/own_operation.hpp"

#include <fmt/format.h>

#include "core/api/layout.hpp"
#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "kernels/oracle/refused_algorithm.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {

OwnOperation::OwnOperation(const Problem& problem, Precision precision,
                           std::vector<TensorSpec> arguments)
    : BoundOperation(std::move(arguments)), what_(problem.kind() + " " + problem.canonical()) {
  execution_.algorithm = "direct";
  execution_.implementation = "own kernels";
  execution_.storage = std::string(name(precision));
  execution_.compute = execution_.accumulate =
      std::string(name(storage(precision) == DataType::fp64 ? DataType::fp64 : DataType::fp32));
  execution_.layout = "rows";
  execution_.evidence = "numerical";  // the bounds of fp32 exclude bf16
}

void OwnOperation::run(Stream& stream) {
  stream_ = cuda_stream(stream);
  start_all();
}

void OwnOperation::check_launch(cudaError_t error) const { check(error, what_); }

std::int64_t OwnOperation::sums_size(std::int64_t rows, std::int64_t columns) {
  std::int64_t size = rows * columns;
  for (; rows > rows_of_stage; size += rows * columns) rows = after_stage(rows);
  return size;
}

void OwnOperation::add_workspace(std::size_t bytes) {
  arguments_.push_back(bytes_tensor("workspace", Role::workspace, bytes));
  execution_.workspace_bytes = bytes;
}

void OwnOperation::lay_channels_last() {
  execution_.layout = "nhwc";
  for (TensorSpec& spec : arguments_)
    if (spec.dims.size() == 4)
      spec.layout = std::make_shared<const Layout>(channels_last(spec.dims));
}

std::optional<Unsupported> why_not_own(const Problem& problem, Precision precision,
                                       const Options& options, const Device& device) {
  const std::string layout = options.get("layout", "any");
  if (auto why = refuse_algorithm(options, "cuda", {"direct"}, problem.kind())) return why;
  if (layout != "any" && layout != "nhwc")
    return Unsupported{fmt::format(
        "cuda has no layout {} for {} (channels are its innermost dimension). Use any or nhwc.",
        layout, problem.kind())};
  const Facts& gpu = static_cast<const CudaDevice&>(device).facts();
  if (std::string why = why_not_precision(precision, gpu); !why.empty())
    return Unsupported{std::move(why)};
  return std::nullopt;
}

}  // namespace assay::cuda
