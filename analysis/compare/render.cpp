#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/compare/comparison.hpp"
#include "analysis/compare/entry_table.hpp"
#include "analysis/ratio.hpp"
#include "core/base/units.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string plain(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string percent(const json& part) {
  return part.is_null() ? "-" : human_percent(part.get<double>());
}

std::string interval(const json& pair) {
  return pair.is_null()
             ? "-"
             : fmt::format("{:.4f} to {:.4f}", pair[0].get<double>(), pair[1].get<double>());
}

/// The mark of a row's ratio, and of the mean over all rows.
std::string mark_of_ratio(const json& row) {
  return worse_mark(mark_told(row.at("base")), mark_told(row.at("new")));
}
std::string mark_of_mean(const json& rows) {
  std::string mark;
  for (const json& row : rows) mark = worse_mark(mark, mark_of_ratio(row));
  return mark;
}

constexpr const char* ratio_note =
    "new over base: the median of the ratios of each launch of base to each launch of new. It is "
    "not the ratio of the two medians, which slow launches shift more.";

std::string time_cell(const json& side, Legend& legend) {
  const std::string mark = mark_told(side);
  legend.add("base, new: median of the launches; launches: their number in base / new.");
  legend.add(note_of(mark));
  return human_seconds(side.at("median")) + mark;
}

std::string launches_cell(const json& row) {
  const auto count = [&](const char* side) {
    const json& launches = row.at(side).at("launches");
    return launches == 0 ? "-" : launches.dump();  // a published number has none
  };
  return fmt::format("{} / {}", count("base"), count("new"));
}

std::string verdict_cell(const json& row, Legend& legend) {
  if (row["verdict"].is_null()) return "-";
  if (row["stage"] != "confirmed") return plain(row["verdict"]);
  legend.add("(fresh): decided by the fresh launches alone.");
  return plain(row["verdict"]) + " (fresh)";
}

std::string detected_cell(const json& row, Legend& legend) {
  if (row["stage"] != "confirmed") return "-";
  legend.add("detected: whether the fresh launches show any change, tolerated or not.");
  return row["detected"] == true ? "yes" : "no";
}

/// What the sides, their ratio and the verdict are. The rest is spare on a narrow terminal.
std::vector<EntryField> row_fields(double power) {
  return {
      {.title = "base",
       .cell = [](const json& row, Legend& legend) { return time_cell(row["base"], legend); }},
      {.title = "new",
       .cell = [](const json& row, Legend& legend) { return time_cell(row["new"], legend); }},
      {.title = over("new", "base"),
       .cell =
           [](const json& row, Legend& legend) {
             if (row["base"]["launches"] > 1 && row["new"]["launches"] > 1) legend.add(ratio_note);
             return fmt::format("{:.4f}{}", row["speedup"].get<double>(), mark_of_ratio(row));
           }},
      {.title = "95 % interval",
       .spare = 1,
       .cell = [](const json& row, Legend&) { return interval(row["speedup_interval"]); }},
      {.title = "verdict", .right = false, .cell = verdict_cell},
      {.title = "p",
       .spare = 2,
       .cell = [](const json& row, Legend& legend) -> std::string {
         legend.add("p: probability of such a difference without a change.");
         return row["p"].is_null() ? "-" : fmt::format("{:.2g}", row["p"].get<double>());
       }},
      {.title = "detected", .right = false, .spare = 3, .cell = detected_cell},
      {.title = "launches",
       .if_varied = true,
       .cell = [](const json& row, Legend&) { return launches_cell(row); }},
      {.title = "tolerance",
       .if_varied = true,
       .cell = [](const json& row, Legend&) { return percent(row["tolerance"]); }},
      {.title = "detectable",
       .spare = 4,
       .cell =
           [power](const json& row, Legend& legend) {
             legend.add(fmt::format(
                 "detectable: the change that these launches detect with a probability of {:.0f} "
                 "%.",
                 100 * power));
             return percent(row["minimum_detectable"]);
           }},
      {.title = "variation",
       .spare = 5,
       .cell =
           [](const json& row, Legend& legend) {
             legend.add("variation: standard deviation between the launches of base / new.");
             return percent(row["base"]["variation"]) + " / " + percent(row["new"]["variation"]);
           }},
  };
}

/// A column with a text of the entries of a list.
EntryField text_field(const std::string& title, const std::string& key) {
  return {.title = title, .right = false, .cell = [key](const json& entry, Legend&) {
            return plain(entry.at(key));
          }};
}

/// The footnotes of an entry.
std::vector<std::string> reasons_of(const json& entry) {
  std::vector<std::string> reasons;
  if (entry.contains("reason") && !entry["reason"].is_null())
    reasons.push_back(plain(entry["reason"]));
  for (const json& note : entry.value("notes", json::array())) reasons.push_back(plain(note));
  return reasons;
}

class Rendering {
 public:
  Rendering(const json& document, const Side& base, const Side& updated, bool markdown)
      : document_(document), base_(base), updated_(updated), page_(markdown) {}

