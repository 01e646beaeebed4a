#pragma once
// A tree of files like /sys/class/powercap, whose counters a test sets.

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/core/result_fixture.hpp"

namespace assay::testing_fakes {

class FakePowercap {
 public:
  static constexpr std::uint64_t range = 262143328850;  ///< microjoules, as many processors have it

  const std::filesystem::path& root() const { return folder_.path(); }
  std::filesystem::path counter(const std::string& zone) const {
    return root() / zone / "energy_uj";
  }
  /// A zone like "intel-rapl:0" with the text of its file "name".
  void add(const std::string& zone, const std::string& name, std::uint64_t microjoules = 0,
           std::uint64_t its_range = range) {
    std::filesystem::create_directory(root() / zone);
    folder_.put(zone + "/name", name + "\n");
    folder_.put(zone + "/max_energy_range_uj", std::to_string(its_range) + "\n");
    set(zone, microjoules);
  }
  /// The file changes at once, as the kernel's files change: a reader never sees a part of the
  /// number.
  void set(const std::string& zone, std::uint64_t microjoules) {
    const auto next = folder_.put(zone + "/next", std::to_string(microjoules) + "\n");
    std::filesystem::rename(next, counter(zone));
  }

 private:
  fixture::Folder folder_;
};

}  // namespace assay::testing_fakes
