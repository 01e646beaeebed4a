#pragma once
// A backend is a plugin: one shared library in lib/assay, one C entry point, one Backend.
//
//   kernels/<backend>/backend.cpp   the entry point (ASSAY_BACKEND) and the folder's maker table
//   kernels/<backend>/conv.cpp      adds a maker:
//     const Maker add{makers(), kind_of<ConvProblem>(), &make_conv, {"direct"}};
//
// The maker table is a function of the folder's own namespace, compiled with hidden visibility: an
// `inline` variable in this header would be one object for the whole process (STB_GNU_UNIQUE),
// whatever RTLD_LOCAL says.

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
  /// Library names and versions for the environment: {"onednn": "3.2.0", "runtime": "OpenMP", …}.
  virtual nlohmann::json software() const = 0;
  /// The device that `options` select ("device" setting), or why there is none. Lives as long as
  /// the backend.
  virtual Result<Device*> device(const Options& options) = 0;
  /// Prepares an operation; its arguments are then allocated on device(options).
  virtual Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                                  Communicator& ranks) = 0;
  /// The names of algorithms for a kind of problem, beyond "auto".
  virtual std::vector<std::string> algorithms(const std::string& kind) const = 0;
  /// A transport joins the ranks that a launcher started. Only backends under comm/ have one.
  /// `known`: the same ranks over a transport that they have already (the serial one for the
  /// first), through which libraries without a launcher of their own exchange their addresses; it
  /// outlives what is made.
  virtual Result<std::unique_ptr<Communicator>> connect(const Options& options,
                                                        Communicator& known);
};

using MakeOperation = Result<std::unique_ptr<Operation>> (*)(Device&, const Problem&,
                                                             const Options&, Communicator&);

/// One kind of problem that a backend can make.
struct MakerEntry {
  std::string problem_version;  ///< Problem::version() of the problems that `make` may cast
  MakeOperation make;
  std::vector<std::string> algorithms;
};
using Makers = std::map<std::string, MakerEntry>;

/// Adds an entry to a backend's table while the plugin is loaded.
struct Maker {
  Maker(Makers& makers, const ProblemKind& kind, MakeOperation make,
        std::vector<std::string> algorithms);
};

/// A backend of single operations. Its table of makers says what it can make; a derived class adds
/// its name, software and devices.
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
