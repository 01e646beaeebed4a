#pragma once
// The contract between a benchmark, which knows what is to be computed, and a backend, which knows
// how.

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/tensor.hpp"
#include "core/base/unsupported.hpp"

namespace assay {

/// What is to be computed: shape, direction and precision; nothing of how. Immutable.
class Problem {
 public:
  virtual ~Problem() = default;
  virtual std::string kind() const = 0;  ///< "conv": which benchmark, and which maker of a backend
  /// Version of the header that declares the problem's type; empty for types that no plugin casts.
  virtual std::string version() const { return ""; }
  virtual std::string canonical()
      const = 0;  ///< normalised shape descriptor; equal problems have equal text
  virtual nlohmann::json json()
      const = 0;                     ///< the shape as named integers, for the row's "problem"
  virtual double flops() const = 0;  ///< direct-equivalent floating-point operations of one run
  virtual double bytes() const = 0;  ///< compulsory traffic of one run: every operand moved once
  /// The work of one run, by the names of the rates that are reported: rate = amount / median time.
  /// A row of this problem has these rates and no others. By default flops_per_s and bytes_per_s,
  /// where flops() and bytes() are above 0.
  virtual std::map<std::string, double> amounts() const;
};

/// A problem that backends cast to its own type P, which declares
///   static constexpr const char* kind_name = "conv";
///   static constexpr const char* kind_version = problem_version::conv;
/// The second is generated (assay/problem_version/conv.hpp): a hash of kernels/conv/problem.hpp.
template <class P>
class ProblemOf : public Problem {
 public:
  std::string kind() const final { return P::kind_name; }
  std::string version() const final { return P::kind_version; }
};

/// A kind of problem, as the calling plugin or program was compiled with it.
struct ProblemKind {
  std::string name, version;
};
template <class P>
ProblemKind kind_of() {
  return {P::kind_name, P::kind_version};
}

/// The problem as the type that its kind promises. Checked by kind and version, not by RTTI: type
/// information is not shared between plugins opened with RTLD_LOCAL on every platform. Throws
/// std::logic_error where the problem is of another kind, or was declared by another header than
/// the caller was compiled with.
template <class P>
const P& problem_cast(const Problem& problem);

/// How it is to be computed. `settings` holds the case's value of every dimension by name; a
/// backend honours "algorithm", "layout" and "device" or refuses them (Unsupported), it never
/// ignores one.
struct Options {
  std::map<std::string, std::string> settings;
  int threads = 1;
  /// The setting's value, or `otherwise` when it was not given.
  std::string get(const std::string& name, const std::string& otherwise) const;
};

/// What really ran. Unknown is empty, and becomes null.
struct Executed {
  std::string algorithm;                     ///< the common name of the algorithm that ran
  std::string implementation;                ///< the library's own name of the kernel
  std::string storage, compute, accumulate;  ///< element types
  std::string layout;
  std::size_t workspace_bytes = 0;
  std::string evidence = "requested";  ///< "library" | "trace" | "numerical" | "requested"
  double algorithmic_flops = 0;        ///< operations that the algorithm really does; 0: as
                                       ///< Problem::flops() for direct sums, unknown for others
  // What error bounds depend on; unknown where empty.
  std::optional<int> tile;                ///< output points of a Winograd tile, in each dimension
  std::optional<int> operand_roundings;   ///< roundings of transformed operands to the storage type
  std::optional<int> wire_bits;           ///< significand bits that a collective's data keep
  std::map<std::string, double> numbers;  ///< anything else worth a field ("working_threads": 2)
};

/// A prepared computation. Owns no tensor. `run` is asynchronous on the device's stream and
/// allocates nothing.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Specs of all arguments, in the order that bind() takes them; workspaces and saved
  /// tensors last.
  virtual const std::vector<TensorSpec>& arguments() const = 0;
  /// Sets the tensors of the following runs; cheap, untimed, so that a cold rotation can bind
  /// before each run.
  virtual void bind(std::span<Tensor* const> tensors) = 0;
  /// Computes what run() reads beside its inputs (Role::saved: what the forward pass saves for its
  /// backward pass) from the bound tensors. Untimed: called after the inputs of the bound tensors
  /// were written, before the next run, and never within a timed region; with an argument of
  /// Role::consumed, before every run. Default: nothing.
  virtual void prologue(Stream&) {}
  virtual void run(Stream& stream) = 0;
  virtual Executed executed() const = 0;
};

template <class P>
const P& problem_cast(const Problem& problem) {
  if (problem.kind() != P::kind_name || problem.version() != P::kind_version)
    throw std::logic_error(std::string("not a problem of the kind ") + P::kind_name + ", version " +
                           P::kind_version);
  return static_cast<const P&>(problem);
}

}  // namespace assay
