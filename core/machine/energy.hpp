#pragma once
// Energy counters: the interface for all devices, and the counters of the processor packages (RAPL,
// by Linux's powercap interface).

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unsupported.hpp"

namespace assay {

/// One energy counter. The domains of a meter do not overlap, so that they can be added.
struct EnergyDomain {
  std::string name;    ///< unique on its host: "package-0", "package-0/dram", "gpu 0"
  double range_j = 0;  ///< joules after which the counter wraps around to 0; 0: it does not
};

/// Energy counters of one device or host. Counters only grow, at each update.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::vector<EnergyDomain> domains) : domains_(std::move(domains)) {}
  virtual ~EnergyMeter() = default;
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;
  const std::vector<EnergyDomain>& domains() const { return domains_; }
  /// Reads the counters: joules by domain. It takes about 10 µs for each domain: never call it in a
  /// timed region. CaseError if a counter cannot be read.
  virtual std::vector<double> read() const = 0;
  /// Seconds between two updates of the slowest counter. The first call measures it, for at least
  /// 20 ms and a few updates. CaseError if a counter does not change for half a second.
  double update_s();

 private:
  std::vector<EnergyDomain> domains_;
  double update_s_ = 0;
};

/// Joules between two readings of a domain that are `seconds` apart. CaseError if they are unknown:
/// the counter decreased although it does not wrap around, it counted more than 1000 W, or
/// 5000 W if it does not wrap around (it was reset), or it may have wrapped around more than once.
double joules_between(const EnergyDomain& domain, double before, double after, double seconds);

/// The counters of this host's processor packages, and of their memory if it has counters of its
/// own; or the reason why there are none. They are the folders intel-rapl:N of `powercap` (Linux,
/// Documentation/power/powercap; AMD's counters have the same names). Only dram is read of the
/// domains inside a package, because the package's counter includes the others. "psys" is not read,
/// because it includes the packages.
Result<std::unique_ptr<EnergyMeter>> open_package_energy(
    const std::filesystem::path& powercap = "/sys/class/powercap");

}  // namespace assay
