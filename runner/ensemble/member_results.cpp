
#include "runner/ensemble/ensemble_run.hpp"
#include "runner/run/result_file.hpp"

namespace assay {

void MemberResults::add(int member, RunResult result) {
  const auto first = static_cast<int>(all_.environments.size());
  for (Row& row : result.rows) {
    row.launch = member;  // equal members are launches of one case
    row.environment += first;
    all_.rows.push_back(std::move(row));
  }
  for (ResultEnvironment& environment : result.environments)
    all_.environments.push_back(std::move(environment));
  all_.system = result.system;
  all_.run.statistics = result.run.statistics;
}

RunResult MemberResults::write(RunHeader header, const Ensemble& ensemble,
                               const std::string& system, const std::filesystem::path& file) {
  header.statistics = all_.run.statistics;
  header.rest[ensemble_field] = ensemble;
  all_.run = std::move(header);
  if (!system.empty()) all_.system = system;
  if (all_.system.empty()) all_.system = "unknown";  // no member has left a result
  read_ensemble(all_, file.string());
  write_checked(all_, file);
  return std::move(all_);
}

}  // namespace assay
