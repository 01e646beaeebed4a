#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "analysis/load.hpp"
#include "analysis/model/document.hpp"
#include "analysis/model/frame.hpp"
#include "analysis/repeat_command.hpp"
#include "analysis/scaling/document.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/message.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/baseline.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace {

/// Replaces names of shipped baselines by their files, unless a file or folder has that name.
std::vector<std::string> with_baselines(std::vector<std::string> names) {
  const std::vector<std::string> shipped = list_baseline_names();
  for (std::string& name : names) {
    std::error_code none;
    if (std::filesystem::exists(name, none)) continue;
    if (std::find(shipped.begin(), shipped.end(), name) != shipped.end())
      name = (data_folder("results-schema") / "baselines" / (name + ".json")).string();
    else if (name.find_first_of("/.") == std::string::npos)
      throw InputError(explain_unknown_name("result or baseline", name, shipped));
  }
  return names;
}

/// "column=value" as its two parts.
std::pair<std::string, std::string> assignment(const std::string& flag, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == 0 || at == std::string::npos || at + 1 == text.size())
    throw InputError(
        fmt::format("{} '{}' is not COLUMN=VALUE. Write it like architecture=Power9.", flag, text));
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string model_command_line(const Arguments& arguments) {
  std::string text = "assay model";
  for (const std::string& file : read_values(arguments, "FILE")) text += " " + shell_word(file);
  for (const char* flag : {"formula", "reference", "cluster", "predict"})
    if (arguments.contains(flag))
      text += fmt::format(" --{} {}", flag, shell_word(join(read_values(arguments, flag), ",")));
  return text;
}

/// Writes the document in the requested format.
template <class Document, class Csv, class Render>
int write_document(const Arguments& arguments, const std::string& format, const Document& document,
                   const std::string& kind, const Csv& csv, const Render& render) {
  const nlohmann::json object = document;
  check_own(object, kind);
  emit(arguments, format == "json"  ? object.dump(1) + "\n"
                  : format == "csv" ? csv(document)
                                    : render(document, format == "markdown"));
  return static_cast<int>(ExitCode::ok);
}

/// `assay model --scale`: a prediction, from an input that names its own result files.
int predict_scale(const Arguments& arguments, const std::string& format, const std::string& name) {
  refuse_flags(arguments, {"formula", "reference", "cluster", "predict"}, "--scale",
               "they belong to the model of results");
  if (!read_values(arguments, "FILE").empty())
    throw InputError(
        "results cannot be given with --scale (its input names the measured files). Leave them "
        "out.");
  const scaling::ScalingInput input = scaling::read_scale_input(scaling::find_scale_input(name));
  if (const auto out = read_value(arguments, "out")) check_output("--out", *out, input.files);
  return write_document(arguments, format,
                        scaling::predict_scaling(input, "assay model --scale " + shell_word(name)),
                        "scaling", scaling::render_scaling_csv, scaling::render_scaling);
}

int model(const Arguments& arguments) {
  const std::string format =
      read_choice(arguments, "format", {"terminal", "markdown", "json", "csv"});
  if (const auto name = read_value(arguments, "scale"))
    return predict_scale(arguments, format, *name);
  for (const char* needed : {"FILE", "--formula"})
    if (read_values(arguments, std::string(needed).substr(*needed == '-' ? 2 : 0)).empty())
      throw InputError(fmt::format(
          "{} is missing (a model of results needs results and a formula). Give it, or --scale.",
          needed));
  ModelOptions options;
  options.formula = read_value(arguments, "formula").value_or("");
  options.cluster = read_value(arguments, "cluster").value_or("");
  for (const std::string& text : read_values(arguments, "reference"))
    if (!options.references.insert(assignment("--reference", text)).second)
      throw InputError(
          fmt::format("--reference names {} twice. Give a single level for each column.",
                      assignment("--reference", text).first));
  // A prediction names each column once, so a repeated column begins the next prediction.
  for (const std::string& text : read_values(arguments, "predict")) {
    const auto [column, value] = assignment("--predict", text);
    if (options.predictions.empty() || options.predictions.back().contains(column))
      options.predictions.emplace_back();
    options.predictions.back()[column] = value;
  }
  options.command = model_command_line(arguments);
  if (const auto out = read_value(arguments, "out"))
    check_output("--out", *out, read_values(arguments, "FILE"));
  Results results = load_results(with_baselines(read_values(arguments, "FILE")), keep_for_model);
  expect_one_statistics(results);
  try {
    return write_document(arguments, format, make_model(std::move(results), options), "model",
                          render_model_csv, render_model);
  } catch (const NothingToModel& nothing) {
    std::cerr << "assay: " << message_text(nothing.what()) << std::endl;
    return static_cast<int>(ExitCode::incomparable);
  }
}

}  // namespace

Command model_command() {
  return {
      "model",
      "Fit a log-linear model to results (adjusted speedups with confidence intervals), or predict "
      "training over ranks (--scale).",
      {{"FILE", "result file, folder of a run, or name of a shipped baseline", "FILE", "", false,
        true},
       {"--formula",
        "\"log(time) ~ architecture + log(size) + workload\" (+ - : * log log2 sqrt "
        "factor)",
        "FORMULA"},
       {"--reference", "reference levels of categorical columns", "COLUMN=LEVEL,...",
        "the level of the first row: name the baseline's file first", false, true},
       {"--cluster", "observations whose errors may be correlated: launch, none, or a column",
        "COLUMN", "launch, where a launch gave several rows"},
       {"--predict", "a value for every column of the formula; repeat it for more predictions",
        "COLUMN=VALUE,...", "", false, true},
       {"--scale",
        "predict the step of data-parallel training over ranks from this input, a JSON file or a "
        "shipped name; instead of FILE and --formula",
        "INPUT"},
       format_flag({"terminal", "markdown", "json", "csv"}),
       out_flag()},
      &model,
      {{"assay model deepbench-v100 deepbench-p100 --formula \"log(time) ~ system + log(flops)\"",
        "compares two published systems over their common problems"},
       {"assay model --scale fugaku-resnet50", "predicts ResNet-50 on up to 64 nodes of Fugaku"}}};
}

}  // namespace assay
