#pragma once
// The document of `assay compare` (results-schema/comparison.schema.json), made and rendered.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/side.hpp"
#include "core/base/error.hpp"

namespace assay {

/// The tolerance where neither the command line nor the suite sets one (a fraction of the time).
inline constexpr double usual_tolerance = 0.02;

struct CompareOptions {
  std::string command;
  std::string vary;                 ///< software | hardware | precision | backend | nothing
  std::optional<double> tolerance;  ///< overrides that of the suite
  double false_alarm_rate = 0.01;
  bool allow_mismatch = false;
};

/// `fresh_base` and `fresh_new` are the launches that confirm flagged rows: both null, or both
/// given. InputError where they are not fresh (freshness.hpp).
nlohmann::json comparison_document(const Side& base, const Side& updated, const Side* fresh_base,
                                   const Side* fresh_new, const CompareOptions& options);

/// Ids of the flagged rows of a side that have no fresh launches. (The ids of the two sides differ
/// where a parameter varies.)
std::vector<std::string> flagged_ids(const nlohmann::json& document, const Side& side);

/// `base` and `updated`: the sides of the document, whose rows have the parameters of its rows.
std::string render_comparison(const nlohmann::json& document, const Side& base, const Side& updated,
                              bool markdown);

/// Geometric mean of the speedups of measured rows: {speedup, interval, interval_reason, rows, of}.
/// `of`: the number of rows of base. The interval is by launch: each launch gives a geometric mean
/// over its rows, and these means are compared as the launches of a row are. Samples and rows are
/// not resampled, because a disturbance of a launch affects all of its rows.
nlohmann::json geometric_mean(const std::vector<std::pair<const SideRow*, const SideRow*>>& pairs,
                              const std::vector<double>& ratios, std::size_t of);

}  // namespace assay
