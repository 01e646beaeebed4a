#include "analysis/run/ceiling_bracket.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run/child.hpp"
#include "analysis/run/programs.hpp"
#include "core/error.hpp"
#include "core/result.hpp"
#include "core/schema.hpp"

namespace assay {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

/// Short: a bracket is to cost a small part of a short suite, and its best sample counts.
constexpr double max_time = 0.2;
constexpr double longest_s = 600;

json suite_of(const CeilingNeeds& needs) {
  // 16-bit data may be computed in fp32 (ceiling.cpp).
  std::set<std::string> precisions = needs.precisions;
  if (precisions.contains("bf16") || precisions.contains("fp16")) precisions.insert("fp32");
  return {{"schema", "assay-suite/1"},
          {"name", "ceilings"},
          {"timing", {{"max_time", max_time}}},
          {"cases",
           {{{"benchmark", "stream"},
             {"problem", "fma_n32768"},  // short: where others compute, too, some runs are whole
             {"precision", precisions},
             {"threads", needs.threads}},
            {{"benchmark", "stream"},
             {"problem", "triad"},
             {"precision", "fp64"},
             {"algorithm", {"regular", "nontemporal"}},
             {"threads", needs.threads}}}}};
}

}  // namespace

void CeilingNeeds::add(const std::vector<PlannedBenchmark>& benchmarks) {
  for (const PlannedBenchmark& benchmark : benchmarks) {
    if (benchmark.name == "stream") continue;
    for (const Case& one : benchmark.cases) {
      const auto precision = one.settings.find("precision"), count = one.settings.find("threads");
      if (precision == one.settings.end() || count == one.settings.end()) continue;
      const auto device = one.settings.find("device");
      if (device != one.settings.end() && device->second != "cpu") continue;
      precisions.insert(precision->second);
      threads.insert(std::stoi(count->second));
    }
  }
}

CeilingMeter::CeilingMeter(CeilingNeeds needs, CampaignOptions options,
                           std::filesystem::path programs)
    : needs_(std::move(needs)), options_(std::move(options)), programs_(std::move(programs)) {}

json CeilingMeter::rows() {
  const std::vector<std::string> names = benchmark_names(programs_);
  if (std::find(names.begin(), names.end(), "stream") == names.end())
    throw CaseError(fmt::format("there is no assay-stream in {}.", programs_.string()));
  const auto suite = options_.folder / "ceilings.json", out = options_.folder / "log/ceilings.json";
  write_json(suite, suite_of(needs_));
  std::filesystem::remove(out);  // a number of an earlier bracket must not pass for this one's
  std::vector<std::string> command = options_.launcher;
  for (const std::string& word :
       {(programs_ / "assay-stream").string(), std::string("--suite"), suite.string(),
        std::string("--seed"), std::to_string(options_.seed), std::string("--out"), out.string()})
    command.push_back(word);
  const double limit = std::max(longest_s, options_.timeout.count());
  Ended ended;
  std::string said;
  output_of(command, options_.folder / "log" / "ceilings",
            std::chrono::milliseconds(static_cast<std::int64_t>(1000 * limit)), ended, said);
  if (ended.signalled || !std::filesystem::exists(out))
    throw CaseError(
        fmt::format("assay-stream {}{}{}", ended.text(), said.empty() ? "" : ": ", said));
  json rows = read_result(out).at("rows");
  // They are no rows of this result: what places them there is left out, and so are samples that
  // only they would need.
  for (json& row : rows)
    for (const char* field : {"environment", "launch", "attempt", "samples_s", "baseline",
                              "ceiling", "ceiling_reason", "energy_j", "energy_reason"})
      row.erase(field);
  return rows;
}

Bracket CeilingMeter::measure() {
  const auto start = Clock::now();
  Bracket bracket = {
      {"started", now()}, {"seconds", 0}, {"reason", nullptr}, {"rows", json::array()}};
  try {
    if (needs_.threads.empty()) throw CaseError("no case tells its precision and its threads.");
    bracket["rows"] = rows();
  } catch (const CaseError& error) {
    bracket["reason"] = fmt::format("ceilings could not be measured: {}", error.what());
  } catch (const InputError& error) {
    bracket["reason"] = fmt::format("ceilings could not be measured: {}", error.what());
  }
  ended_ = Clock::now();
  seconds_ = std::chrono::duration<double>(ended_ - start).count();
  bracket["seconds"] = seconds_;
  return bracket;
}

bool CeilingMeter::due() const {
  return std::chrono::duration<double>(Clock::now() - ended_).count() > 10 * seconds_;
}

}  // namespace assay
