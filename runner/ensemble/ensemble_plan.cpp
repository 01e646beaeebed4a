#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"
#include "core/program/given.hpp"
#include "core/program/suite.hpp"
#include "runner/ensemble/ensemble_run.hpp"
#include "runner/launch/programs.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

void refuse_beside_ensemble(const Arguments& arguments) {
  if (!arguments.contains("ensemble")) {
    for (const char* flag : {"search", "factor"})
      if (arguments.contains(flag))
        throw InputError(
            fmt::format("--{} needs --ensemble (the number of members). Give both.", flag));
    return;
  }
  refuse_flags(
      arguments,
      {"per-node", "pairs", "local-results", "against", "guard", "filter", "cases", "launches",
       "ranks", "ranks-per-node", "threads-per-rank", "bind", "hosts", "baseline"},
      "--ensemble", "its members have one process each, and are trained once");
  if (read_values(arguments, "nodes").size() > 1)
    throw InputError("--nodes with several numbers cannot be used with --ensemble. Give one.");
  if (arguments.contains("nodes") && !arguments.contains("launcher"))
    throw InputError("--nodes needs --launcher, which starts members on them. Give both.");
  if (read_value(arguments, "search").value_or("random") != "halving" &&
      arguments.contains("factor"))
    throw InputError("--factor is of --search halving. Leave it out.");
}

EnsemblePlan ensemble_plan(const Arguments& arguments) {
  constexpr std::uint64_t most_members = 100'000;
  EnsemblePlan plan;
  Ensemble& ensemble = plan.ensemble;
  const auto members =
      static_cast<int>(read_whole_number(arguments, "ensemble", 1, most_members).value_or(1));
  ensemble.search = read_choice(arguments, "search", {"random", "halving"});
  ensemble.factor = static_cast<int>(read_whole_number(arguments, "factor", 2, 3).value_or(2));
  plan.seed = read_whole_number(arguments, "seed", 0, UINT64_MAX).value_or(1);
  const std::filesystem::path file =
      std::filesystem::absolute(find_suite(*read_value(arguments, "SUITE"))).lexically_normal();
  plan.suite_file = file.string();
  plan.suite = read_suite(file);
  check_suite_names(plan.suite, file, executable_folder());
  plan.group = search_group(plan.suite, plan.suite_file);
  plan.given_draws = draw_members(plan.group.space, members, plan.seed);
  prepare_parent();
  const std::filesystem::path executable =
      find_executable(plan.group.benchmark, executable_folder());
  check_space(file, executable);
  plan.budgets = rung_budgets(ensemble.search, ensemble.factor, members, plan.group.epochs);
  const CanonicalMembers canonical =
      canonical_members(plan.suite, plan.group, plan.given_draws, executable, plan.budgets);
  ensemble.draws = canonical.draws;
  ensemble.target = canonical.target;
  ensemble.space = plan.group.space;
  ensemble.threads = plan.group.threads;
  ensemble.rungs = {{plan.budgets.front(), {}}};
  for (int member = 0; member < members; ++member) ensemble.rungs.front().members.push_back(member);
  return plan;
}

}  // namespace assay
