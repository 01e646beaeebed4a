#include "analysis/run/ceiling_bracket.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run/cache_levels.hpp"
#include "analysis/run/child.hpp"
#include "analysis/run/programs.hpp"
#include "core/api/precision.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

/// Short: a bracket is to cost a small part of a short suite, and its best sample counts.
constexpr double max_time = 0.2;
constexpr double longest_s = 600;
const std::string in_memory = "triad";  // STREAM's own size: four times the last level of caches

/// 16-bit data may be computed in fp32 (ceiling.cpp).
std::set<std::string> with_fp32(std::set<std::string> precisions) {
  if (precisions.contains("bf16") || precisions.contains("fp16")) precisions.insert("fp32");
  return precisions;
}

/// What a device can do, whichever it is. Its memory by arrays of 1 GiB, and by smaller ones where
/// there is no room for these (they count there alone: ceiling.cpp). Its L2 cache by 2 MiB, which
/// every one holds since Volta, and by 16 MiB, which give all processors of a large GPU enough.
void add_device(json& cases, const CeilingPlace& place, const std::set<std::string>& precisions) {
  const auto add = [&](json problems, json of, json algorithms) {
    cases.push_back({{"benchmark", "stream"},
                     {"problem", problems},
                     {"precision", of},
                     {"algorithm", algorithms},
                     {"backend", place.backend},
                     {"device", place.device}});
  };
  add("matmul_n8192", with_fp32(precisions), "auto");
  add({"triad_n134217728", "copy_n134217728", "triad_n33554432"}, "fp64",
      {"regular", "nontemporal"});
  add({"read_n262144", "read_n2097152"}, "fp64", "auto");
}

json suite_of(const CeilingNeeds& needs) {
  json cases = json::array();
  if (!needs.threads.empty())
    cases.push_back({{"benchmark", "stream"},
                     {"problem", "fma_n16384"},  // short: where others compute, some runs are whole
                     {"precision", with_fp32(needs.precisions)},
                     {"threads", needs.threads}});
  for (const auto& [threads, problem] : needs.data) {
    json group = {
        {"benchmark", "stream"}, {"problem", problem}, {"precision", "fp64"}, {"threads", threads}};
    if (problem == in_memory) group["algorithm"] = {"regular", "nontemporal"};
    cases.push_back(std::move(group));
  }
  for (const auto& [place, precisions] : needs.devices) add_device(cases, place, precisions);
  return {{"schema", "assay-suite/1"},
          {"name", "ceilings"},
          {"timing", {{"max_time", max_time}}},
          {"cases", cases}};
}

/// The problem of assay-stream that reads from a level.
std::string probe_of(std::size_t level, const std::vector<CacheLevel>& levels) {
  if (level == levels.size()) return in_memory;
  const auto fp64s = static_cast<std::int64_t>(probe_bytes(level, levels) / sizeof(double));
  return fmt::format("read_n{}", std::max<std::int64_t>(1, fp64s));
}

}  // namespace

void CeilingNeeds::add(const std::vector<PlannedBenchmark>& benchmarks, const json& hardware) {
  for (const PlannedBenchmark& benchmark : benchmarks) {
    if (benchmark.name == "stream") continue;
    for (const Case& benchmark_case : benchmark.cases) {
      const auto precision = benchmark_case.settings.find("precision"),
                 count = benchmark_case.settings.find("threads"),
                 cache = benchmark_case.settings.find("cache"),
                 backend = benchmark_case.settings.find("backend"),
                 device = benchmark_case.settings.find("device");
      if (precision == benchmark_case.settings.end()) continue;
      if (device != benchmark_case.settings.end() && device->second != "cpu") {
        if (backend != benchmark_case.settings.end())
          devices[ceiling_place(backend->second, device->second)].insert(
              arithmetic_name(precision->second));
        continue;
      }
      if (count == benchmark_case.settings.end()) continue;
      precisions.insert(arithmetic_name(precision->second));
      const int team = *threads.insert(std::stoi(count->second)).first;
      const std::vector<CacheLevel> levels = cache_levels(hardware, team);
      if (cache != benchmark_case.settings.end() && cache->second == "cold")
        data.emplace(team, in_memory);
      else if (!levels.empty())
        for (const double bytes : benchmark_case.working_sets)
          for (const std::size_t level : bounding_levels(bytes, levels))
            data.emplace(team, probe_of(level, levels));
    }
  }
}

void CeilingNeeds::add(const CeilingNeeds& other) {
  precisions.insert(other.precisions.begin(), other.precisions.end());
  threads.insert(other.threads.begin(), other.threads.end());
  data.insert(other.data.begin(), other.data.end());
  for (const auto& [place, its] : other.devices) devices[place].insert(its.begin(), its.end());
}

double CeilingNeeds::timed_seconds() const {
  std::size_t cases = 0;
  const auto count = [](const json& setting) {
    return setting.is_array() ? setting.size() : std::size_t{1};
  };
  const json suite = suite_of(*this);
  for (const json& group : suite.at("cases")) {
    std::size_t product = 1;
    for (const json& setting : group) product *= count(setting);
    cases += product;
  }
  return static_cast<double>(cases) * max_time;
}

CeilingMeter::CeilingMeter(CeilingNeeds needs, CampaignOptions options,
                           std::filesystem::path programs)
    : needs_(std::move(needs)), options_(std::move(options)), programs_(std::move(programs)) {}

json CeilingMeter::rows() {
  json all = json::array();
  for (const std::vector<std::string>& launcher : options_.launchers)
    for (json& row : rows_under(launcher)) all.push_back(std::move(row));
  return all;
}

json CeilingMeter::rows_under(const std::vector<std::string>& launcher) {
  const std::vector<std::string> names = benchmark_names(programs_);
  if (std::find(names.begin(), names.end(), "stream") == names.end())
    throw CaseError(fmt::format("there is no assay-stream in {}.", programs_.string()));
  const auto suite = options_.folder / "ceilings.json", out = options_.folder / "log/ceilings.json";
  write_json(suite, suite_of(needs_));
  std::filesystem::remove(out);  // a number of an earlier bracket must not pass for this one's
  std::vector<std::string> command = launcher;
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
  const json result = read_result(out);
  json rows = result.at("rows");
  // They are no rows of this result: what places them there is left out, and so are samples that
  // only they would need.
  for (json& row : rows) {
    if (const CeilingPlace place = ceiling_place(row.at("parameters")); !place.is_processor())
      row["measured_on"] = device_name(
          place, result.at("environments").at(row.at("environment").get<std::size_t>()));
    for (const char* field :
         {"environment", "launch", "attempt", "samples_s", "baseline", "ceiling", "ceiling_reason",
          "energy_j", "energy_domains_j", "energy_reason"})
      row.erase(field);
  }
  return rows;
}

Bracket CeilingMeter::measure() {
  const auto start = Clock::now();
  Bracket bracket = {
      {"started", utc_now()}, {"seconds", 0}, {"reason", nullptr}, {"rows", json::array()}};
  try {
    if (needs_.none())
      throw CaseError("no case tells its precision, and its threads or its device's backend.");
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

bool CeilingMeter::due() const { return seconds_since(ended_) > 10 * seconds_; }

}  // namespace assay
