#pragma once
// Decides whether two sides may be compared: they must be different runs, and differ only in what
// is allowed to differ.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/compare/side.hpp"

namespace assay {

/// Returns notes about launches that were not interleaved. InputError if two sides are the same
/// run, or if the fresh launches are not fresh, because they are those of the screen or began
/// before it ended. `fresh_base` and `fresh_new`: both null, or both given.
std::vector<std::string> check_runs(const Side& base, const Side& updated, const Side* fresh_base,
                                    const Side* fresh_new, const Variation& vary);

/// A field that differs although it should not.
struct Mismatch {
  std::string field;
  nlohmann::json base{}, updated{};  ///< the values, or "absent"
  std::size_t rows = 0;              ///< number of rows with this difference; 0: all
};

/// Compares the settings of the runs, and the environments of each row that both sides measured.
/// `prefix` is put before the names of the fields.
std::vector<Mismatch> find_mismatches(const Side& base, const Side& updated, const Variation& vary,
                                      const std::string& prefix);

/// Describes the software that only one side of a pair of rows has, if that is allowed to differ: a
/// note, or "".
std::string note_lone_software(const Side& base, const Side& updated);

/// The fields of the software in which the rows of two builds differ, a line for each of the first
/// ones. One line if there is none; "" if no row was measured by both. `base`: the other build.
std::string describe_software(const RunResult& base, const RunResult& updated);

}  // namespace assay