  std::string text() {
    stamp();
    Table sides{{{""}, {"base"}, {"new"}}};
    const auto both = [&](const std::string& name, const json& base, const json& updated,
                          const char* field) {
      sides.lines.push_back({{name, plain(base.at(field)), plain(updated.at(field))}});
    };
    both("results", document_["base"], document_["new"], "name");
    both("system", document_["base"], document_["new"], "system");
    if (!document_["fresh_base"].is_null())
      both("fresh launches", document_["fresh_base"], document_["fresh_new"], "name");
    table(sides);
    line(fmt::format("Meant to differ: {}. S{}.", plain(document_["vary"]),
                     speedup_header("new", "base").substr(1)));
    for (const json& note : document_["notes"]) line("Note: " + plain(note) + ".");
    mismatches();
    rows();
    const EntryField status = text_field("status", "status");
    list("only_base", "Only in base:", {status});
    list("only_new", "Only in new:", {status});
    list("not_compared",
         "Not compared:", {text_field("base", "base_status"), text_field("new", "new_status")});
    list("lost", "Lost (result only in base):", {});
    ending();
    stamp();
    return page_.text();
  }

 private:
  void line(const std::string& text) {
    page_.line(text);
    page_.gap();
  }

  void table(const Table& table) {
    page_.table(table);
    page_.blank();
  }

  /// At the beginning and at the end, so that every part of a long output shows it.
  void stamp() {
    if (document_["refused"] == true)
      line("REFUSED: fields differ that were not meant to. Nothing was compared.");
    else if (document_["allow_mismatch"] == true)
      line(
          fmt::format("MISMATCH ALLOWED (--allow-mismatch): {} fields differ that were not meant "
                      "to. The differences may have other causes than the one that was meant.",
                      document_["mismatches"].size()));
  }

  void mismatches() {
    if (document_["mismatches"].empty()) return;
    Table fields{{{"differs"}, {"base"}, {"new"}, {"rows", true}}};
    for (const json& mismatch : document_["mismatches"])
      fields.lines.push_back(
          {{plain(mismatch["field"]), plain(mismatch["base"]), plain(mismatch["new"]),
            mismatch["rows"] == 0 ? "all" : plain(mismatch["rows"])}});
    table(fields);
  }

  void rows() {
    if (document_["rows"].empty()) return;
    std::vector<const json*> sorted;
    for (const json& row : document_["rows"]) sorted.push_back(&row);
    const auto rank = [](const json& verdict) {
      static const std::vector<json> order = {"slower", "faster", "inconclusive", "same"};
      return std::find(order.begin(), order.end(), verdict) - order.begin();
    };
    std::stable_sort(sorted.begin(), sorted.end(), [&](const json* a, const json* b) {
      return rank((*a)["verdict"]) < rank((*b)["verdict"]);
    });
    entries(sorted, row_fields(document_["settings"]["power"]));
  }

  void list(const char* name, const std::string& heading, const std::vector<EntryField>& fields) {
    if (document_[name].empty()) return;
    std::vector<const json*> all;
    for (const json& entry : document_[name]) all.push_back(&entry);
    line(heading);
    entries(all, fields);
  }

  void entries(const std::vector<const json*>& all, const std::vector<EntryField>& fields) {
    add_entries(page_, all, base_, updated_, fields, reasons_of);
    page_.blank();
  }

  void ending() {
    const json& settings = document_["settings"];
    const json& summary = document_["summary"];
    if (document_["refused"] == true) return;
    const json& mean = document_["geometric_mean"];
    if (mean.is_null())
      line(fmt::format("Geometric mean: none ({}).", plain(document_["geometric_mean_reason"])));
    else
      line(fmt::format(
          "Geometric mean of new over base: {:.4f}{}, {} ({} of {} rows, by their first launches).",
          mean["speedup"].get<double>(), mark_of_mean(document_["rows"]),
          mean["interval"].is_null() ? "no interval: " + plain(mean["interval_reason"])
                                     : "95 % interval " + interval(mean["interval"]),
          mean["rows"].get<std::size_t>(), mean["of"].get<std::size_t>()));
    line(fmt::format(
        "{} slower, {} faster, {} same, {} inconclusive ({} need fresh launches), {} without "
        "verdict; {} only in base, {} only in new, {} not compared, {} lost.",
        plain(summary["slower"]), plain(summary["faster"]), plain(summary["same"]),
        plain(summary["inconclusive"]), plain(summary["needs_confirmation"]),
        plain(summary["without_verdict"]), document_["only_base"].size(),
        document_["only_new"].size(), document_["not_compared"].size(), document_["lost"].size()));
    if (summary["needs_confirmation"] != 0)
      line(fmt::format(
          "To decide the rows that need fresh launches: assay compare BASE NEW --vary {} --confirm "
          "DIR [--base-build BUILD] [--new-build BUILD].",
          plain(document_["vary"])));
    if (!document_["rows"].empty()) rule(settings);
  }

  /// How the rows were judged.
  void rule(const json& settings) {
    const json& limit = settings["confirmed_p"];
    std::string text = fmt::format(
        "The first launches flag a row at p <= {:.2g}, or if its speedup is outside of the "
        "tolerance; {} are flagged.",
        settings["screen_p"].get<double>(), settings["flagged"].get<std::size_t>());
    if (!limit.is_null())
      text += fmt::format(
          " Fresh launches detect a change at p <= {:.2g}, so the probability of any false alarm "
          "in the suite is at most {:.2g}.",
          limit.get<double>(), settings["false_alarm_rate"].get<double>());
    line(text);
  }

  const json& document_;
  const Side &base_, &updated_;
  Page page_;
};

}  // namespace

std::string render_comparison(const json& document, const Side& base, const Side& updated,
                              bool markdown) {
  return Rendering(document, base, updated, markdown).text();
}

}  // namespace assay
