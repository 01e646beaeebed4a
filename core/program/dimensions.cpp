#include <algorithm>
#include <span>

#include "assay/known_backends.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/placement.hpp"
#include "core/program/benchmark.hpp"
#include "core/program/conform.hpp"

namespace assay::dimension {

Dimension of_system(Dimension axis) {
  axis.traits.of_system = true;
  return axis;
}

Dimension of_backend(Dimension axis) {
  axis.group = "Backend";
  return of_system(std::move(axis));
}

std::vector<std::string> list_backends(const std::string& operation) {
  std::vector<std::string> names;
  for (const KnownBackend& known : known_backends())
    if (known.operation == operation) names.emplace_back(known.backend);
  return names;
}

bool is_known_backend(const std::string& name) {
  const std::span<const KnownBackend> all = known_backends();
  return std::any_of(all.begin(), all.end(),
                     [&](const KnownBackend& known) { return known.backend == name; });
}

Dimension backend(const std::string& operation, std::vector<std::string> defaults) {
  return of_backend({"backend",
                     "backend that executes the problem (see `assay list backends`)",
                     list_backends(operation),
                     std::move(defaults),
                     "",
                     "",
                     {.plugin = true}});
}

Dimension precision(std::vector<std::string> values, std::vector<std::string> defaults) {
  const bool mixed = std::find(values.begin(), values.end(), "bf16_fp32") != values.end();
  return {
      "precision",
      mixed ? "types of the tensors; bf16_fp32: bf16 inputs, fp32 results" : "types of the tensors",
      std::move(values),
      std::move(defaults),
      "",
      ""};
}

Dimension algorithm(std::vector<std::string> values) {
  return of_backend({"algorithm",
                     "algorithm; auto lets the library choose, backends may accept further names",
                     std::move(values),
                     {"auto"},
                     "",
                     ""});
}

Dimension problem(std::vector<std::string> defaults) {
  return {"problem",
          "descriptor, list (see `assay list problems`), LIST/NAME, or your own list as "
          "FILE.json[/NAME]; fields after @ override, as in resnet50@mb32",
          {},
          std::move(defaults),
          "",
          ""};
}

Dimension field(std::string name, std::string field, std::string help, std::string shown_default,
                std::vector<std::string> values) {
  Dimension axis = make_dimension(std::move(name), std::move(help), std::move(values), {});
  axis.field = std::move(field);
  axis.shown_default = std::move(shown_default);
  return axis;
}

Dimension cache() {
  return {"cache",
          "hot: each iteration uses the same data; cold: data rotates through memory",
          {"hot", "cold"},
          {"hot"},
          "",
          ""};
}

Dimension threads() {
  Dimension axis = of_backend({"threads",
                               "threads per rank; all: 1, 2, 4, ... up to the number of processors",
                               {},
                               {std::to_string(processors())},
                               "t",
                               ""});
  axis.shown_default = "the processors of this process";
  for (int count = 1; count < processors(); count *= 2) axis.every.push_back(std::to_string(count));
  axis.every.push_back(std::to_string(processors()));
  return axis;
}

Dimension smt() {
  Dimension axis = of_backend(make_dimension(
      "smt", "hardware threads used per core, each bound to a thread; any: no binding", {}, {"any"},
      "", "any"));
  axis.every = smt_levels();
  return axis;
}

Dimension layout(std::vector<std::string> values) {
  return of_backend({"layout",
                     "tensor layout; any lets the backend choose",
                     std::move(values),
                     {"any"},
                     "",
                     "any"});
}

Dimension device() {
  return of_backend({"device", "device to run on", {"cpu", "gpu"}, {"cpu"}, "", "cpu"});
}

Dimension conform(const std::string& benchmark) {
  Dimension axis{
      "conform",
      "run the problem that a procurement prescribes (data, size, algorithm), and report "
      "its figure of merit; flags of backend, threads and device may be given with it",
      procurements(benchmark),
      {conform_none},
      "",
      conform_none};
  axis.values.insert(axis.values.begin(), conform_none);
  return axis;
}

}  // namespace assay::dimension
