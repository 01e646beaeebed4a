#pragma once
// Runs one case, from its preparation to an outcome that all ranks agree on.

#include <functional>
#include <memory>
#include <stdexcept>

#include "core/api/communicator.hpp"
#include "core/base/unsupported.hpp"
#include "core/measure/outcome.hpp"

namespace assay {

/// Makes the workload of a case, or gives the reason why it cannot.
using Prepare = std::function<Result<std::unique_ptr<Workload>>()>;

/// Thrown on all ranks while a workload is made: as if Prepare had returned this reason.
class UnsupportedCase : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Prepares, verifies, times and verifies again. Collective. After each step the ranks agree on the
/// most severe status of any rank (ok < unsupported < target missed < incorrect < failed), so that
/// no rank enters a collective call that another rank will never make. Other exceptions become
/// `failed` outcomes, except InputError, which ends the program. `amounts`: Problem::amounts() of
/// the case; rates are made of them, and the work that the runs have counted must agree with them.
/// Empty: Workload::work() is believed.
Outcome run_case(const Prepare& prepare, Communicator& ranks, const TimingOptions& timing,
                 const std::map<std::string, double>& amounts = {});

}  // namespace assay
