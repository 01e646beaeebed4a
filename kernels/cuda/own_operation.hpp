#pragma once
// Operations that only our own kernels compute.

#include <optional>
#include <string>
#include <vector>

#include "core/api/backend.hpp"
#include "core/api/operation.hpp"
#include "kernels/cuda/for_each.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {

class OwnOperation : public BoundOperation {
 public:
  void run(Stream& stream) final;

 protected:
  OwnOperation(const Problem& problem, Precision precision, std::vector<TensorSpec> arguments);

  /// Starts the kernels, in order.
  virtual void start_all() = 0;

  template <class Item>
  void start(const Item& item, std::int64_t count) const {
    check_launch(for_each(item, count, stream_));
  }
  /// Rows of at most 64, with the sums of rows [rows, columns]. It also uses the memory after the
  /// rows; sums_size() has the total.
  FewRows few(double* from, std::int64_t rows, std::int64_t columns) const {
    while (rows > rows_of_stage) {
      double* const next = from + rows * columns;
      const std::int64_t left = after_stage(rows);
      start(SumStage<double>{from, next, rows, columns}, left * columns);
      from = next;
      rows = left;
    }
    return {from, rows, columns};
  }
  /// to [columns] = the sums of rows [rows, columns], as few() takes them.
  template <class To>
  void add_up(double* from, std::int64_t rows, std::int64_t columns, To* to) const {
    const FewRows left = few(from, rows, columns);
    start(SumStage<To>{left.from, to, left.rows, columns}, columns);
  }
  /// Number of fp64 numbers of the rows and of the stages of their sums.
  static std::int64_t sums_size(std::int64_t rows, std::int64_t columns);
  static std::int64_t after_stage(std::int64_t rows) {
    return (rows + rows_of_stage - 1) / rows_of_stage;
  }

  void add_workspace(std::size_t bytes);
  /// Lays out all tensors of four dimensions with channels innermost.
  void lay_channels_last();

 private:
  void check_launch(cudaError_t error) const;

  std::string what_;
  cudaStream_t stream_ = nullptr;
};

/// Calls make() with an element of the storage type.
template <class Make>
auto with_stored(DataType type, const Make& make) {
  switch (type) {
    case DataType::fp64:
      return make(double());
    case DataType::bf16:
      return make(__nv_bfloat16());
    case DataType::fp16:
      return make(__half());
    default:
      return make(float());
  }
}

/// The reason why our kernels do not support a problem with these options; nothing if they do.
std::optional<Unsupported> why_not_own(const Problem& problem, Precision precision,
                                       const Options& options, const Device& device);

/// Calls make(problem, an element of its storage type) if this GPU supports the problem.
template <class P, class Make>
Result<std::unique_ptr<Operation>> make_stored(const Device& device, const Problem& what,
                                               const Options& options, const Make& make) {
  const P& problem = problem_cast<P>(what);
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  if (auto why = why_not_own(problem, problem.precision(), options, device)) return *why;
  return with_stored(storage(problem.precision()),
                     [&](auto stored) { return make(problem, stored); });
}

/// The maker (see `Makers`) of the operation Own for the problem P, for P's storage type.
template <class P, template <class Stored> class Own>
Result<std::unique_ptr<Operation>> make_own(Device& device, const Problem& what,
                                            const Options& options, Communicator&) {
  return make_stored<P>(device, what, options,
                        [](const P& problem, auto stored) -> std::unique_ptr<Operation> {
                          return std::make_unique<Own<decltype(stored)>>(problem);
                        });
}

/// The same if Own also has a width: packs of channels if the number of channels is a multiple of
/// them, else single channels.
template <class P, template <class Stored, int width> class Own>
Result<std::unique_ptr<Operation>> make_own(Device& device, const Problem& what,
                                            const Options& options, Communicator&) {
  return make_stored<P>(device, what, options,
                        [](const P& problem, auto stored) -> std::unique_ptr<Operation> {
                          using Stored = decltype(stored);
                          if (problem.shape().ic % widest<Stored> == 0)
                            return std::make_unique<Own<Stored, widest<Stored>>>(problem);
                          return std::make_unique<Own<Stored, 1>>(problem);
                        });
}

}  // namespace assay::cuda
