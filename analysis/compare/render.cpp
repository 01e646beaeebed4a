#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/compare/comparison.hpp"
#include "analysis/ratio.hpp"
#include "analysis/text_table.hpp"
#include "core/base/units.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Text of a file that others wrote, without control characters (C0, DEL, C1).
std::string plain(const json& value) {
  const std::string text = value.is_string()
                               ? value.get<std::string>()
                               : value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 =
        c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) ++i;
    safe += c < 0x20 || c == 0x7F || c1 ? '?' : text[i];
  }
  return safe;
}

std::string percent(const json& part) {
  return part.is_null() ? "-" : fmt::format("{:.2g} %", 100 * part.get<double>());
}

std::string interval(const json& pair) {
  return pair.is_null()
             ? "-"
             : fmt::format("{:.4f} to {:.4f}", pair[0].get<double>(), pair[1].get<double>());
}

/// "!" where a launch of one of the sides was timed while other processes used the processors.
std::string mark_of_sides(std::initializer_list<const json*> sides) {
  return std::any_of(sides.begin(), sides.end(),
                     [](const json* side) { return side->value("shared", false); })
             ? "!"
             : "";
}

/// The mark of a row's ratio, and of the mean over all rows.
std::string mark_of_ratio(const json& row) {
  return mark_of_sides({&row.at("base"), &row.at("new")});
}
std::string mark_of_mean(const json& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const json& row) { return mark_of_ratio(row) != ""; })
             ? "!"
             : "";
}

std::string count_of(const json& side) {
  return fmt::format("{}{} ({}x)", human_seconds(side.at("median")), mark_of_sides({&side}),
                     side.at("launches").get<std::size_t>());
}

class Rendering {
 public:
  Rendering(const json& document, bool markdown) : document_(document), markdown_(markdown) {}

  std::string text() {
    stamp();
    const std::vector<Column> head = {{""}, {"base"}, {"new"}};
    std::vector<Line> lines;
    const auto both = [&](const std::string& name, const json& base, const json& updated,
                          const char* field) {
      lines.push_back({{name, plain(base.at(field)), plain(updated.at(field))}, ""});
    };
    both("results", document_["base"], document_["new"], "name");
    both("system", document_["base"], document_["new"], "system");
    if (!document_["fresh_base"].is_null())
      both("fresh launches", document_["fresh_base"], document_["fresh_new"], "name");
    table(head, lines);
    line(fmt::format("Meant to differ: {}. S{}.", plain(document_["vary"]),
                     speedup_header("new", "base").substr(1)));
    for (const json& note : document_["notes"]) line("Note: " + plain(note) + ".");
    mismatches();
    rows();
    unpaired("only_base", "only in base");
    unpaired("only_new", "only in new");
    not_compared();
    lost();
    ending();
    if (!mark_of_mean(document_["rows"]).empty()) line(shared_note);
    stamp();
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += (markdown_ ? escaped(text) + "\n" : text) + "\n"; }

  static std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : text) {
      if (std::string("|<*_`\\[]#").find(c) != std::string::npos) safe += '\\';
      safe += c;
    }
    return safe;
  }

  void table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
    text_ += (markdown_ ? markdown_table(columns, lines) : terminal_table(columns, lines)) + "\n";
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
    std::vector<Line> lines;
    for (const json& mismatch : document_["mismatches"])
      lines.push_back({{plain(mismatch["field"]), plain(mismatch["base"]), plain(mismatch["new"]),
                        mismatch["rows"] == 0 ? "all" : plain(mismatch["rows"])},
                       ""});
    table({{"differs"}, {"base"}, {"new"}, {"rows", true}}, lines);
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
    std::vector<Line> lines;
    for (const json* sorted_row : sorted) {
      const json& row = *sorted_row;
      std::vector<std::string> reasons;
      for (const json& note : row["notes"]) reasons.push_back(plain(note));
      if (!row["reason"].is_null()) reasons.insert(reasons.begin(), plain(row["reason"]));
      const std::string verdict = row["verdict"].is_null() ? "-" : plain(row["verdict"]);
      const bool fresh = row["stage"] == "confirmed";
      lines.push_back(
          {{plain(row["id"]), count_of(row["base"]), count_of(row["new"]),
            fmt::format("{:.4f}{}", row["speedup"].get<double>(), mark_of_ratio(row)),
            interval(row["speedup_interval"]), verdict + (fresh ? " (fresh)" : ""),
            row["p"].is_null() ? "-" : fmt::format("{:.2g}", row["p"].get<double>()),
            row["detected"] == true ? "yes"
            : fresh                 ? "no"
                                    : "-",
            percent(row["tolerance"]), percent(row["minimum_detectable"]),
            percent(row["base"]["variation"]) + " / " + percent(row["new"]["variation"]),
            fmt::format("{}", fmt::join(reasons, "; "))},
           ""});
    }
    table({{"row"},
           {"base", true},
           {"new", true},
           {over("new", "base"), true},
           {"95 % interval", true},
           {"verdict"},
           {"p", true},
           {"detected"},
           {"tolerance", true},
           {"detectable", true},
           {"variation", true},
           {"because"}},
          lines);
  }

  void unpaired(const char* list, const std::string& title) {
    if (document_[list].empty()) return;
    std::vector<Line> lines;
    for (const json& row : document_[list])
      lines.push_back({{plain(row["id"]), plain(row["status"])}, ""});
    table({{title}, {"status"}}, lines);
  }

  void not_compared() {
    if (document_["not_compared"].empty()) return;
    std::vector<Line> lines;
    for (const json& row : document_["not_compared"])
      lines.push_back({{plain(row["id"]), plain(row["base_status"]), plain(row["new_status"]),
                        plain(row["reason"])},
                       ""});
    table({{"not compared"}, {"base"}, {"new"}, {"because"}}, lines);
  }

  void lost() {
    if (document_["lost"].empty()) return;
    std::vector<Line> lines;
    for (const json& row : document_["lost"])
      lines.push_back({{plain(row["id"]), plain(row["reason"])}, ""});
    table({{"lost (result only in base)"}, {"because"}}, lines);
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
    if (!document_["rows"].empty()) legend(settings);
  }

  /// What the columns of the rows mean.
  void legend(const json& settings) {
    const json& limit = settings["confirmed_p"];
    std::string text = fmt::format(
        "(5x): median of 5 launches. p: probability of such a difference without a change. The "
        "first launches flag a row at p <= {:.2g}, or if its speedup is outside of the tolerance; "
        "{} are flagged.",
        settings["screen_p"].get<double>(), settings["flagged"].get<std::size_t>());
    if (!limit.is_null())
      text += fmt::format(
          " Fresh launches detect a change at p <= {:.2g}, so the probability of any false alarm "
          "in the suite is at most {:.2g}.",
          limit.get<double>(), settings["false_alarm_rate"].get<double>());
    line(text);
    line(fmt::format(
        "detectable: the change that these launches detect with a probability of {:.0f} %. "
        "variation: standard deviation between the launches of base / new.",
        100 * settings["power"].get<double>()));
  }

  const json& document_;
  bool markdown_;
  std::string text_;
};

}  // namespace

std::string render_comparison(const json& document, bool markdown) {
  return Rendering(document, markdown).text();
}

}  // namespace assay
