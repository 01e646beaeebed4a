#include "core/machine/energy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// More than any domain of a processor uses. If a counter shows more, it was reset between two
/// readings.
constexpr double most_watts = 1000;
/// More than any GPU uses (some use over 1000 W). Their counters do not wrap around.
constexpr double most_watts_without_range = 5000;

// Limits of the time and of the updates for which counters are watched.
constexpr double least_s = 0.02, most_s = 0.5;
constexpr std::size_t least_changes = 4;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The file's first line. CaseError with the system's reason. Opens the file each time, to notice a
/// counter that has disappeared.
std::string read_line(const fs::path& file) {
  char text[64];
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = descriptor < 0 ? -1 : ::read(descriptor, text, sizeof text);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (size < 0)
    throw CaseError(fmt::format(
        "{} cannot be read ({}){}", file.string(), std::strerror(error),
        error == EACCES ? ". Since Linux 5.10 only root reads it (CVE-2020-8694); an administrator "
                          "can allow it to others"
                        : ""));
  const std::string line(text, static_cast<std::size_t>(size));
  return line.substr(0, line.find('\n'));
}

/// A number of microjoules, in joules.
double joules_in(const fs::path& file) {
  const std::string text = read_line(file);
  const auto microjoules = parse_number<std::uint64_t>(text);
  if (!microjoules)
    throw CaseError(
        fmt::format("{} holds '{}' (expected a number of microjoules)", file.string(), text));
  return static_cast<double>(*microjoules) * 1e-6;
}

class PackageMeter final : public EnergyMeter {
 public:
  PackageMeter(std::vector<EnergyDomain> domains, std::vector<fs::path> counters)
      : EnergyMeter(std::move(domains)), counters_(std::move(counters)) {}
  std::vector<double> read() const override {
    std::vector<double> joules;
    joules.reserve(counters_.size());
    for (const fs::path& counter : counters_) joules.push_back(joules_in(counter));
    return joules;
  }

 private:
  std::vector<fs::path> counters_;
};

/// The numbers of "intel-rapl:0" and "intel-rapl:0:1" ({0} and {0, 1}). Nothing for other names:
/// intel-rapl-mmio:0 counts the same energy as intel-rapl:0.
std::optional<std::vector<int>> read_numbers(const std::string& name) {
  constexpr std::string_view prefix = "intel-rapl:";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::vector<int> numbers;
  for (const std::string& text : split(name.substr(prefix.size()), ':')) {
    const auto number = parse_number<int>(text);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

double EnergyMeter::update_s() {
  if (update_s_ > 0) return update_s_;
  const auto start = Clock::now();
  std::vector<double> seen = read();
  std::vector<std::vector<double>> changes(seen.size());  // when, by domain
  const auto enough = [&] {
    return std::all_of(changes.begin(), changes.end(),
                       [](const auto& times) { return times.size() >= least_changes; });
  };
  double now = 0;
  while (now < most_s && !(now > least_s && enough())) {
    const std::vector<double> joules = read();
    now = since(start);
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (joules[i] != seen[i]) changes[i].push_back(now);
    seen = joules;
  }
  double slowest = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].empty())
      throw CaseError(fmt::format("the energy counter of {} does not move", domains()[i].name));
    // After a single change, it is only known that a second one takes longer than the remaining
    // time.
    std::vector<double> gaps;
    for (std::size_t k = 1; k < changes[i].size(); ++k)
      gaps.push_back(changes[i][k] - changes[i][k - 1]);
    slowest = std::max(slowest, gaps.empty() ? most_s : median(gaps));
  }
  return update_s_ = slowest;
}

double joules_between(const EnergyDomain& domain, double before, double after, double seconds) {
  if (domain.range_j > 0 && seconds * most_watts > domain.range_j)
    throw CaseError(fmt::format(
        "the energy counter of {} may have begun at 0 more than once in {:.3g} s (it counts to "
        "{:.6g} J)",
        domain.name, seconds, domain.range_j));
  double joules = after - before;
  if (joules < 0) joules += domain.range_j;
  if (joules < 0) throw CaseError(fmt::format("the energy counter of {} went back", domain.name));
  // One update may be late and contain energy from before the first reading.
  constexpr double late_s = 1;
  const double most = domain.range_j > 0 ? most_watts : most_watts_without_range;
  if (joules > most * (seconds + late_s))
    throw CaseError(fmt::format(
        "the energy counter of {} shows {:.4g} J in {:.3g} s, which cannot be (it was set back)",
        domain.name, joules, seconds));
  return joules;
}

Result<std::unique_ptr<EnergyMeter>> open_package_energy(const fs::path& powercap) {
  std::map<std::vector<int>, fs::path> zones;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(powercap, missing))
    if (const auto numbers = read_numbers(entry.path().filename().string()))
      zones.emplace(*numbers, entry.path());
  std::vector<EnergyDomain> domains;
  std::vector<fs::path> counters;
  std::map<int, std::string> packages;
  try {
    for (const auto& [numbers, zone] : zones) {  // a package comes before its parts
      std::string name = read_line(zone / "name");
      if (numbers.size() == 1 && name.starts_with("package-")) {
        packages[numbers[0]] = name;
      } else if (numbers.size() == 2 && name == "dram" && packages.contains(numbers[0])) {
        name = packages[numbers[0]] + "/dram";
      } else {
        continue;
      }
      joules_in(zone / "energy_uj");  // throws if it may not be read
      domains.push_back({name, joules_in(zone / "max_energy_range_uj")});
      counters.push_back(zone / "energy_uj");
    }
  } catch (const CaseError& error) {
    return Unsupported{error.what()};
  }
  if (domains.empty())
    return Unsupported{fmt::format(
        "no energy counter of a processor package in {} (a virtual machine, a processor without "
        "RAPL, or the kernel's module intel_rapl_msr is not loaded)",
        powercap.string())};
  return std::unique_ptr<EnergyMeter>(
      std::make_unique<PackageMeter>(std::move(domains), std::move(counters)));
}

}  // namespace assay
