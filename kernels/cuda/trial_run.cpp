#include "kernels/cuda/trial_run.hpp"

#include <fmt/format.h>

#include <memory>

#include "core/base/error.hpp"
#include "support/cuda/trace.hpp"

namespace assay::cuda {

std::string gib(std::size_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

TensorSpec scratch_tensor(std::string name, Role role, std::size_t bytes) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.role = role;
  spec.type = DataType::u8;
  spec.bytes = bytes;
  return spec;
}

std::optional<Seen> trial_run(CudaDevice& device, Operation& operation,
                              const std::string& request) {
  std::size_t need = 0, workspace = 0;
  for (const TensorSpec& spec : operation.arguments()) {
    need += spec.bytes;
    if (spec.role == Role::workspace) workspace += spec.bytes;
  }
  if (const std::size_t free = device.memory_available(); need > free)
    throw CaseError(fmt::format(
        "needs {} on the GPU, {} of it workspace, but {} are free ({}). Use a smaller problem, or "
        "an algorithm with less workspace.",
        gib(need), gib(workspace), gib(free), request));
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation.arguments()) {
    tensors.push_back(device.allocate(spec));
    bound.push_back(tensors.back().get());
  }
  operation.bind(bound);
  operation.prologue(device.stream());
  device.stream().wait();
  const auto kernels = traced_kernels([&] {
    operation.run(device.stream());
    device.stream().wait();
  });
  return kernels ? std::optional(read_kernels(*kernels)) : std::nullopt;
}

std::string note_kernels(const Seen& seen, Precision precision, Executed& executed) {
  executed.evidence = "trace";
  // 16-bit tensors without tensor cores: the names tell not in what they were multiplied.
  if (size_of(storage(precision)) == 2 && !seen.tensor_cores) executed.compute = "";
  return why_not_arithmetic(seen, precision);
}

}  // namespace assay::cuda
