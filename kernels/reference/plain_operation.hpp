#pragma once
// The base of the operations: plain loops in fp64, on row-major tensors.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/place.hpp"
#include "kernels/reference/backend.hpp"

namespace assay::reference {

/// Decodes arguments to fp64 when it reads them, and rounds results once when it writes them.
class PlainOperation : public BoundOperation {
 protected:
  template <class P>
  PlainOperation(const P& problem, int threads, std::string layout = "rows")
      : BoundOperation(problem.tensors()), threads_(threads) {
    execution_.algorithm = "direct";
    execution_.implementation = "plain loop";
    execution_.storage = std::string(name(problem.precision()));
    execution_.compute = execution_.accumulate = std::string(name(DataType::fp64));
    execution_.layout = std::move(layout);
    execution_.evidence = "library";
  }

  /// The elements of an argument from `first` on.
  void read(std::size_t argument, std::int64_t first, std::span<double> values) const {
    decode(arguments_.at(argument).type, at(argument, first), values);
  }
  std::vector<double> read(std::size_t argument, std::int64_t first, std::int64_t count) const {
    std::vector<double> values(place(count));
    read(argument, first, values);
    return values;
  }
  /// The same by the argument's name; zeros if the problem lacks the argument.
  std::vector<double> read(std::string_view name, std::int64_t first, std::int64_t count) const {
    const std::size_t argument = index(name);
    return argument < arguments_.size() ? read(argument, first, count)
                                        : std::vector<double>(place(count));
  }
  void write(std::size_t argument, std::int64_t first, std::span<const double> values) const {
    encode(arguments_.at(argument).type, values, at(argument, first));
  }
  void write(std::string_view name, std::int64_t first, std::span<const double> values) const {
    write(index(name), first, values);
  }
  template <class Argument>
  void write(Argument argument, std::int64_t first, double value) const {
    write(argument, first, std::span(&value, 1));
  }

  /// The index of an argument; the number of arguments if none has this name.
  std::size_t index(std::string_view name) const {
    return place(std::ranges::find(arguments_, name, &TensorSpec::name) - arguments_.begin());
  }

  int threads_;

 private:
  std::byte* at(std::size_t argument, std::int64_t first) const {
    return static_cast<std::byte*>(data_.at(argument)) +
           place(first) * size_of(arguments_[argument].type);
  }
};

/// Why plain loops do not support these options; nothing if they do.
std::optional<std::string> why_not_direct(const Options& options);
/// The same for activations, whose layout can be chosen.
std::optional<std::string> why_not_nchw(const Options& options);

/// The maker (see Maker) of the operation Own for the problem P.
template <class P, class Own, auto why_not = why_not_direct>
Result<std::unique_ptr<Operation>> make_plain(Device&, const Problem& what, const Options& options,
                                              Communicator&) {
  const P& problem = problem_cast<P>(what);
  if (auto why = why_not(options)) return Unsupported{std::move(*why)};
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  return std::make_unique<Own>(problem, std::max(1, options.threads));
}

}  // namespace assay::reference
