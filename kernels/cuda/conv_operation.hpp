#pragma once
// A convolution by one algorithm or plan of cuDNN.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/operation.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/cuda/conv_form.hpp"
#include "kernels/cuda/conv_way.hpp"
#include "kernels/cuda/cudnn.hpp"
#include "kernels/cuda/kernel_names.hpp"

namespace assay::cuda {

class Convolution final : public BoundOperation {
 public:
  Convolution(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form,
              const std::string& algorithm, std::unique_ptr<ConvWay> way);

  /// Runs once. Returns why the run was not the requested one, or nothing. Throws if cuDNN refuses
  /// only now, or if something fails. `timed`: sets seconds(), if there is a clock.
  std::optional<Unsupported> prove(CudnnDevice& device, const std::string& request, bool timed);
  /// The same operation for other tensors. It counts as proven, like this one.
  std::unique_ptr<Convolution> again() const;
  /// Seconds of a run; 0: unknown.
  double seconds() const { return seconds_; }
  /// True if these are the seconds of its kernels alone.
  bool recorded() const { return recorded_; }
  void note_seconds(double seconds);
  std::string way() const { return execution_.algorithm + way_->implementation; }
  void note(const char* name, double value) { execution_.numbers[name] = value; }
  /// Names the candidates that failed before.
  void note_failed(const std::vector<std::string>& names);

  void bind(std::span<Tensor* const> tensors) override;
  void run(Stream& stream) override;

 private:
  /// Compares the kernels that ran with the request.
  std::optional<Unsupported> judge(const std::optional<KernelMeaning>& seen);

  const CudnnDevice& device_;
  Precision precision_;
  ConvDirection direction_;
  double products_;               ///< in one output, on average
  std::shared_ptr<ConvWay> way_;  ///< not shared with another operation
  double seconds_ = 0;
  bool recorded_ = false;
};

}  // namespace assay::cuda
