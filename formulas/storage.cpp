// Storage: what one run of assay-io moves.
#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

void check_io(const Claims& claims) {
  const Fields numbers = parse_fields(claims.text("/problem/descriptor"));
  const std::string operation = claims.parameter("operation");
  const auto ranks = claims.number("/parameters/ranks");
  if (numbers.empty() || !ranks) return;
  const double count = value(numbers, "n", 0) * *ranks;
  if (operation == "metadata") {
    claims.expect("/problem/amounts/files_per_s", count, "files of all ranks");
    return;
  }
  const bool random = operation == "random";
  const double bytes =
      random ? count * value(numbers, "kib", 0) * 1024 : value(numbers, "mb", 0) * 1e6;
  claims.expect("/problem/bytes", bytes, "bytes of all ranks");
  claims.expect("/problem/amounts/bytes_per_s", bytes, "bytes of all ranks");
  if (random) claims.expect("/problem/amounts/reads_per_s", count, "reads of all ranks");
  for (const char* ratio : {"storage_ratio", "device_ratio"}) {
    const std::string place = std::string("/metrics/") + ratio + "/value";
    const auto claim = claims.number(place);
    if (ratio == std::string("storage_ratio") && claims.text("/status") == "ok")
      claims.require(claim.has_value(), "/status", "no result without storage_ratio",
                     "the row is one of storage");
    if (claim) claims.require(*claim >= 0.99, place, "at least 0.99", "the row is one of storage");
  }
}

const BenchmarkFormula of_io("io", check_io);

}  // namespace
}  // namespace assay::formula
