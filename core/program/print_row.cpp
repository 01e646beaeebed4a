#include "core/program/print_row.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/program/colour.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string rate_text(const json& row) {
  const json& rates = row.at("rates");
  const auto rate = [&](const char* name) {
    const json value = rates.value(name, json());
    return value.is_number() ? value.get<double>() : 0;
  };
  if (rates.contains("busbw"))
    return fmt::format("algbw {:.3f} GB/s  busbw {:.3f} GB/s", rate("algbw") * 1e-9,
                       rate("busbw") * 1e-9);
  const double flops = rate("flops_per_s"), bytes = rate("bytes_per_s");
  // What moves more bytes than it does operations is about memory.
  if (2 * flops < bytes) return fmt::format("{:>9.1f} GB/s", bytes * 1e-9);
  if (flops > 0) return fmt::format("{:>9.1f} GFLOP/s", flops * 1e-9);
  if (const double loads = rate("loads_per_s"); loads > 0)
    return fmt::format("{:>9.1f} ns/load", 1e9 / loads);
  return "";
}

std::string interval_text(const json& time) {
  const json& ci = time.at("ci95");
  const int n = time.at("n");
  if (!ci.is_array()) return fmt::format("n={}, no interval", n);
  return fmt::format("[{:.6g}, {:.6g}]  n={}", ci[0].get<double>() * 1e3, ci[1].get<double>() * 1e3,
                     n);
}

}  // namespace

void print_row(const json& row) {
  const std::string status = row.at("status");
  std::string line = row.at("id").get<std::string>() + "\n    ";
  if (status == "ok") {
    const json& time = row.at("time_s");
    line += fmt::format("{:.6g} ms{}  {}  {}", time.at("median").get<double>() * 1e3,
                        was_shared(row)           ? "!"
                        : was_oversubscribed(row) ? "~"
                                                  : "",
                        interval_text(time), rate_text(row));
    line += "  " + row.at("executed").value("implementation", json()).dump();
    if (time.contains("rank_medians_s"))
      line += fmt::format("\n    slowest rank {} on {}; ranks begin within {:.3g} us",
                          time.at("slowest_rank").get<int>(),
                          time.at("slowest_host").get<std::string>(),
                          time.at("barrier_skew_s").get<double>() * 1e6);
    if (was_shared(row))
      line += "\n    ! other work wanted the processors: repeat when it is quiet";
    else if (was_oversubscribed(row))
      line += "\n    ~ oversubscribed: more threads or ranks of this job than processors";
    const json& baseline = row.at("baseline");
    const bool in_seconds = baseline.is_object() && baseline.at("unit") == "s";
    if (baseline.is_object())
      line += fmt::format("\n    {}: {:.6g} {}{}, speedup {:.3g}",
                          baseline.at("system").get<std::string>(),
                          baseline.at("value").get<double>() * (in_seconds ? 1e3 : 1),
                          in_seconds ? "ms" : baseline.at("unit").get<std::string>(),
                          baseline.at("published") == true ? " (published)" : "",
                          baseline.at("speedup").get<double>());
  } else {
    line +=
        coloured(status, colour_wanted(STDOUT_FILENO)) + ": " + row.at("reason").get<std::string>();
  }
  std::cout << line << std::endl;
}

}  // namespace assay
