#pragma once
// The interface between a benchmark, which says what to compute, and a backend, which computes it.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/tensor.hpp"
#include "core/base/unsupported.hpp"

namespace assay {

/// The computation: shape, direction and precision, but not how it is done. Immutable.
class Problem {
 public:
  virtual ~Problem() = default;
  /// "conv": names the benchmark and selects the maker of a backend.
  virtual std::string kind() const = 0;
  /// Version of the header that declares the problem's type; empty for types that no plugin casts.
  virtual std::string version() const { return ""; }
  /// The normalised descriptor of the shape. Equal problems have equal descriptors.
  virtual std::string canonical() const = 0;
  /// The shape as named integers, for the row's "problem".
  virtual nlohmann::json json() const = 0;
  /// Floating-point operations of one run if it is computed by the definition (a direct sum of
  /// products), whatever the algorithm does.
  virtual double flops() const = 0;
  /// Bytes that one run must move at least: each operand once.
  virtual double bytes() const = 0;
  /// The work of one run by the names of its rates; a rate is amount / median time. A row of this
  /// problem has these rates and no others. By default flops_per_s and bytes_per_s, each if flops()
  /// or bytes() is above 0.
  virtual std::map<std::string, double> amounts() const;
};

/// Base of a problem type P that backends cast a Problem to. P declares
///   static constexpr const char* kind_name = "conv";
///   static constexpr const char* kind_version = problem_version::conv;
/// problem_version::conv is a generated hash of kernels/conv/problem.hpp
/// (assay/problem_version/conv.hpp).
template <class P>
class ProblemOf : public Problem {
 public:
  std::string kind() const final { return P::kind_name; }
  std::string version() const final { return P::kind_version; }

 protected:
  /// bytes() of a problem whose tensors() are read or written once.
  double bytes_of_tensors() const {
    double bytes = 0;
    for (const TensorSpec& tensor : static_cast<const P*>(this)->tensors())
      bytes += static_cast<double>(tensor.bytes);
    return bytes;
  }
};

/// Base of a problem type P of a shape and a precision. P has tensors().
template <class P, class Shape>
class ShapedProblem : public ProblemOf<P> {
 public:
  /// 0: memory traffic bounds the operation, and its arithmetic has no common count.
  double flops() const override { return 0; }
  /// Each input read once, each output written once.
  double bytes() const override { return this->bytes_of_tensors(); }
  const Shape& shape() const { return shape_; }
  Precision precision() const { return precision_; }

 protected:
  ShapedProblem(Shape shape, Precision precision)
      : shape_(std::move(shape)), precision_(precision) {}

  Shape shape_;
  Precision precision_;
};

/// Name and version of a kind of problem, with which the calling plugin or program was compiled.
struct ProblemKind {
  std::string name, version;
};
template <class P>
ProblemKind problem_kind() {
  return {P::kind_name, P::kind_version};
}

/// Casts a problem to its type. Kind and version are checked instead of RTTI, because on some
/// platforms plugins opened with RTLD_LOCAL do not share type information. Throws std::logic_error
/// if the problem has another kind, or was compiled with another version of its header than the
/// caller.
template <class P>
const P& problem_cast(const Problem& problem);

/// The way in which a problem is computed. A backend obeys the settings "algorithm", "layout" and
/// "device", or returns Unsupported; it never ignores one of them.
struct Options {
  std::map<std::string, std::string> settings;  ///< the case's value of every dimension, by name
  int threads = 1;
  /// The value of a setting, or `otherwise` if it was not given.
  std::string get(const std::string& name, const std::string& otherwise) const;
};

/// The number of Execution that says that nothing is documented of the algorithm's arithmetic.
inline constexpr const char* undocumented_arithmetic = "undocumented_arithmetic";

/// The executed computation, as far as the backend knows it. An unknown text is empty; its field in
/// the row is then null.
struct Execution {
  std::string algorithm;       ///< the common name of the algorithm that ran
  std::string implementation;  ///< the library's own name of the kernel
  std::string storage, compute,
      accumulate;  ///< element types: of the tensors, of products, of sums
  std::string layout;
  std::size_t workspace_bytes = 0;
  /// The source of this knowledge: "library" (the library says so), "trace" (names of the kernels
  /// that ran), "numerical" (the results show it), "requested" (only that it was requested).
  std::string evidence = "requested";
  /// Operations that the algorithm does; 0: Problem::flops() for direct sums, else unknown.
  double algorithmic_flops = 0;
  // Facts on which error bounds depend; empty if unknown.
  std::optional<int> tile;                ///< output points of a Winograd tile in each dimension
  std::optional<int> operand_roundings;   ///< roundings of transformed operands to the storage type
  std::optional<int> wire_bits;           ///< significand bits of a collective's data on the wire
  std::map<std::string, double> numbers;  ///< further numbers of the row ("working_threads": 2)
};

/// A prepared computation. It owns no tensors. run() is asynchronous on the device's stream and
/// allocates no memory.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Specs of all arguments, in the order in which bind() takes the tensors. Workspaces and saved
  /// tensors come last.
  virtual const std::vector<TensorSpec>& arguments() const = 0;
  /// Sets the tensors of the following runs. Untimed, and cheap enough to be called before each run
  /// of a cold measurement.
  virtual void bind(std::span<Tensor* const> tensors) = 0;
  /// Computes from the bound tensors what run() reads in addition to its inputs: for a backward
  /// pass, what its forward pass saves (Role::saved). Untimed. Called after the inputs were
  /// written, before the next run; with an argument of Role::consumed before every run. By default
  /// does nothing.
  virtual void prologue(Stream&) {}
  virtual void run(Stream& stream) = 0;
  virtual Execution execution() const = 0;
};

/// An operation that keeps its arguments, what it executes, and the memory that is bound.
class BoundOperation : public Operation {
 public:
  const std::vector<TensorSpec>& arguments() const final { return arguments_; }
  void bind(std::span<Tensor* const> tensors) override {
    data_.clear();
    for (Tensor* const tensor : tensors) data_.push_back(tensor->data());
    for (const auto& [name, memory] : named_) *memory = find<void>(name);
  }
  Execution execution() const override { return execution_; }

 protected:
  /// A member of an operation: the bound memory of the argument that has this name, as of find().
  template <class T>
  class Argument {
   public:
    Argument(BoundOperation* operation, std::string name) {
      operation->named_.emplace_back(std::move(name), &memory_);
    }
    Argument(const Argument&) = delete;
    operator T*() const { return static_cast<T*>(memory_); }

   private:
    void* memory_ = nullptr;
  };

  explicit BoundOperation(std::vector<TensorSpec> arguments) : arguments_(std::move(arguments)) {}

  /// The memory of an argument.
  template <class T>
  T* data(std::size_t argument) const {
    return static_cast<T*>(data_[argument]);
  }
  /// Finds it by the name of the argument; null if there is no such argument.
  template <class T>
  T* find(std::string_view name) const {
    for (std::size_t i = 0; i < data_.size(); ++i)
      if (arguments_[i].name == name) return data<T>(i);
    return nullptr;
  }

  std::vector<TensorSpec> arguments_;
  Execution execution_;
  std::vector<void*> data_;  ///< of the arguments, in their order

 private:
  std::vector<std::pair<std::string, void**>> named_;
};

template <class P>
const P& problem_cast(const Problem& problem) {
  if (problem.kind() != P::kind_name || problem.version() != P::kind_version)
    throw std::logic_error(std::string("not a problem of the kind ") + P::kind_name + ", version " +
                           P::kind_version);
  return static_cast<const P&>(problem);
}

}  // namespace assay
