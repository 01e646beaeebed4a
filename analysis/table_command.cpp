#include <iostream>

#include "analysis/commands.hpp"
#include "analysis/table.hpp"
#include "core/error.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace assay {

namespace {

int table(const Given& given) {
  TableOptions options;
  const std::vector<std::string> formats{"terminal", "markdown"};
  const std::string format = value_of(given, "format").value_or("terminal");
  if (format != "terminal" && format != "markdown")
    throw InputError(unknown_name("--format", format, formats));
  options.markdown = format == "markdown";
  options.by = value_of(given, "by").value_or("");
  if (!options.by.empty() && given.contains("baseline"))
    throw InputError(
        "--by and --baseline exclude each other (--by sets this run's own rows side by side). Use "
        "one of them.");
  const auto files = values_of(given, "FILE");
  std::vector<NamedResult> results;
  for (const std::string& file : files)
    results.push_back({files.size() > 1 ? file : "", read_result(file)});
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
