#include "core/program/program_files.hpp"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/program/suite.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "core/result/whole_file.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// All values of dimensions, some of which name data, libraries and checkpoints.
std::vector<std::string> given_values(const RunRequest& request) {
  std::vector<std::string> all;
  for (const auto& [name, values] : request.chosen)
    all.insert(all.end(), values.begin(), values.end());
  if (!request.suite.empty())
    for (std::string& text : texts_in(read_suite(find_suite(request.suite)).at("cases")))
      all.push_back(std::move(text));
  return all;
}

}  // namespace

void check_out(const RunRequest& request) {
  std::vector<std::string> inputs = request.baselines;
  if (!request.suite.empty()) inputs.push_back(find_suite(request.suite).string());
  if (!request.plan.empty()) inputs.push_back(request.plan);
  if (!request.journal.empty()) inputs.push_back(request.journal);
  const std::vector<std::string> values = given_values(request);
  check_output_beside_data("--out", request.out, values);
  if (const auto journal = own_journal(request))
    check_output_beside_data("--out", *journal, values);
  check_output("--out", request.out, inputs);
}

std::optional<fs::path> own_journal(const RunRequest& request) {
  if (request.out.empty() || !request.journal.empty() || is_special(request.out))
    return std::nullopt;
  return request.out.string() + ".journal.jsonl";
}

std::string recovery_note(const std::string& program, const fs::path& journal) {
  return fmt::format(
      "{0}: ended by a signal. Finished rows are kept in {1}. Make a result of them with `assay "
      "recover {1}`.\n",
      program, journal.string());
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
