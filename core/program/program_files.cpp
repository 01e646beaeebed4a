#include "core/program/program_files.hpp"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/program/suite.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;

void check_out(const RunRequest& request) {
  std::vector<std::string> inputs = request.baselines;
  if (!request.suite.empty()) inputs.push_back(find_suite(request.suite).string());
  if (!request.plan.empty()) inputs.push_back(request.plan);
  if (!request.journal.empty()) inputs.push_back(request.journal);
  check_output("--out", request.out, inputs);
}

std::optional<fs::path> own_journal(const RunRequest& request) {
  std::error_code missing;
  const bool special =
      fs::exists(request.out, missing) && !fs::is_regular_file(request.out, missing);
  if (request.out.empty() || !request.journal.empty() || special) return std::nullopt;
  return request.out.string() + ".journal.jsonl";
}

std::string recovery_note(const std::string& program, const fs::path& journal) {
  return fmt::format(
      "{0}: ended by a signal. Finished rows are kept in {1}. Make a result of them with `assay "
      "recover {1}`.\n",
      program, journal.string());
}

void expect_no_earlier_rows(const fs::path& journal) {
  std::error_code missing;
  const auto size = fs::file_size(journal, missing);
  if (missing || size == 0) return;
  throw InputError(
      fmt::format("{0} holds the finished rows of a process that was ended, or is still running. "
                  "Make a result of them with `assay recover {0}`, or remove it.",
                  journal.string()));
}

void write_result(nlohmann::json result, const RunRequest& request) {
  result["run"]["finished"] = utc_now();
  try {
    write_json(request.out, result);
  } catch (const InputError& error) {
    // The disk has filled up, or the folder has gone, since check_out: what was measured is not
    // thrown away.
    std::cout << result.dump(1) << std::endl;
    throw CaseError(std::string(error.what()) + " The result is on stdout instead.");
  }
  if (request.talk != Talk::quiet) std::cerr << "wrote " << request.out.string() << '\n';
}

}  // namespace assay
