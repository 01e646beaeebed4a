#include <fmt/format.h>

#include <iostream>

#include "analysis/ensemble/ensemble.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/result/run_result.hpp"

namespace assay {

namespace {

const std::vector<std::string> ensemble_formats = {"terminal", "markdown", "latex", "csv", "json"};

int show_ensemble(const Arguments& arguments) {
  const std::string file = *read_value(arguments, "RESULT");
  const std::string format = read_choice(arguments, "format", ensemble_formats);
  check_outputs(arguments, {"out"}, {file});
  const auto ensemble = read_ensemble(read_result(file), file);
  if (!ensemble) {
    std::cerr << fmt::format(
        "assay ensemble: {} has no ensemble. `assay run SUITE --ensemble N` makes one.\n", file);
    return static_cast<int>(ExitCode::incomparable);
  }
  if (format == "json")
    emit(arguments, nlohmann::json(*ensemble).dump(1) + "\n");
  else if (format == "csv")
    emit(arguments, render_ensemble_csv(*ensemble));
  else
    emit(arguments, render_ensemble_table(*ensemble, format == "markdown", format == "latex"));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command ensemble_command() {
  return {"ensemble",
          "Show the ranking of an ensemble (`assay run --ensemble`), and models an hour.",
          {{"RESULT", "result file, or the folder of the run", "RESULT", "", true},
           format_flag(ensemble_formats),
           out_flag()},
          &show_ensemble,
          {{"assay ensemble results/today", "prints the members, the best first"}},
          "0: the ranking was printed; 2: bad input; 6: the result has no ensemble"};
}

}  // namespace assay
