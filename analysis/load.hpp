#pragma once
// Reads the result files that a command names, and refuses those that do not go together.

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "core/result/row_reader.hpp"

namespace assay {

/// Reads and checks the results that `names` stand for: a result file, the folder of a run (its
/// result.json), a shipped baseline, or a folder with runs and result files anywhere below it
/// (other JSON files, hidden folders, and runs that have not ended are ignored). Files are in the
/// given order, within a folder by path. A result gets the name that was given, "" if it is the
/// only result. A gathered file (assay gather) is read as the results that were combined in it.
/// InputError for files that cannot be read, for a folder without results or of a run that has not
/// ended, and for a file that is given twice. Files are read in parallel, and rows come without
/// their samples.
Results load_results(const std::vector<std::string>& names);

/// The same, but `keep` decides which parts of each row stay in memory. Most of the memory of
/// results is in parts that a command does not read.
Results load_results(const std::vector<std::string>& names, const KeepRow& keep);

/// Keeps of a row's times only the median and the fields for its marks (marks.hpp).
void keep_median_and_marks(Row& row);
/// Moves these parts of a row: case, status, software that ran, median time and its marks.
Row take_case_and_time(Row& row);

/// The paths of these files, unread. InputError for a folder without results, and for a file that
/// is given twice.
std::vector<std::filesystem::path> list_result_files(const std::vector<std::string>& names);

/// Advances `entry`. Unlike operator++, it throws a filesystem_error that names the folder that
/// cannot be read.
void next_entry(std::filesystem::recursive_directory_iterator& entry);

/// InputError if results with measured times have different versions of the statistics
/// (RunHeader::statistics): other estimators give other numbers for the same samples. Published
/// numbers have none.
void expect_one_statistics(const Results& results);

}  // namespace assay
