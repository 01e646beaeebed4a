#include "analysis/table/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

Quantity make_quantity(const Series& series) {
  if (series.status == "ok") return {series.median, "s"};
  return {series.rate, series.rate_name};
}

bool has_number(const Series& series) { return !make_quantity(series).unit.empty(); }

std::string find_status(const Series& series) { return has_number(series) ? "ok" : series.status; }

std::string format_quantity(const Quantity& quantity) {
  if (quantity.unit == "s") return format_seconds(quantity.value);
  return format_rate(quantity.unit, quantity.value);
}

std::string mark_published(const Row& row) {
  return !row.projection.empty() ? "‡" : row.published ? "*" : "";
}

namespace {

std::string marks(const Series& series) {
  return mark_published(series.first()) + choose_mark(series);
}

}  // namespace

Cell format_value_cell(const Series& series) {
  const Quantity quantity = make_quantity(series);
  return {format_quantity(quantity) + marks(series), quantity.value};
}

std::optional<double> largest_error(const Series& series) {
  std::optional<double> largest;
  for (const Row& row : series.rows)
    if (row.verification && row.verification->max_error)
      largest = std::max(largest.value_or(0), *row.verification->max_error);
  return largest;
}

Cell format_error_cell(const Series& series) {
  const std::optional<double> largest = largest_error(series);
  if (largest) return {format_error(*largest), largest};
  return series.published ? "published" : "-";
}

namespace {

struct MainRate {
  std::string name;
  double value = 0;
};

/// A rate at the series' median. A published time without the rate gives it from the amount of
/// work.
double rate_or_amount(const Series& series, const char* rate, const char* amount) {
  if (const auto value = find_rate(series, rate)) return *value;
  return has_time(series) ? problem_number(series, amount).value_or(0) / series.median : 0;
}

std::optional<MainRate> find_main_rate(const Series& series) {
  if (series.status != "ok") {  // published only as a rate
    if (series.rate_name.empty()) return std::nullopt;
    return MainRate{series.rate_name, series.rate};
  }
  if (const auto bus = find_rate(series, "busbw")) return MainRate{"busbw", *bus};
  // Users of a benchmark think in the quantity that it counts beside operations and bytes (images).
  for (const auto& [name, amount] : series.first().problem.amounts.value_or(OptionalNumbers()))
    if (const double rate = find_rate(series, name).value_or(0);
        rate > 0 && name != "flops_per_s" && name != "bytes_per_s")
      return MainRate{name, rate};
  const double flops = rate_or_amount(series, "flops_per_s", "flops");
  const double bytes = rate_or_amount(series, "bytes_per_s", "bytes");
  // If a problem moves more bytes than it executes operations, memory limits it.
  if (flops > 0 && 2 * flops >= bytes) return MainRate{"flops_per_s", flops};
  if (bytes > 0) return MainRate{"bytes_per_s", bytes};
  for (const auto& [name, value] : series.first().rates)
    if (const double rate = find_rate(series, name).value_or(0); rate > 0)
      return MainRate{name, rate};
  return std::nullopt;
}

const std::map<std::string, const char*> rate_notes{
    {"flops_per_s",
     "rate in FLOP/s: nominal operations (2 per multiply-add of the direct algorithm) / time."},
    {"bytes_per_s", "rate in B/s: bytes that the problem must read and write / time."},
    {"busbw",
     "algbw: message size / time. busbw: algbw times the collective's factor of nccl-tests, "
     "comparable with the bandwidth of a link."}};

}  // namespace

std::optional<double> main_rate(const Series& series) {
  const std::optional<MainRate> rate = find_main_rate(series);
  return rate ? std::optional(rate->value) : std::nullopt;
}

Cell format_rate_cell(const Series& series, Legend& legend) {
  const std::optional<MainRate> rate = find_main_rate(series);
  if (!rate) return "-";
  if (const auto note = rate_notes.find(rate->name); note != rate_notes.end())
    legend.add(note->second);
  const std::string label = format_rate_label(rate->name);
  return {format_rate(rate->name, rate->value) + (label.empty() ? "" : " " + label) + marks(series),
          rate->value};
}

Cell format_bandwidth_cell(const Series& series, const std::string& name, Legend& legend) {
  const std::optional<double> rate = find_rate(series, name);
  if (!rate) return "-";
  legend.add(rate_notes.at("busbw"));
  return {format_rate(name, *rate) + marks(series), rate};
}

