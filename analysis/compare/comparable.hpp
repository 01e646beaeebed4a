#pragma once
// Decides if two sides may be compared: they are different runs, and differ only as they were meant
// to.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/compare/side.hpp"

namespace assay {

/// Returns notes about launches that were not interleaved. InputError if two sides are the same
/// run, or if the fresh launches are not fresh: they are those of the screen, or they began before
/// it ended. `fresh_base` and `fresh_new`: both null, or both given.
std::vector<std::string> check_runs(const Side& base, const Side& updated, const Side* fresh_base,
                                    const Side* fresh_new, const Variation& vary);

/// A field that differs and was not meant to.
struct Mismatch {
  std::string field;
  nlohmann::json base{}, updated{};  ///< the values, or "absent"
  std::size_t rows = 0;              ///< number of rows with this difference; 0: all
};

/// Compares the settings of the runs, and the environments of each row that both sides measured.
/// `prefix` is put before the names of the fields.
std::vector<Mismatch> find_mismatches(const Side& base, const Side& updated, const Variation& vary,
                                      const std::string& prefix);

/// Describes the software that one side of a pair of rows alone has, where that is meant to differ:
/// a note, or "".
std::string note_lone_software(const Side& base, const Side& updated);

/// The fields of the software by which the rows of two builds differ, a line for each of the first
/// ones; one line if there is none, "" without a row that both have measured. `base`: the other
/// build.
std::string describe_software(const RunResult& base, const RunResult& updated);

}  // namespace assay
