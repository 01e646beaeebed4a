// assay-dataset: generated tables and sets of images as files.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/options.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "datasets/images/image_writer.hpp"
#include "datasets/npy_writer.hpp"
#include "datasets/synthetic.hpp"

namespace assay {
namespace {

struct Kind {
  std::string parameter;  ///< the further field of this kind beside n and d; may be empty
  std::unique_ptr<DataTable> (*make)(const SyntheticSize& size, std::int64_t parameter);
};

const std::map<std::string, Kind>& kinds() {
  using Size = SyntheticSize;
  static const std::map<std::string, Kind> all = {
      {"normal",
       {"",
        [](const Size& size, std::int64_t) -> std::unique_ptr<DataTable> {
          return std::make_unique<NormalTable>(size);
        }}},
      {"spectrum",
       {"cond",
        [](const Size& size, std::int64_t condition) -> std::unique_ptr<DataTable> {
          return std::make_unique<SpectrumTable>(size, static_cast<double>(condition));
        }}},
      {"clusters",
       {"k",
        [](const Size& size, std::int64_t clusters) -> std::unique_ptr<DataTable> {
          return std::make_unique<ClusterTable>(size, clusters);
        }}},
      {"clusters-coral",
       {"",
        [](const Size& size, std::int64_t) -> std::unique_ptr<DataTable> {
          return ClusterTable::coral(size);
        }}},
      {"classes",
       {"",
        [](const Size& size, std::int64_t) -> std::unique_ptr<DataTable> {
          return std::make_unique<ClassTable>(size);
        }}},
      {"classes-coral", {"", [](const Size& size, std::int64_t) -> std::unique_ptr<DataTable> {
                           return ClassTable::coral(size);
                         }}}};
  return all;
}

/// The table of "clusters:n262144d250k16".
std::unique_ptr<DataTable> make_table(const std::string& text, std::uint64_t seed) {
  const DescriptorComplaint complain("dataset", text);
  const std::size_t colon = text.find(':');
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds()) names.push_back(name);
  names.push_back("images");
  if (!kinds().contains(text.substr(0, colon)))
    throw InputError(explain_unknown_name("table", text.substr(0, colon), names) + " See --help.");
  if (colon == text.npos)
    complain("has no size. Give rows and features, for example {}:n262144d250.", text);
  const Kind& kind = kinds().at(text.substr(0, colon));
  std::vector<std::string> fields = {"n", "d"};
  if (!kind.parameter.empty()) fields.push_back(kind.parameter);
  const auto counts = read_counts(text.substr(colon + 1), fields, fields, complain);
  const SyntheticSize size{counts.at("n"), counts.at("d"), seed};
  return kind.make(size, kind.parameter.empty() ? 0 : counts.at(kind.parameter));
}

/// True for "images" and for "images:n1000c10w500h375".
bool is_images(const std::string& text) { return text.substr(0, text.find(':')) == "images"; }

/// The value of a flag, or the default of the command's help.
class Values {
 public:
  explicit Values(const Arguments& counts) : arguments_(counts) {}
  bool has(const std::string& name) const { return !text(name, "").empty(); }
  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto entry = arguments_.find(name);
    return entry == arguments_.end() || entry->second.empty() ? otherwise : entry->second.front();
  }
  std::int64_t number(const std::string& name, const std::string& otherwise, std::uint64_t least,
                      std::uint64_t most) const {
    return static_cast<std::int64_t>(whole_number("--" + name, text(name, otherwise), least, most));
  }
  std::string choice(const std::string& name, const std::vector<std::string>& valid) const {
    const std::string chosen = text(name, valid.front());
    if (std::find(valid.begin(), valid.end(), chosen) == valid.end())
      throw InputError(explain_unknown_name("--" + name, chosen, valid));
    return chosen;
  }

 private:
  const Arguments& arguments_;
};

constexpr std::uint64_t most_images = std::uint64_t{1} << 40;
const std::vector<std::string> image_flags = {"as",   "encoding",   "quality", "files",
                                              "from", "label-base", "first"};

/// The pictures of "images:n1000c10w500h375", or of a table (--from).
std::unique_ptr<ImageSource> make_images(const std::string& text, std::uint64_t seed,
                                         const Values& values) {
  const DescriptorComplaint complain("dataset", text);
  const std::size_t colon = text.find(':');
  const bool table = values.has("from");
  if (colon == text.npos && !table)
    complain("has no size. Give the number of images, for example images:n1000, or --from FILE.");
  std::map<std::string, std::int64_t> counts;
  if (colon != text.npos)
    counts = read_counts(
        text.substr(colon + 1),
        table ? std::vector<std::string>{"n", "w"} : std::vector<std::string>{"n", "c", "w", "h"},
        table ? std::vector<std::string>{} : std::vector<std::string>{"n"}, complain);
  const auto field = [&](const std::string& name, std::int64_t otherwise) {
    const auto entry = counts.find(name);
    return entry == counts.end() ? otherwise : entry->second;
  };
  constexpr std::int64_t most_side = 1 << 14;
  const auto side = [&](const std::string& name, std::int64_t otherwise) {
    if (field(name, otherwise) > most_side) complain("{} is above {}", name, most_side);
    return static_cast<int>(field(name, otherwise));
  };
  const std::int64_t first = values.number("first", "0", 0, most_images);
  if (table) return make_table_images(values.text("from", ""), first, field("n", 0), side("w", 0));
  return make_generated_images(
      {field("n", 1), field("c", 10), {side("w", 500), side("h", 375)}, seed, first});
}