Cell format_ceiling_cell(const Series& series, Legend& legend) {
  const std::optional<double> fraction = ceiling_fraction(series);
  if (!fraction) return "-";
  std::string bound_by;
  const bool exceeded = exceeds_ceiling(series);
  for (const Row& row : series.rows)
    if (row.ceiling && row.ceiling->fraction) bound_by = row.ceiling->bound_by;
  if (exceeded)
    legend.add(
        "^ Faster than the ceiling by more than 3 %, which is impossible: the machine was slower "
        "when the ceiling was measured, or one of the two numbers is wrong.");
  legend.add(
      "of ceiling: least time that the peak arithmetic and the memory or cache with the data allow "
      "(measured around the row by assay-stream) / time, and which of them limits.");
  const double percent = 100 * *fraction;
  return {fmt::format("{:.{}f} % {}{}{}", percent, percent < 10 ? 1 : 0, bound_by,
                      exceeded ? "^" : "", choose_mark(series)),
          fraction};
}

namespace {

/// The ceilings of one machine's rows, by their subject: "fp32 with 2 threads", "fp16 on gpu".
using Ceilings = std::map<std::string, double>;

void collect(const Row& row, Ceilings& flops, Ceilings& bytes) {
  const RowCeiling& ceiling = *row.ceiling;
  const std::string device = row.parameter("device"), threads = row.parameter("threads");
  std::string with = device.empty() || device == "cpu"
                         ? fmt::format(" with {} thread{}", threads, threads == "1" ? "" : "s")
                         : " on " + device;
  const bool shared = row.problem.shared_by.value_or(1) > 1;
  if (const double ranks = row.number("ranks").value_or(1); ranks > 1)
    with += fmt::format(" on {} of {} ranks{}", shared ? "each" : "one", ranks,
                        shared ? ", in total" : "");
  const auto add = [&](Ceilings& all, const std::string& name, const std::optional<double>& rate) {
    if (rate) all[name + with] = std::max(all[name + with], *rate);
  };
  const std::string& precision = ceiling.flops_precision;
  add(flops, precision.empty() ? row.parameter("precision") : precision, ceiling.flops_per_s);
  add(bytes, ceiling.level.empty() ? "memory" : ceiling.level, ceiling.bytes_per_s);
}

std::string format_rates(const Ceilings& all, const char* unit) {
  Texts texts;
  for (const auto& [name, rate] : all) texts.push_back(name + " " + format_with_unit(rate, unit));
  return join(texts, ", ");
}

/// The theoretical peaks of an environment's hardware, or why they are unknown.
std::string theoretical(const nlohmann::json& hardware) {
  if (!hardware.contains("peaks") || !hardware["peaks"].is_object()) return "unknown";
  const nlohmann::json& peaks = hardware["peaks"];
  Ceilings known;
  for (const auto& [precision, rate] : peaks.at("flops_per_s").items())
    if (rate.is_number()) known[precision] = rate;
  const auto why = [&](const char* name) {
    const nlohmann::json reasons = peaks.value("reasons", nlohmann::json::object());
    return fmt::format("unknown ({})", read_field(reasons, name));
  };
  const nlohmann::json& memory = peaks.at("bytes_per_s");
  return fmt::format("arithmetic {}, memory {}",
                     known.empty() ? why("flops_per_s")
                                   : fmt::format("{} ({})", format_rates(known, "FLOP/s"),
                                                 read_field(peaks, "basis")),
                     memory.is_number() ? format_with_unit(memory, "B/s") : why("bytes_per_s"));
}

}  // namespace

void note_ceilings(const Results& results, const SeriesList& all, Legend& legend) {
  struct Machine {
    const Row* row = nullptr;
    Ceilings flops{}, bytes{};
  };
  std::map<std::pair<std::size_t, std::string>, Machine> machines;
  for (const Series& series : all)
    for (const Row& row : series.rows) {
      if (series.status != "ok" || !row.ceiling) continue;
      Machine& machine = machines[{series.result, series.environment}];
      collect(row, machine.flops, machine.bytes);
      machine.row = &row;
    }
  for (const auto& [place, machine] : machines) {
    const NamedResult& named = results[place.first];
    Texts parts;
    if (!machine.flops.empty()) parts.push_back(format_rates(machine.flops, "FLOP/s"));
    if (!machine.bytes.empty()) parts.push_back(format_rates(machine.bytes, "B/s"));
    legend.add(fmt::format("{}ceilings, measured: {}; theoretical: {}.",
                           named.name.empty() ? "" : named.name + ": ", join(parts, "; "),
                           theoretical(named.environment(*machine.row).hardware)));
  }
}

