#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/commands.hpp"
#include "core/error.hpp"
#include "core/result.hpp"
#include "core/schema.hpp"
#include "core/suite.hpp"
#include "core/text.hpp"

namespace assay {

namespace {

/// What the file is, and how much of it: "assay-result/1, 12 rows". InputError for anything wrong.
std::string validated(std::filesystem::path file) {
  if (std::filesystem::is_directory(file) && std::filesystem::exists(file / "result.json"))
    file /= "result.json";
  const nlohmann::json document = read_json(file);
  const nlohmann::json schema =
      document.is_object() ? document.value("schema", nlohmann::json()) : nlohmann::json();
  if (!schema.is_string())
    throw InputError(fmt::format(
        "{} at /schema: found {}, expected the name of a schema, like \"assay-result/1\".",
        file.string(), schema.is_null() ? "nothing" : schema.dump()));
  const std::string name = schema.get<std::string>();
  const std::string kind = name.substr(0, name.find('/'));
  if (kind == "assay-result")
    return fmt::format("{}, {} rows", name, read_result(file).at("rows").size());
  if (kind == "assay-suite")
    return fmt::format("{}, {} groups of cases", name, read_suite(file).at("cases").size());
  if (kind == "assay-problems")
    return fmt::format("{}, {} problems", name,
                       read_checked(file, "problems").at("problems").size());
  const std::vector<std::string> known{"assay-result", "assay-suite", "assay-problems"};
  throw InputError(
      fmt::format("{} at /schema: {}", file.string(), unknown_name("schema", kind, known)));
}

int validate(const Given& given) {
  bool good = true;
  for (const std::string& file : values_of(given, "FILE")) {
    try {
      std::cout << fmt::format("{}: ok ({})\n", file, validated(file)) << std::flush;
    } catch (const InputError& error) {
      good = false;
      std::cerr << "assay: " << error.what() << std::endl;
    }
  }
  return static_cast<int>(good ? ExitCode::ok : ExitCode::usage);
}

}  // namespace

Command validate_command() {
  return {"validate",
          "Check result files, suites and lists of problems against their schemas.",
          {{"FILE", "file, or the folder of a run", "FILE", "", true, true}},
          &validate};
}

}  // namespace assay
