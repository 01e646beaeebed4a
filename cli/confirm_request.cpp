#include "cli/confirm_request.hpp"

#include <fmt/format.h>

#include "analysis/compare/verdict.hpp"
#include "core/base/error.hpp"
#include "runner/launch/programs.hpp"
#include "runner/run/run.hpp"

namespace assay {

namespace fs = std::filesystem;

ConfirmRequest confirm_request(const RunPlan& plan, const fs::path& folder,
                               const std::string& run) {
  ConfirmRequest request;
  request.new_build = plan.programs;
  request.folder = folder;
  request.run = run;
  request.hash_of = [](const fs::path& programs) {
    return benchmark_names(programs).empty() ? std::string() : read_installation(programs).hash;
  };
  request.launch = [plan](const fs::path& promoted, const std::vector<std::string>& ids,
                          const fs::path& into) {
    RunPlan before = plan;
    before.programs = promoted;
    return run_again({{"promoted", before, ids}, {"new", plan, ids}}, fresh_launches, into,
                     "assay history --confirm");
  };
  return request;
}

ConfirmRequest confirm_request(const NamedResult& result,
                               const std::optional<std::string>& launcher) {
  Chosen chosen;
  chosen.advice = "use the assay of that build";
  chosen.launcher = launcher;
  const RunPlan plan = plan_of_result(result.result, chosen);
  const fs::path file = result.name;
  if (file.filename() != "result.json")
    throw InputError(fmt::format(
        "{} is not in the folder of its run (the confirming launches are written next to its "
        "result.json). Keep the folders of runs as `assay run` writes them.",
        result.name));
  return confirm_request(plan, confirm_folder(file), result.run().id);
}

}  // namespace assay
