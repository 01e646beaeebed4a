#include "runner/run/run_again.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "runner/run/run.hpp"

namespace assay {

using nlohmann::json;

RunPlan plan_of_compared(const json& result, const Chosen& chosen) {
  static const json here = capture_environment();
  for (const json& environment : result.at("environments"))
    if (environment.at("hashes").at("hardware") != here.at("hashes").at("hardware"))
      throw InputError(fmt::format(
          "the run {} cannot be repeated here (it ran on other hardware, host {}). Run the flagged "
          "cases there: `assay compare --flagged FILE`, then `assay run SUITE --cases FILE`.",
          result.at("run").at("id").dump(), environment.at("host").get<std::string>()));
  return plan_of_result(result, chosen);
}

std::vector<json> run_again(std::vector<Again> sides, int launches,
                            const std::filesystem::path& folder, const std::string& command) {
  std::vector<RunPlan> plans;
  for (Again& side : sides) {
    RunPlan plan = std::move(side.plan);
    plan.campaign.folder = std::filesystem::absolute(folder / side.name).lexically_normal();
    plan.campaign.launches = launches;
    plan.campaign.label = side.name + " ";
    plan.ids = std::move(side.ids);
    plan.filter.clear();  // the ids say it all
    plan.baselines.clear();
    // Never taken from an earlier call with this folder.
    plan.given = {"cases", "launches", "filter", "baseline", "no-ceilings"};
    plan.command = command;
    plan.resume = true;
    plan.ceilings = false;  // a verdict is about times
    plans.push_back(std::move(plan));
  }
  return run_side_by_side(std::move(plans));
}

}  // namespace assay
