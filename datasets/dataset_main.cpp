// assay-dataset: a generated table as files, for programs that are not ours.

#include <fmt/format.h>

#include <csignal>
#include <iostream>
#include <limits>
#include <map>
#include <optional>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/options.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "datasets/npy_writer.hpp"
#include "datasets/synthetic.hpp"

namespace assay {
namespace {

struct Kind {
  std::string parameter;  ///< field that this kind has beside n and d, or none
  std::unique_ptr<Table> (*make)(const SyntheticSize& size, std::int64_t parameter);
};

const std::map<std::string, Kind>& kinds() {
  using Size = SyntheticSize;
  static const std::map<std::string, Kind> all = {
      {"normal",
       {"",
        [](const Size& size, std::int64_t) -> std::unique_ptr<Table> {
          return std::make_unique<NormalTable>(size);
        }}},
      {"spectrum",
       {"cond",
        [](const Size& size, std::int64_t condition) -> std::unique_ptr<Table> {
          return std::make_unique<SpectrumTable>(size, static_cast<double>(condition));
        }}},
      {"clusters",
       {"k",
        [](const Size& size, std::int64_t clusters) -> std::unique_ptr<Table> {
          return std::make_unique<ClusterTable>(size, clusters);
        }}},
      {"clusters-coral",
       {"",
        [](const Size& size, std::int64_t) -> std::unique_ptr<Table> {
          return ClusterTable::coral(size);
        }}},
      {"classes",
       {"",
        [](const Size& size, std::int64_t) -> std::unique_ptr<Table> {
          return std::make_unique<ClassTable>(size);
        }}},
      {"classes-coral", {"", [](const Size& size, std::int64_t) -> std::unique_ptr<Table> {
                           return ClassTable::coral(size);
                         }}}};
  return all;
}

/// The table of "clusters:n262144d250k16".
std::unique_ptr<Table> table_of(const std::string& text, std::uint64_t seed) {
  const DescriptorComplaint complain("dataset", text);
  const std::size_t colon = text.find(':');
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds()) names.push_back(name);
  if (!kinds().contains(text.substr(0, colon)))
    throw InputError(unknown_name("table", text.substr(0, colon), names) + " See --help.");
  if (colon == text.npos)
    complain("has no size. Give rows and features, for example {}:n262144d250.", text);
  const Kind& kind = kinds().at(text.substr(0, colon));
  std::vector<std::string> fields = {"n", "d"};
  if (!kind.parameter.empty()) fields.push_back(kind.parameter);
  const auto given = read_counts(text.substr(colon + 1), fields, fields, complain);
  const SyntheticSize size{given.at("n"), given.at("d"), seed};
  return kind.make(size, kind.parameter.empty() ? 0 : given.at(kind.parameter));
}

Command command() {
  Command made{"assay-dataset",
               "Writes a generated table, bit by bit what assay-pca, assay-kmeans and assay-svm "
               "generate, as an NPY file of fp64.",
               {}};
  made.flags = {{"TABLE",
                 "normal, classes, classes-coral or clusters-coral with rows and features: "
                 "classes:n262144d250; clusters with their number, clusters:n262144d250k16; "
                 "spectrum with the condition of the covariance, spectrum:n262144d250cond1000000",
                 "", "", true},
                {"--seed", "seed of the table", "N", "1"},
                {"--out", "write the rows to this file", "FILE", "", true},
                {"--labels", "write the labels of the rows to this file", "FILE", ""}};
  made.examples = {{"assay-dataset classes:n1000d20 -o x.npy --labels y.npy",
                    "what `assay-svm --problem n1000d20` computes with"},
                   {"assay-dataset clusters:n1000d20k16 --seed 7 -o clusters.npy",
                    "what `assay-kmeans --clusters 16 --seed 7 --problem n1000d20` does"}};
  made.exit_codes = "0 ok, 2 bad usage or input, 7 failed (for example a full disk)";
  return made;
}

int run(int argc, const char* const* argv) {
  int exit = 0;
  const std::optional<Given> parsed = parse_command(command(), argc, argv, exit);
  if (!parsed) return exit;
  const auto value = [&](const std::string& name, const std::string& otherwise) {
    const auto found = parsed->find(name);
    return found == parsed->end() || found->second.empty() ? otherwise : found->second.front();
  };
  const std::uint64_t seed =
      whole_number("--seed", value("seed", "1"), 0, std::numeric_limits<std::uint64_t>::max());
  const std::unique_ptr<Table> table = table_of(value("TABLE", ""), seed);
  const std::string out = value("out", ""), labels = value("labels", "");
  check_writable(out);
  if (!labels.empty()) {
    if (!table->has_labels())
      throw InputError(
          fmt::format("--labels: {} has none (clusters and classes have). Leave "
                      "--labels out.",
                      table->canonical()));
    check_writable(labels);
    check_outputs_differ({{"--out", out}, {"--labels", labels}});
  }
  write_npy(*table, out, labels);
  std::cerr << fmt::format("wrote {} to {}\n", table->canonical(), out);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error like a full disk
  return assay::guarded_main("assay-dataset", [&] { return assay::run(argc, argv); });
}
