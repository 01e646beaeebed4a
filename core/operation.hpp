#pragma once
// The contract between a benchmark, which knows what is to be computed, and a backend, which knows
// how.

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/device.hpp"
#include "core/tensor.hpp"

namespace assay {

/// What is to be computed: shape, direction and precision; nothing of how. Immutable.
class Problem {
 public:
  virtual ~Problem() = default;
  virtual std::string kind() const = 0;  ///< "conv": which benchmark, and which maker of a backend
  virtual std::string canonical()
      const = 0;  ///< normalised shape descriptor; equal problems have equal text
  virtual nlohmann::json json()
      const = 0;                     ///< the shape as named integers, for the row's "problem"
  virtual double flops() const = 0;  ///< direct-equivalent floating-point operations of one run
  virtual double bytes() const = 0;  ///< compulsory traffic of one run: every operand moved once
  /// Further amounts of one run, by the name of their rate ("loads_per_s").
  virtual std::map<std::string, double> amounts() const { return {}; }
};

/// The problem as the type that its kind promises. Checked by kind, not by RTTI: type information
/// is not shared between plugins opened with RTLD_LOCAL on every platform.
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

/// A clean "no", with the reason that the row will show.
struct Unsupported {
  std::string reason;
};

/// Either the thing or the reason why not.
template <class T>
using Made = std::variant<T, Unsupported>;

/// What really ran. Unknown is empty, and becomes null.
struct Executed {
  std::string algorithm;                     ///< the field's name of the algorithm that ran
  std::string implementation;                ///< the library's own name of the kernel
  std::string storage, compute, accumulate;  ///< element types
  std::string layout;
  std::size_t workspace_bytes = 0;
  std::string evidence = "requested";     ///< "library" | "trace" | "numerical" | "requested"
  double algorithmic_flops = 0;           ///< operations that the algorithm really does; 0: as
                                          ///< Problem::flops() for direct sums, unknown for others
  std::map<std::string, double> numbers;  ///< anything else worth a field ("tile": 4)
};

/// A prepared computation. Owns no tensor. `run` is asynchronous on the device's stream and
/// allocates nothing.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Specs of all arguments, in the order that bind() takes them; workspaces last.
  virtual const std::vector<TensorSpec>& arguments() const = 0;
  /// Sets the tensors of the following runs; cheap, untimed, so that a cold rotation can bind
  /// before each run.
  virtual void bind(std::span<Tensor* const> tensors) = 0;
  virtual void run(Stream& stream) = 0;
  virtual Executed executed() const = 0;
};

template <class P>
const P& problem_cast(const Problem& problem) {
  if (problem.kind() != P::kind_name) throw std::bad_variant_access();
  return static_cast<const P&>(problem);
}

}  // namespace assay
