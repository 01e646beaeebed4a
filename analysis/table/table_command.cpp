#include <iostream>

#include "analysis/commands.hpp"
#include "analysis/load.hpp"
#include "analysis/table/table.hpp"
#include "core/error.hpp"

namespace assay {

namespace {

int table(const Given& given) {
  TableOptions options;
  options.markdown = choice_of(given, "format", {"terminal", "markdown"}) == "markdown";
  options.by = value_of(given, "by").value_or("");
  if (!options.by.empty() && given.contains("baseline"))
    throw InputError(
        "--by and --baseline exclude each other (--by sets this run's own rows side by side). Use "
        "one of them.");
  const std::vector<NamedResult> results = load_results(values_of(given, "FILE"));
  std::vector<Baseline> baselines;
  for (const std::string& name : values_of(given, "baseline"))
    baselines.push_back(Baseline::load(name));
  std::cout << render_table(results, baselines, options);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command table_command() {
  return {"table",
          "Show result files as a table, beside other systems' numbers.",
          {{"FILE", "result file, or the folder of a run", "FILE", "", true, true},
           {"--baseline", "systems to show beside (names or result files)", "NAME,...",
            "the rows' own", false, true},
           {"--format", "terminal or markdown", "FORMAT", "terminal"},
           {"--by", "a parameter whose values become columns: backend, precision, ...", "PARAMETER",
            ""}},
          &table};
}

}  // namespace assay
