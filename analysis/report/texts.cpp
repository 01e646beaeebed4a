// The texts of the numbers that the page shows. The page's script formats no numbers, except the
// ticks of axes.

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "analysis/evidence.hpp"
#include "analysis/report/parts.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

using Write = std::function<std::string(double)>;

/// Every ratio has three digits, so that a small one is not shown as none.
std::string times(double ratio) {
  if (ratio > 0 && ratio < 1e-4) return fmt::format("{:.2e}\u00d7", ratio);
  return std::abs(ratio) < 99.95 ? fmt::format("{:#.3g}\u00d7", ratio)
                                 : fmt::format("{:.0f}\u00d7", ratio);
}

Write in_unit(const char* unit) {
  return [unit](double value) { return format_with_unit(value, unit); };
}

Write in_format(const char* format) {
  return [format](double value) { return fmt::format(fmt::runtime(format), value); };
}

/// The numbers in each part of the document that the page shows, and their formats.
std::map<std::pair<std::string, std::string>, Write> list_writes() {
  std::map<std::pair<std::string, std::string>, Write> writes;
  const Write plain = in_format("{:.4g}");
  // Each of the names in each of the parts, if no earlier call has it.
  const auto add = [&](const char* parts, const char* names, const Write& write) {
    for (const std::string& part : split(parts, ' '))
      for (const std::string& name : split(names, ' '))
        writes.emplace(std::pair(part, name), write);
  };
  add("rows collectives scaling convergence nodes comparison",
      "median low high p95 p99 seconds alpha fleet_median", format_seconds);
  add("history", "value low high base_s new_s level_s", format_seconds);
  add("history", "ratio interval",
      [](double ratio) { return ratio > 0 ? times(1 / ratio) : std::string("–"); });
  add("speedups precision scaling nodes acceptance comparison model",
      "speedup speedups ideal worst_ratio speedup_interval", times);
  add("precision", "low high energy", times);
  add("evidence", "ratio ratios", times);
  add("rows roofline collectives scaling comparison fleet",
      "fraction error_over_bound efficiency worst held_out minimum_detectable listed_above",
      [](double part) { return fmt::format("{:.1f} %", 100 * part); });
  add("rows precision", "max_error error", format_error);
  add("rows roofline collectives", "busbw bytes_per_s bandwidth", in_unit("B/s"));
  add("rows roofline", "flops_per_s rate", in_unit("FLOP/s"));
  add("rows", "images_per_s", in_unit("/s"));
  add("rows", "energy", in_unit("J"));
  add("head collectives", "memory_bytes bytes", format_size);
  add("collectives", "beta", in_format("{:.2e} s/B"));
  add("collectives convergence", "r_squared accuracy correlation iou", in_format("{:.4f}"));
  add("convergence roofline comparison history evidence", "epochs intensity p minutes", plain);
  add("model",
      "r2 adjusted_r2 sigma estimate se t p interval rms_error value observed fitted residual "
      "leverage",
      plain);
  return writes;
}

/// The format of a number; null if the page does not show it.
const Write* find_write(const std::string& part, const std::string& name) {
  static const auto writes = list_writes();
  const auto write = writes.find({part, name});
  return write == writes.end() ? nullptr : &write->second;
}

/// The text of a number, or the texts of a list; null for other values.
json write_texts(const json& value, const Write& write) {
  if (value.is_number()) return write(value);
  json texts;
  if (!value.is_array()) return texts;
  for (const json& number : value) texts.push_back(write_texts(number, write));
  return texts;
}

}  // namespace

void add_texts(json& part, const std::string& name, const std::string& under) {
  if (part.is_array())
    for (json& item : part) add_texts(item, name, under);
  if (!part.is_object()) return;
  json texts = json::object();
  for (auto& [key, value] : part.items()) {
    if (key == "given" || key == "mismatches") continue;  // names and values of the user
    const std::string& own = under.empty() ? key : under;
    const Write* const write = find_write(name, own);
    if (write == nullptr || value.is_object())
      add_texts(value, name, write == nullptr ? "" : own);
    else if (!value.is_string())
      texts[key + "_text"] = write_texts(value, *write);
  }
  part.update(texts);
}

}  // namespace assay::report