int write_images(const std::string& text, std::uint64_t seed, const Values& values) {
  if (!why_no_images().empty()) throw CaseError("unsupported: " + why_no_images());
  if (values.has("labels"))
    throw InputError("--labels: images have theirs beside them. Leave --labels out.");
  ImageSetFormat format;
  format.tfrecord = values.choice("as", {"tfrecord", "folder"}) == "tfrecord";
  format.png = values.choice("encoding", {"jpeg", "png"}) == "png";
  format.quality = static_cast<int>(values.number("quality", "90", 1, 100));
  format.files = static_cast<int>(values.number("files", "1", 1, 99999));
  format.label_base = values.number("label-base", "0", 0, most_images);
  const std::unique_ptr<ImageSource> source = make_images(text, seed, values);
  write_image_set(*source, values.text("out", ""), format);
  std::cerr << fmt::format("wrote {} to {}\n", source->canonical(), values.text("out", ""));
  return static_cast<int>(ExitCode::ok);
}

Command command() {
  Command command{
      "assay-dataset",
      "Writes a generated table, bit by bit what assay-pca, assay-kmeans and assay-svm "
      "generate, as an NPY file of fp64; or a set of images as TFRecord files or folders.",
      {}};
  command.flags = {
      {"TABLE",
       "normal, classes, classes-coral or clusters-coral with rows and features: "
       "classes:n262144d250; clusters with their number, clusters:n262144d250k16; "
       "spectrum with the condition of the covariance, spectrum:n262144d250cond1000000; "
       "images with their number, classes, width and height, images:n1000c10w500h375",
       "", "", true},
      {"--seed", "seed of the table or the images", "N", "1"},
      {"--out", "write the rows to this file, or the images to this new folder", "FILE", "", true},
      {"--labels", "write the labels of the rows to this file", "FILE", ""}};
  const std::vector<Flag> images = {
      {"--as",
       "TFRecord files, or a folder for each class",
       "FORMAT",
       "tfrecord",
       false,
       false,
       "",
       {"tfrecord", "folder"}},
      {"--encoding", "format of the images", "FORMAT", "jpeg", false, false, "", {"jpeg", "png"}},
      {"--quality", "quality of JPEG, 1 to 100", "N", "90"},
      {"--files", "number of TFRecord files", "N", "1"},
      {"--label-base", "label of the first class in TFRecord files", "N", "0"},
      {"--from",
       "images are the rows of this table (NPY, CSV or libsvm) of square pictures; "
       "TABLE is images, perhaps with number and width: images:n500w16",
       "FILE", ""},
      {"--first", "number of the first image, or of the first row of --from", "N", "0"}};
  command.flags = group_flags({{"Options", command.flags}, {"Images", images}});
  command.examples = {{"assay-dataset classes:n1000d20 -o x.npy --labels y.npy",
                       "the table of `assay-svm --problem n1000d20`"},
                      {"assay-dataset clusters:n1000d20k16 --seed 7 -o clusters.npy",
                       "the table of `assay-kmeans --clusters 16 --seed 7 --problem n1000d20`"},
                      {"assay-dataset images:n64c10w160h120 --files 4 -o pictures",
                       "64 JPEG images of 10 classes in 4 TFRecord files"}};
  command.exit_codes = "0 ok, 2 bad usage or input, 7 failed (for example a full disk)";
  return command;
}

void write_table(const std::string& text, std::uint64_t seed, const Values& values) {
  for (const std::string& flag : image_flags)
    if (values.has(flag))
      throw InputError(
          fmt::format("--{} is for images ({} is a table). Leave it out.", flag, text));
  const std::unique_ptr<DataTable> table = make_table(text, seed);
  const std::string out = values.text("out", ""), labels = values.text("labels", "");
  check_writable(out);
  if (!labels.empty()) {
    if (!table->has_labels())
      throw InputError(
          fmt::format("--labels: there are no labels in {} (clusters and classes have some). Leave "
                      "--labels out.",
                      table->canonical()));
    check_writable(labels);
    check_outputs_differ({{"--out", out}, {"--labels", labels}});
  }
  write_npy(*table, out, labels);
  std::cerr << fmt::format("wrote {} to {}\n", table->canonical(), out);
}

int run(int argc, const char* const* argv) {
  int exit = 0;
  const std::optional<Arguments> parsed = parse_command(command(), argc, argv, exit);
  if (!parsed) return exit;
  const Values values(*parsed);
  const std::uint64_t seed = whole_number("--seed", values.text("seed", "1"), 0,
                                          std::numeric_limits<std::uint64_t>::max());
  const std::string what = values.text("TABLE", "");
  if (is_images(what)) return write_images(what, seed, values);
  write_table(what, seed, values);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::run_guarded("assay-dataset", [&] { return assay::run(argc, argv); });
}
