#include "runner/ceilings/ceiling_bracket.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/api/precision.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/result/schema.hpp"
#include "runner/ceilings/cache_levels.hpp"
#include "runner/launch/programs.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

/// Short, because a bracket must cost only a small part of a short suite; its best sample counts.
constexpr double max_time = 0.2;
constexpr double longest_s = 600;
const std::string in_memory = "triad";  // STREAM's own size: four times the last level of caches
constexpr double times_caches = 4, least_elements = 1e6;  // of that size

/// 16-bit data may be computed in fp32 (ceiling.cpp).
std::set<std::string> with_fp32(std::set<std::string> precisions) {
  if (precisions.contains("bf16") || precisions.contains("fp16")) precisions.insert("fp32");
  return precisions;
}

/// Adds the cases that measure a device. Arrays of 1 GiB measure its memory; smaller ones replace
/// them if there is no space (they count only then: ceiling.cpp). Arrays of 2 MiB, which the L2
/// cache of every device since Volta holds, measure this cache; arrays of 16 MiB measure it, too,
/// because they occupy all processors of a large GPU.
void add_device(json& cases, const CeilingPlace& place, const std::set<std::string>& precisions) {
  const auto add = [&](json problems, json precision, json algorithms) {
    cases.push_back({{"benchmark", "stream"},
                     {"problem", problems},
                     {"precision", precision},
                     {"algorithm", algorithms},
                     {"backend", place.backend},
                     {"device", place.device}});
  };
  add("matmul_n8192", with_fp32(precisions), "auto");
  add({"triad_n134217728", "copy_n134217728", "triad_n33554432"}, "fp64",
      {"regular", "nontemporal"});
  add({"read_n262144", "read_n2097152"}, "fp64", "auto");
}

json make_suite(const CeilingNeeds& needs) {
  json cases = json::array();
  if (!needs.threads.empty())
    cases.push_back({{"benchmark", "stream"},
                     {"problem", "fma_n16384"},  // short, so that some runs are undisturbed even on
                                                 // a shared machine
                     {"precision", with_fp32(needs.precisions)},
                     {"threads", needs.threads}});
  for (const auto& [threads, problem] : needs.data) {
    json group = {
        {"benchmark", "stream"}, {"problem", problem}, {"precision", "fp64"}, {"threads", threads}};
    if (problem.starts_with(in_memory)) group["algorithm"] = {"regular", "nontemporal"};
    cases.push_back(std::move(group));
  }
  for (const auto& [place, precisions] : needs.devices) add_device(cases, place, precisions);
  return {{"schema", "assay-suite/1"},
          {"name", "ceilings"},
          {"timing", {{"max_time", max_time}}},
          {"cases", cases}};
}

/// The problem of assay-stream whose data, for all ranks of a node together, fit a level.
std::string name_probe(std::size_t level, const std::vector<CacheLevel>& levels, int ranks_here) {
  if (level < levels.size())
    return fmt::format("read_n{}", std::max<std::int64_t>(
                                       1, static_cast<std::int64_t>(probe_bytes(level, levels) /
                                                                    sizeof(double) / ranks_here)));
  if (ranks_here == 1 || levels.empty()) return in_memory;
  const double elements =
      std::max(times_caches * levels.back().bytes / sizeof(double), least_elements);
  return fmt::format("{}_n{}", in_memory, static_cast<std::int64_t>(elements / ranks_here) + 1);
}

int read_count(const Case& benchmark_case, const char* name) {
  return std::stoi(setting(benchmark_case, name, "1"));
}

/// The most ranks that share a node.
int ranks_of_node(const Case& benchmark_case) {
  const int nodes = read_count(benchmark_case, "nodes");
  return (read_count(benchmark_case, "ranks") + nodes - 1) / nodes;
}

}  // namespace

void CeilingNeeds::add(const Case& benchmark_case, const json& hardware) {
  const Settings& settings = benchmark_case.settings;
  const auto precision = settings.find("precision"), count = settings.find("threads"),
             cache = settings.find("cache"), backend = settings.find("backend"),
             device = settings.find("device");
  if (precision == settings.end()) return;
  if (device != settings.end() && device->second != "cpu") {
    if (backend != settings.end())
      devices[ceiling_place(backend->second, device->second)].insert(
          arithmetic_name(precision->second));
    return;
  }
  if (count == settings.end()) return;
  precisions.insert(arithmetic_name(precision->second));
  const int team = *threads.insert(std::stoi(count->second)).first;
  // The ranks of a node share its memory and its last-level caches, so they count as one team of
  // threads there.
  const int ranks_here = ranks_of_node(benchmark_case);
  const std::vector<CacheLevel> levels = cache_levels(hardware, team * ranks_here);
  if (cache != settings.end() && cache->second == "cold")
    data.emplace(team, name_probe(levels.size(), levels, ranks_here));
  else if (!levels.empty())
    for (const double bytes : benchmark_case.working_sets)
      for (const std::size_t level : bounding_levels(bytes * ranks_here, levels))
        data.emplace(team, name_probe(level, levels, ranks_here));
}

