#include "core/program/print_row.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/program/colour.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// "algorithmic_flops_per_s" repeats "flops_per_s" where both are equal.
bool repeats_another(const json& rates, const std::string& name) {
  return std::any_of(rates.items().begin(), rates.items().end(), [&](const auto& other) {
    return name.ends_with("_" + other.key()) && other.value() == rates.at(name);
  });
}

std::vector<std::string> rate_texts(const json& rates, const std::string& mark) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : rates.items()) {
    if (!value.is_number() || !(value > 0) || repeats_another(rates, name)) continue;
    const std::string label = rate_label(name);
    texts.push_back(label + (label.empty() ? "" : " ") + human_rate(name, value) + mark);
  }
  return texts;
}

std::string interval_text(const json& time) {
  const json& ci = time.at("ci95");
  const int n = time.at("n");
  if (!ci.is_array()) return fmt::format("no interval (n={})", n);
  return fmt::format("[{}] (n={})", human_range(ci[0], ci[1]), n);
}

/// ", 0 wrong elements": as nccl-tests counts them.
std::string wrong_text(const json& row, const char* before) {
  const json verification = row.value("verification", json());
  if (!verification.is_object() || !verification.contains("wrong")) return "";
  const std::int64_t wrong = verification["wrong"];
  return fmt::format("{}{} wrong element{}", before, wrong, wrong == 1 ? "" : "s");
}

std::string ranks_text(const json& row) {
  const json& time = row.at("time_s");
  if (!time.contains("rank_medians_s")) return "";
  return fmt::format("\n    slowest rank {} on {}; ranks begin within {}{}",
                     time.at("slowest_rank").get<int>(), time.at("slowest_host").get<std::string>(),
                     human_seconds(time.at("barrier_skew_s")), wrong_text(row, "; "));
}

std::string metrics_text(const json& row) {
  std::vector<std::string> texts;
  const json metrics = row.value("metrics", json::object());
  for (const auto& [name, metric] : metrics.items())
    texts.push_back(fmt::format("{} {}", name, human_metric(metric)));
  return texts.empty() ? "" : "\n    " + join(texts, "  ");
}

/// What the row says of itself, and why it stands beside no other system's number.
std::string note_text(const json& row) {
  std::string text;
  if (row.contains("note")) text += "\n    note: " + row["note"].get<std::string>();
  if (const json host = row.at("time_s").value("host_included", json()); host.is_string())
    text += "\n    includes the host's time in " + host.get<std::string>();
  if (const json reason = row.value("baseline_reason", json()); reason.is_string())
    text += "\n    no ratio: " + reason.get<std::string>();
  return text;
}

std::string baseline_text(const json& baseline, const std::string& mark) {
  if (!baseline.is_object()) return "";
  const std::string unit = baseline.at("unit");
  const double value = baseline.at("value");
  const json not_given = baseline.value("not_given", json());
  const std::string unknown =
      not_given.is_null() ? ""
                          : fmt::format("? (not given there: {})",
                                        join(not_given.get<std::vector<std::string>>(), ", "));
  const std::string remark = baseline.value("remark", "");
  return fmt::format(
      "\n    {}: {}{}, speedup {:.3g}{}{}{}", baseline.at("system").get<std::string>(),
      unit == "s" ? human_seconds(value) : human_rate(unit, value),
      baseline.contains("projection")    ? " (published, a projection)"
      : baseline.at("published") == true ? " (published)"
                                         : "",
      baseline.at("speedup").get<double>(), mark, unknown, remark.empty() ? "" : "; " + remark);
}

std::string baselines_text(const json& row, const std::string& mark) {
  std::string text = baseline_text(row.at("baseline"), mark);
  for (const json& further : row.value("further_baselines", json::array()))
    text += baseline_text(further, mark);
  return text;
}

}  // namespace

std::string row_text(const json& row, bool colour, const std::string& label) {
  const std::string status = row.at("status"), id = row.at("id");
  if (status != "ok")
    return fmt::format("{}\n    {}: {}{}\n", id, coloured(status, colour),
                       row.at("reason").get<std::string>(),
                       status == "target missed" ? "" : wrong_text(row, "\n    "));
  const json& time = row.at("time_s");
  const std::string mark = mark_of(row);
  std::vector<std::string> parts{human_seconds(time.at("median")) + mark, interval_text(time)};
  for (const std::string& rate : rate_texts(row.at("rates"), mark)) parts.push_back(rate);
  if (!label.empty()) parts.push_back(label);
  const json implementation = row.at("executed").value("implementation", json());
  if (implementation.is_string() && implementation != "") parts.push_back(implementation);
  return fmt::format("{}\n    {}{}{}{}{}\n", id, join(parts, "  "), metrics_text(row),
                     ranks_text(row), baselines_text(row, mark), note_text(row));
}

void print_row(const json& row, const std::string& label) {
  std::cout << row_text(row, colour_wanted(STDOUT_FILENO), label) << std::flush;
}

std::string marks_text(const json& rows) {
  std::string text;
  for (const char* mark : {shared_mark, throttled_mark, oversubscribed_mark})
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const json& row) { return mark_of(row) == mark; }))
      text += note_of(mark) + std::string("\n");
  return text;
}

}  // namespace assay
