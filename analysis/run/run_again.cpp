#include "analysis/run/run_again.hpp"

#include <fmt/format.h>

#include "analysis/run/run.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Fresh launches of another machine would answer another question.
void check_here(const json& result) {
  static const json here = capture_environment();
  for (const json& environment : result.at("environments"))
    if (environment.at("hashes").at("hardware") != here.at("hashes").at("hardware"))
      throw InputError(fmt::format(
          "the run {} cannot be repeated here (it ran on other hardware, host {}). Run the flagged "
          "cases there: `assay compare --flagged FILE`, then `assay run SUITE --cases FILE`.",
          result.at("run").at("id").dump(), environment.at("host").get<std::string>()));
}

}  // namespace

std::vector<json> run_again(const std::vector<Again>& sides, int launches,
                            const std::filesystem::path& folder) {
  std::vector<RunPlan> plans;
  for (const Again& side : sides) {
    check_here(side.result);
    RunPlan plan = plan_of_result(side.result, side.chosen);
    plan.campaign.folder = std::filesystem::absolute(folder / side.name);
    plan.campaign.launches = launches;
    plan.campaign.label = side.name + " ";
    plan.ids = side.ids;
    plan.filter.clear();  // the ids say it all
    plan.command = "assay compare --confirm";
    plan.resume = true;     // an interrupted confirmation goes on when it is asked for again
    plan.ceilings = false;  // a verdict is about times
    plans.push_back(std::move(plan));
  }
  return run_side_by_side(std::move(plans));
}

}  // namespace assay