void CeilingNeeds::add(const CeilingNeeds& other) {
  precisions.insert(other.precisions.begin(), other.precisions.end());
  threads.insert(other.threads.begin(), other.threads.end());
  data.insert(other.data.begin(), other.data.end());
  for (const auto& [place, its] : other.devices) devices[place].insert(its.begin(), its.end());
}

CeilingPlan ceiling_plan(const std::vector<PlannedBenchmark>& benchmarks, const json& hardware) {
  CeilingPlan plan;
  for (const PlannedBenchmark& benchmark : benchmarks) {
    if (benchmark.name == "stream") continue;
    for (const Case& benchmark_case : benchmark.cases)
      plan[{benchmark.launcher, read_count(benchmark_case, "ranks") > 1}].add(benchmark_case,
                                                                              hardware);
  }
  std::erase_if(plan, [](const auto& start) { return start.second.none(); });
  return plan;
}

void add(CeilingPlan& plan, const CeilingPlan& other) {
  for (const auto& [start, needs] : other) plan[start].add(needs);
}

double sum_timed_seconds(const CeilingPlan& plan) {
  std::size_t cases = 0;
  const auto count = [](const json& setting) {
    return setting.is_array() ? setting.size() : std::size_t{1};
  };
  for (const auto& [start, needs] : plan) {
    const json suite = make_suite(needs);
    for (const json& group : suite.at("cases")) {
      std::size_t product = 1;
      for (const json& setting : group) product *= count(setting);
      cases += product;
    }
  }
  return static_cast<double>(cases) * max_time;
}

CeilingMeter::CeilingMeter(CeilingPlan plan, CampaignOptions options,
                           std::filesystem::path programs)
    : plan_(std::move(plan)), options_(std::move(options)), programs_(std::move(programs)) {}

std::vector<Row> CeilingMeter::measure_rows(const CeilingStart& start, const CeilingNeeds& needs) {
  const std::vector<std::string> names = list_benchmark_names(programs_);
  if (std::find(names.begin(), names.end(), "stream") == names.end())
    throw CaseError(fmt::format("there is no assay-stream in {}.", programs_.string()));
  const auto suite = options_.folder / "ceilings.json", out = options_.folder / "log/ceilings.json";
  write_json(suite, make_suite(needs));
  std::filesystem::remove(out);  // a number of an earlier bracket must not be taken for one of this
                                 // bracket
  std::vector<std::string> command = start.launcher;
  command.insert(command.end(), {(programs_ / "assay-stream").string(), "--suite", suite.string(),
                                 "--seed", std::to_string(options_.seed), "--out", out.string()});
  if (start.all_ranks) command.push_back("--all-ranks");
  const double limit = std::max(longest_s, options_.timeout.count());
  const FinishedCommand stream =
      finish_command(command, options_.folder / "log" / "ceilings",
                     std::chrono::milliseconds(static_cast<std::int64_t>(1000 * limit)));
  if (stream.ended.signalled || !std::filesystem::exists(out))
    throw CaseError("assay-stream " + stream.how());
  RunResult result = read_result(out);
  for (Row& row : result.rows) {
    row.of_bracket = true;
    if (const CeilingPlace place = ceiling_place(row); !place.is_processor()) {
      const std::string device = device_name(backend_software(place, result.environment(row)));
      row.rest["measured_on"] = device.empty() ? json() : json(device);
    }
  }
  return std::move(result.rows);
}

Bracket CeilingMeter::measure() {
  const auto start = Clock::now();
  Bracket bracket{format_utc_now()};
  try {
    if (plan_.empty())
      throw CaseError(
          "no case has the settings that a ceiling needs: precision, and threads or a device.");
    std::vector<Row> rows;  // of all starts or of none
    for (const auto& [start, needs] : plan_)
      for (Row& row : measure_rows(start, needs)) rows.push_back(std::move(row));
    bracket.rows = std::move(rows);
  } catch (const CaseError& error) {
    bracket.reason = fmt::format("ceilings could not be measured: {}", error.what());
  } catch (const InputError& error) {
    bracket.reason = fmt::format("ceilings could not be measured: {}", error.what());
  }
  ended_ = Clock::now();
  seconds_ = std::chrono::duration<double>(ended_ - start).count();
  bracket.seconds = seconds_;
  return bracket;
}

bool CeilingMeter::due() const { return seconds_since(ended_) > 10 * seconds_; }

}  // namespace assay
