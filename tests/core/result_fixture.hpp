#pragma once
// A valid outcome, row and result file for tests to spoil, a folder for them, and what is said
// about them.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "core/result/baseline.hpp"
#include "core/result/impossible.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay::fixture {

inline Case one_case(const std::string& precision = "fp32",
                     const std::string& algorithm = "direct") {
  Case benchmark_case;
  const std::string problem = "mb16ic64ih112oc128oh112kh3ph1";
  benchmark_case.settings = {{"direction", "forward"}, {"precision", precision},
                             {"backend", "onednn"},    {"algorithm", algorithm},
                             {"problem", problem},     {"cache", "hot"},
                             {"threads", "2"}};
  benchmark_case.id =
      "conv/forward/" + precision + "/onednn/" + algorithm + "/" + problem + "/hot/t2";
  benchmark_case.id_form =
      "conv/{direction}/{precision}/{backend}/{algorithm}/{problem}/{cache}/t{threads}";
  benchmark_case.names = {"coral2/winograd"};
  return benchmark_case;
}

inline Outcome good_outcome() {
  Outcome outcome;
  Verification checked;
  checked.passed = true;
  checked.reference = "fp64, 4096 of 25690112 outputs, exact checksum";
  checked.max_error = 1e-7;
  checked.norm_error = 2e-8;
  checked.bound = 1e-5;
  checked.error_over_bound = 0.01;
  checked.norm_bound = 1e-6;
  checked.checked = 4096;
  checked.outputs = 25690112;
  outcome.verification = checked;
  Execution execution;
  execution.algorithm = "direct";
  execution.implementation = "jit:avx2";
  execution.storage = execution.compute = execution.accumulate = "fp32";
  execution.evidence = "library";
  execution.numbers = {{"tile", 4}};
  outcome.execution = execution;
  Timing timing;
  for (int i = 0; i < 12; ++i) timing.samples.push_back(0.160 + 0.001 * (i % 3));
  timing.warmup_runs = 3;
  timing.warmup_s = 0.5;
  timing.stopped_by = "precision";
  outcome.timing = timing;
  outcome.work = {{"flops_per_s", 29595009024.0}};
  outcome.setup = {{"create", 0.01}};
  return outcome;
}

inline nlohmann::json row(const Outcome& outcome, int launch = 0, int attempt = 0,
                          const Case& benchmark_case = one_case()) {
  return make_row("conv", benchmark_case, nullptr, outcome, 0, launch, attempt, 1, 1);
}

inline nlohmann::json result(std::vector<nlohmann::json> rows) {
  nlohmann::json document =
      make_result(make_header("run-1", "smoke", "assay run smoke", 1, format_utc_now()));
  document["environments"].push_back(capture_environment());
  for (nlohmann::json& object : rows) document["rows"].push_back(std::move(object));
  return document;
}

/// The message when `body` refuses its input.
inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

#define EXPECT_SAYS(message, part) \
  EXPECT_NE(std::string(message).find(part), std::string::npos) << message

/// Runs `body` in a child process, where limits and identity may be changed; its exit status.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int result = 99;
    try {
      result = body();
    } catch (...) {
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The row in a file, checked against the schema as any reader would.
inline void expect_valid(const nlohmann::json& row) {
  const std::vector<std::string> errors = find_schema_errors(result({row}), "result", "x.json");
  EXPECT_TRUE(errors.empty()) << errors.front() << "\n" << row.dump(1);
}

/// A folder of its own for each test, removed at its end.
class Folder {
 public:
  Folder();
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "assay_test_XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

/// The match of a row as it stands in a file; null if there is none.
inline nlohmann::json match(const Baseline& baseline, const Row& row, std::string* why = nullptr,
                            Preference preference = Preference::same_way) {
  const auto match = baseline.match(row, why, preference);
  return match ? nlohmann::json(*match) : nlohmann::json();
}

/// take_back() of a row as it stands in a file.
inline void take_back(nlohmann::json& document, const std::string& reason) {
  Row row = document;
  assay::take_back(row, reason);
  document = row;
}

}  // namespace assay::fixture
