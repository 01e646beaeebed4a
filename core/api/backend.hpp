#pragma once
// A backend is a plugin: a shared library in lib/assay with one C entry point that creates a
// Backend. The sources of a backend are:
//
//   kernels/<backend>/backend.cpp   the entry point (ASSAY_BACKEND) and the table of makers
//   kernels/<backend>/conv.cpp      one file for each kind of problem, which adds its maker:
//     const Maker add{makers(), problem_kind<ConvProblem>(), &make_conv, {"direct"}};
//
// The function makers() returns the table; it is in the backend's own namespace, with hidden
// visibility. An `inline` variable in this header would be one object for the whole process
// (STB_GNU_UNIQUE), shared by all plugins in spite of RTLD_LOCAL.

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/operation.hpp"

namespace assay {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Libraries and their versions, for the environment of a result: {"onednn": "3.2.0", "runtime":
  /// "OpenMP", …}.
  virtual nlohmann::json software() const = 0;
  /// The device that the setting "device" selects, or the reason why there is none. It lives as
  /// long as the backend.
  virtual Result<Device*> device(const Options& options) = 0;
  /// Prepares an operation for `problem`, or gives the reason why the backend cannot compute it.
  /// The caller allocates the operation's arguments on device(options). By default it refuses every
  /// problem, as a transport does.
  virtual Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                                  Communicator& ranks);
  /// Names of the algorithms for a kind of problem, without "auto"; by default none.
  virtual std::vector<std::string> algorithms(const std::string&) const { return {}; }
  /// Connects the ranks that a launcher started. Only transports (backends under comm/) can; the
  /// default is Unsupported. `known`: the same ranks over a transport that is already connected;
  /// for the first transport, the serial communicator. Libraries without a launcher of their own
  /// exchange their addresses over `known`. `known` must outlive the result.
  virtual Result<std::unique_ptr<Communicator>> connect(const Options& options,
                                                        Communicator& known);
};

using MakeOperation = Result<std::unique_ptr<Operation>> (*)(Device&, const Problem&,
                                                             const Options&, Communicator&);

/// One kind of problem that a backend can make.
struct MakerEntry {
  std::string problem_version;  ///< Problem::version() with which `make` was compiled
  MakeOperation make;
  std::vector<std::string> algorithms;
};
using Makers = std::map<std::string, MakerEntry>;

/// Adds an entry to a backend's table when the plugin is loaded.
struct Maker {
  Maker(Makers& makers, const ProblemKind& kind, MakeOperation make,
        std::vector<std::string> algorithms);
};

/// A backend that makes the operations in its table of makers. A derived class adds its name,
/// software and devices.
class MakerBackend : public Backend {
 public:
  explicit MakerBackend(const Makers& makers) : makers_(makers) {}
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator& ranks) final;
  std::vector<std::string> algorithms(const std::string& kind) const final;

 private:
  const Makers& makers_;
};

}  // namespace assay
