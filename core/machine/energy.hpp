#pragma once
// Counters of energy: those of the processor packages (RAPL, as Linux's powercap shows them), and
// the interface of those of other devices.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unsupported.hpp"

namespace assay {

/// One counter. The domains of a meter do not overlap: their sum is the energy of all.
struct EnergyDomain {
  std::string name;    ///< unique on its host: "package-0", "package-0/dram", "gpu 0"
  double range_j = 0;  ///< joules at which it begins at 0 again; 0: it never does
};

/// Counters of energy that only grow, each in steps (an update).
class EnergyMeter {
 public:
  explicit EnergyMeter(std::vector<EnergyDomain> domains) : domains_(std::move(domains)) {}
  virtual ~EnergyMeter() = default;
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;
  const std::vector<EnergyDomain>& domains() const { return domains_; }
  /// Joules that each domain has counted. Costs some 10 us a domain: never inside a timed region.
  /// CaseError where a counter cannot be read (any more).
  virtual std::vector<double> read() const = 0;
  /// Seconds between two updates, those of the slowest domain: measured by the first call, which
  /// takes 20 ms, or with slow counters some updates. CaseError where a counter does not move for
  /// half a second.
  double update_s();

 private:
  std::vector<EnergyDomain> domains_;
  double update_s_ = 0;
};

/// Joules between two readings of one domain that are `seconds` apart. CaseError where it cannot be
/// known: the counter went back without a range, or counted more than 1000 W (it was set back), or
/// may have begun at 0 more than once.
double joules_between(const EnergyDomain& domain, double before, double after, double seconds);

/// The processor packages of this host, and their memory where it has a counter of its own, by
/// `powercap`/intel-rapl:N (Linux, Documentation/power/powercap; AMD's counters are there under the
/// same name). Of the domains within a package only dram is counted, since a package's counter
/// holds the others; "psys" is not, since it holds the packages. Or why there are none.
Result<std::unique_ptr<EnergyMeter>> package_energy(
    const std::filesystem::path& powercap = "/sys/class/powercap");

}  // namespace assay