bool may_fold(const Series& series) {
  return find_status(series) == "unsupported" && !series.first().required;
}

namespace {

constexpr std::size_t most_reasons = 8;

/// The properties that these rows share: the problem, and the parameters that differ in the table.
std::string join_shared_properties(const std::vector<const Series*>& rows, const Texts& varying) {
  Texts texts;
  const auto add = [&](const std::string& name, auto value) {
    const std::string text = value(*rows.front());
    if (!text.empty() && std::ranges::all_of(rows, [&](auto* row) { return value(*row) == text; }))
      texts.push_back(name + " " + text);
  };
  add("problem", [](const Series& series) { return series.problem(); });
  for (const std::string& name : varying)
    add(name, [&](const Series& series) { return format_axis(series, name); });
  return texts.empty() ? "" : " (" + join(texts, ", ") + ")";
}

/// The reason without its last part, if that concerns only this problem: "(winograd convolution, …,
/// mb16ic64…)".
std::string general_reason(const Series& series) {
  const std::string& reason = series.reason;
  const std::string& problem = series.first().problem.descriptor;
  const std::size_t open = reason.rfind(" (");
  const bool about_problem = open != std::string::npos && open > 0 && reason.ends_with(")") &&
                             !problem.empty() && reason.find(problem, open) != std::string::npos;
  return about_problem ? reason.substr(0, open) : reason;
}

}  // namespace

std::string fold_lines(const SeriesList& folded, const SeriesList& all, Legend& legend) {
  if (folded.empty()) return "";
  std::map<std::string, std::vector<const Series*>> reasons;
  Texts order, marks;
  for (const Series& series : folded) {
    auto& rows = reasons[general_reason(series)];
    if (rows.empty()) order.push_back(general_reason(series));
    rows.push_back(&series);
  }
  const Texts varying = find_axes(all, "").shown;
  std::size_t row_count = 0;
  for (std::size_t i = 0; i < std::min(order.size(), most_reasons); ++i) {
    const auto& rows = reasons.at(order[i]);
    row_count += rows.size();
    marks.push_back(legend.footnote(fmt::format("{} unsupported{}: {}", rows.size(),
                                                join_shared_properties(rows, varying), order[i])));
  }
  if (row_count < folded.size())
    marks.push_back(legend.footnote(fmt::format(
        "{} unsupported for {} other reasons: --columns all shows each row with its reason.",
        folded.size() - row_count, order.size() - most_reasons)));
  return fmt::format("{} not shown {}", format_count(folded.size(), "unsupported row"),
                     marks.size() > 3 ? marks.front() + " .. " + marks.back() : join(marks, " "));
}

void add_origin(Table& table, const Results& results, const SeriesList& rows) {
  if (results.size() > 1)
    table.add({"result"}, [&](std::size_t i) { return results[rows[i].result].name; });
  if (several_benchmarks(rows))
    table.add({"benchmark"}, [&](std::size_t i) { return rows[i].first().benchmark; });
}

bool several_benchmarks(const SeriesList& all) {
  return std::ranges::any_of(all, [&](const Series& series) {
    return series.first().benchmark != all.front().first().benchmark;
  });
}

std::string counts(const SeriesList& all) {
  Texts texts;
  for (const char* status : row_statuses)
    if (const auto n = std::ranges::count(all, status, find_status); n > 0)
      texts.push_back(fmt::format("{} {}", n, status));
  return texts.empty() ? "no rows" : join(texts, ", ");
}

void add_title(Page& page, const Results& results, const SeriesList& all, const Texts& constants) {
  std::vector<bool> shown(results.size(), all.empty());
  for (const Series& series : all)
    if (series.result < shown.size()) shown[series.result] = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!shown[i]) continue;
    const NamedResult& named = results[i];
    const RunHeader& run = named.run();
    page.line(fmt::format("{}system {}{}{}", named.name.empty() ? "" : named.name + ": ",
                          named.system(), run.suite.empty() ? "" : ", suite " + run.suite,
                          run.started ? ", " + *run.started : ""),
              true);
  }
  for (const std::string& line : constants) page.line(line, line != constants.back());
  page.blank();
}

}  // namespace assay
