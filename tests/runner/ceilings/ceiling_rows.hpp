#pragma once
// Rows and the brackets around them, for tests of ceilings.

#include "runner/ceilings/ceiling.hpp"
#include "tests/support/rows.hpp"

namespace assay::test::ceilings {

using nlohmann::json;

inline constexpr double cache = 32e6;

inline json environment() {
  return {{"host", "h"},
          {"hardware",
           {{"caches",
             {{{"level", 3}, {"type", "unified"}, {"bytes", cache}, {"count", 1}},
              {{"level", 1}, {"type", "data"}, {"bytes", 1000}, {"count", 2}}}}}},
          {"software", json::object()},
          {"volatile", json::object()},
          {"hashes", {{"hardware", "a"}, {"software", "b"}}}};
}

/// A row of assay-stream: `rate` in its best sample, much less in the others.
inline json stream(const std::string& descriptor, const std::string& precision, double rate,
                   const std::string& status = "ok", int threads = 2) {
  const double work = 1e9;
  json row = {{"id", "stream/" + precision + "/" + descriptor},
              {"benchmark", "stream"},
              {"problem", {{"descriptor", descriptor}, {"flops", work}, {"bytes", work}}},
              {"parameters", {{"precision", precision}, {"threads", threads}}},
              {"executed", nullptr},
              {"status", status},
              {"reason", nullptr},
              {"verification", nullptr},
              {"rates", json::object()},
              {"time_s", {{"min", work / rate}, {"median", 2 * work / rate}}}};
  if (status != "ok") {
    row["time_s"] = nullptr;
    row["reason"] = "why it is " + status;
  }
  return row;
}

inline json bracket(std::vector<json> rows) {
  return {
      {"started", "2026-01-01T00:00:00.000Z"}, {"seconds", 1}, {"reason", nullptr}, {"rows", rows}};
}

/// assay-stream's sum of a working set of so many bytes, many times over in a run.
inline json read(double bytes, double rate, const std::string& status = "ok") {
  json row = stream("read_n1", "fp64", rate, status);
  row["problem"]["passes"] = 1e9 / bytes;
  return row;
}

/// fp32 at 1e12 FLOP/s, memory at 1e10 B/s, caches (1000 bytes for each of two threads, and 32 MB)
/// at 4e11 and 1e11 B/s.
inline json plain() {
  return bracket({stream("fma_n2", "fp32", 1e12), stream("triad_n9", "fp64", 1e10),
                  read(1000, 4e11), read(8000, 1e11)});
}

inline json row_of(double seconds, double flops, double bytes, Settings more = {}) {
  json row = test::row("ok", seconds, 0, std::move(more), 0, flops);
  row["problem"]["bytes"] = bytes;
  return row;
}

inline json with_ceiling(json row, const std::vector<json>& brackets,
                         const std::vector<std::size_t>& around) {
  Row judged = row;
  add_ceiling(judged, {brackets.begin(), brackets.end()}, around, environment(),
              "nothing was measured");
  return judged;
}

}  // namespace assay::test::ceilings
