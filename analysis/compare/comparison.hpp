#pragma once
// A comparison as a document (results-schema/comparison.schema.json), and as text.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/side.hpp"
#include "core/base/error.hpp"

namespace assay {

inline constexpr double usual_tolerance = 0.02;

struct CompareOptions {
  std::string command;
  std::string vary;                 ///< software | hardware | precision | nothing
  std::optional<double> tolerance;  ///< stands before the suite's
  double false_alarm_rate = 0.01;
  bool allow_mismatch = false;
};

/// `fresh_base` and `fresh_new` are the launches that confirm, both or none. InputError where they
/// are the screen's own.
nlohmann::json comparison_document(const Side& base, const Side& updated, const Side* fresh_base,
                                   const Side* fresh_new, const CompareOptions& options);

/// Ids of a side's rows that were flagged and have no fresh launches. (The two sides' differ where
/// the precision varies.)
std::vector<std::string> flagged_ids(const nlohmann::json& document, const Side& side);

std::string render_comparison(const nlohmann::json& document, bool markdown);

/// Geometric mean of the speedups, {speedup, interval, interval_reason, rows, of}, of rows that are
/// all measured. The interval is by launch: the geometric mean over the rows within each launch is
/// one number a launch, and these are compared as the launches of a row are, exactly; samples and
/// rows are not resampled, since what disturbs a launch disturbs its rows together.
nlohmann::json geometric_mean(const std::vector<std::pair<const SideRow*, const SideRow*>>& pairs,
                              const std::vector<double>& ratios, std::size_t of);

}  // namespace assay
