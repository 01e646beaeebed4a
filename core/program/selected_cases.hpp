#pragma once
// The cases that a process of a benchmark measures.

#include <vector>

#include "core/program/options.hpp"

namespace assay {

/// The cases that the command line or the suite asks for. The suite's timing is put into `request`
/// where the command line gives none. InputError if the suite has no case of this benchmark, is not
/// the one of --suite-hash, or has other cases than those of --cases-hash.
std::vector<Case> select_cases(const Benchmark& benchmark, RunRequest& request, Plugins& plugins,
                               const RankCount& started);

/// Only the planned cases with --plan, in the plan's order; else all.
std::vector<Case> plan_cases(const RunRequest& request, std::vector<Case> cases);

/// The cases that --benchmark_filter selects, as in Google Benchmark: those whose id or a name
/// contains a match of the regular expression; with a '-' before it, all others. Without a filter,
/// all cases. InputError if it selects none.
std::vector<Case> filter_cases(const RunRequest& request, std::vector<Case> cases);

/// The cases of `all` that a process of `cases` could run as well (Traits::one_per_process).
std::vector<Case> of_such_a_process(const std::vector<Case>& all, const std::vector<Case>& cases);

/// InputError if ranks have different cases: started with different arguments, they would call a
/// collective with different sizes. Collective.
void expect_same_cases(Communicator& ranks, const std::vector<Case>& cases,
                       const RunRequest& request);

/// Prints the ids and names of cases (--list), or their case_list() (--json).
void print_cases(const Benchmark& benchmark, const std::vector<Case>& cases,
                 const RunRequest& request);

}  // namespace assay
