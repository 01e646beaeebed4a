#include "analysis/run/ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/environment.hpp"
#include "core/result_check.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Why there is no ceiling.
struct NoCeiling {
  std::string reason;
};

/// The rates of some brackets.
class Ceilings {
 public:
  Ceilings(const std::vector<Bracket>& brackets, const std::vector<std::size_t>& around,
           const json& threads)
      : threads_(threads) {
    for (const std::size_t index : around)
      for (const json& row : brackets[index].at("rows")) rows_.push_back(&row);
  }

  /// The largest rate of a kernel: what bounds is the best that was seen, so the best sample
  /// counts (as in STREAM itself), of all algorithms, before and after.
  std::optional<double> most(const std::string& kernel, const std::string& precision,
                             const char* amount, std::string& why) const {
    std::optional<double> most;
    for (const json* row : rows_) {
      const json& parameters = row->at("parameters");
      if (!row->at("problem").at("descriptor").get_ref<const std::string&>().starts_with(kernel) ||
          parameters.value("precision", "") != precision ||
          parameters.value("threads", json()) != threads_)
        continue;
      if (row->at("status") != "ok") {
        why = fmt::format("{}: {}", row->at("status").get<std::string>(),
                          row->at("reason").get<std::string>());
        continue;
      }
      const double seconds = row->at("time_s").at("min");
      if (seconds > 0)
        most = std::max(most.value_or(0), row->at("problem").at(amount).get<double>() / seconds);
    }
    return most;
  }

 private:
  std::vector<const json*> rows_;
  json threads_;
};

/// Operations that the row's algorithm did.
double operations(const json& row) {
  const json really = row.at("executed").value("algorithmic_flops", json());
  if (really.is_number()) return really;
  const json algorithm = row.at("executed").at("algorithm");
  if (algorithm.is_string() && saves_operations(algorithm))
    throw NoCeiling{
        fmt::format("how many operations {} did is not known", algorithm.get<std::string>())};
  const json nominal = row.at("problem").value("flops", json());
  return nominal.is_number() ? nominal.get<double>() : 0;
}

/// What must come from memory in a run: all of it where buffers rotate through memory; else what
/// the last caches cannot hold from run to run.
double traffic(const json& row, const json& environment) {
  const json bytes = row.at("problem").value("bytes", json());
  if (!bytes.is_number()) return 0;
  if (row.at("parameters").value("cache", "hot") == "cold") return bytes;
  const auto cache = static_cast<double>(cache_bytes(environment.at("hardware")));
  if (cache == 0) throw NoCeiling{"the size of the last level of caches is unknown"};
  return std::max(0.0, bytes.get<double>() - cache);
}

double peak_of(const json& row, const Ceilings& ceilings) {
  const std::string precision = row.at("parameters").value("precision", "");
  std::string why = "it was not measured";
  std::optional<double> peak = ceilings.most("fma", precision, "flops", why);
  // Where a processor computes 16-bit data in fp32, and the row says that it did so.
  const json compute = row.at("executed").value("compute", json());
  if (compute == "fp32" && precision != "fp32" && precision != "fp64") {
    std::string ignored;
    if (const auto other = ceilings.most("fma", "fp32", "flops", ignored))
      peak = std::max(peak.value_or(0), *other);
  }
  if (!peak) throw NoCeiling{fmt::format("no peak of {} ({})", precision, why)};
  return *peak;
}

json ceiling_of(const json& row, const std::vector<Bracket>& brackets,
                const std::vector<std::size_t>& around, const json& environment) {
  const json& parameters = row.at("parameters");
  if (row.at("benchmark") == "stream") throw NoCeiling{"stream measures ceilings itself"};
  if (parameters.value("ranks", 1) != 1 || parameters.value("nodes", 1) != 1)
    throw NoCeiling{"ceilings are of one process, this row is of several"};
  if (parameters.value("device", "cpu") != "cpu")
    throw NoCeiling{"the ceilings around it are the processor's, this row is a GPU's"};
  const double median = row.at("time_s").at("median");
  if (!(median > 0)) throw NoCeiling{"the time is below the clock's resolution"};
  std::vector<std::size_t> good;
  for (const std::size_t index : around)
    if (brackets[index].at("reason").is_null()) good.push_back(index);
  if (good.empty()) throw NoCeiling{brackets[around.front()].at("reason").get<std::string>()};
  const Ceilings ceilings(brackets, good, parameters.value("threads", json()));

  const double work = operations(row), moved = traffic(row, environment);
  json ceiling = {{"flops_per_s", nullptr},
                  {"bytes_per_s", nullptr},
                  {"memory_bytes", moved},
                  {"brackets", good}};
  double compute_s = 0, memory_s = 0;
  if (work > 0) {
    const double peak = peak_of(row, ceilings);
    ceiling["flops_per_s"] = peak;
    compute_s = work / peak;
  }
  if (moved > 0) {
    std::string why = "it was not measured";
    const auto bandwidth = ceilings.most("triad", "fp64", "bytes", why);
    if (!bandwidth) throw NoCeiling{fmt::format("no bandwidth of memory ({})", why)};
    ceiling["bytes_per_s"] = *bandwidth;
    memory_s = moved / *bandwidth;
  }
  const double least = std::max(compute_s, memory_s);
  if (!(least > 0)) throw NoCeiling{"neither its operations nor its traffic to memory are known"};
  // Roofline: least time = max(operations / peak, bytes / bandwidth), which is the same as rate <=
  // min(peak, intensity * bandwidth).
  ceiling["fraction"] = least / median;
  ceiling["bound_by"] = compute_s >= memory_s ? "compute" : "memory";
  ceiling["exceeded"] = least > (1 + ceiling_exceeded_above) * median;
  return ceiling;
}

}  // namespace

void add_ceiling(json& row, const std::vector<Bracket>& brackets,
                 const std::vector<std::size_t>& around, const json& environment,
                 const std::string& otherwise) {
  row["ceiling"] = nullptr;
  try {
    if (row.at("status") != "ok") throw NoCeiling{"the row has no time"};
    if (around.empty()) throw NoCeiling{otherwise};
    row["ceiling"] = ceiling_of(row, brackets, around, environment);
    row["ceiling_reason"] = nullptr;
  } catch (const NoCeiling& none) {
    row["ceiling_reason"] = none.reason;
  }
}

}  // namespace assay
