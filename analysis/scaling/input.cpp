#include "analysis/scaling/input.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/scaling/allreduce_cost.hpp"
#include "analysis/scaling/measured.hpp"
#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"

namespace assay::scaling {

using nlohmann::json;

namespace {

std::filesystem::path shipped_inputs() { return data_folder("suites") / "scale"; }

class InputReader {
 public:
  explicit InputReader(const std::filesystem::path& file)
      : file_(file.string()),
        document_(read_checked(file, "scale")),
        measured_(file.parent_path()) {}

  ScaleInput read() {
    made_.name = document_["name"];
    made_.description = document_.value("description", "");
    made_.files = {file_};
    each("compute", [&](const json& entry, const std::string& at) { add_compute(entry, at); });
    std::sort(made_.compute.begin(), made_.compute.end(),
              [](const auto& a, const auto& b) { return a.batch < b.batch; });
    read_gradients();
    read_overlap();
    read_network();
    made_.algorithms = document_["algorithms"].get<std::vector<std::string>>();
    made_.ranks = document_["ranks"].get<std::vector<int>>();
    if (!std::is_sorted(made_.ranks.begin(), made_.ranks.end()))
      wrong("/ranks", "they are not in ascending order", "Sort them");
    each("curves",
         [&](const json& entry, const std::string&) { made_.curves.push_back(curve(entry)); });
    each("published", [&](const json& entry, const std::string& at) { add_published(entry, at); });
    for (const std::string& file : measured_.files()) made_.files.push_back(file);
    return std::move(made_);
  }

 private:
  template <class Body>
  void each(const char* key, Body body) {
    std::size_t index = 0;
    for (const json& entry : document_.value(key, json::array()))
      body(entry, fmt::format("/{}/{}", key, index++));
  }

  [[noreturn]] void wrong(const std::string& at, const std::string& problem,
                          const std::string& suggestion) const {
    throw InputError(fmt::format("{} at {}: {}. {}.", file_, at, problem, suggestion));
  }
  std::string where(const std::string& at) const { return file_ + " at " + at; }

  void add_source(const std::string& name, const json& value, const std::string& unit,
                  const char* kind, const std::string& source, json rows = json::array(),
                  json fit = nullptr) {
    made_.sources.push_back({{"name", name},
                             {"value", value},
                             {"unit", unit},
                             {"kind", kind},
                             {"source", source},
                             {"rows", std::move(rows)},
                             {"fit", std::move(fit)}});
  }

  /// The value of an assumed quantity.
  double take(const json& entry, const char* key, const std::string& name,
              const std::string& unit) {
    const json& quantity = entry.at(key);
    add_source(name, quantity["value"], unit, "assumed", quantity["assumed"]);
    return quantity["value"];
  }

  void add_compute(const json& entry, const std::string& at) {
    BatchCompute made;
    const auto has = [&](const char* key) { return entry.contains(key); };
    const bool phases = has("forward_s") && has("backward_s") && has("update_s");
    const bool rate = has("images_per_s") && has("backward_part");
    const std::size_t given = entry.size();
    if (has("measured") && given == 1) {
      const json& from = entry["measured"];
      MeasuredCompute found =
          measured_compute(measured_, from["file"], from["row"], where(at + "/measured"));
      made = found.of;
      for (const auto& [name, seconds] : {std::pair{"forward", made.compute.forward},
                                          {"backward", made.compute.backward},
                                          {"update", made.compute.update}})
        add_source(fmt::format("{}, batch {}", name, made.batch), seconds, "s", "measured",
                   from["file"], found.rows);
    } else if (has("batch") && phases && given == 4) {
      made.batch = entry["batch"];
      const std::string of = fmt::format(", batch {}", made.batch);
      made.compute.forward = take(entry, "forward_s", "forward" + of, "s");
      made.compute.backward = take(entry, "backward_s", "backward" + of, "s");
      made.compute.update = take(entry, "update_s", "update" + of, "s");
    } else if (has("batch") && rate && given == 3) {
      made.batch = entry["batch"];
      const std::string of = fmt::format(", batch {}", made.batch);
      const double step = static_cast<double>(made.batch) /
                          take(entry, "images_per_s", "computation" + of, "images/s");
      const double part = take(entry, "backward_part", "backward pass's part" + of, "");
      made.compute = {step * (1 - part), step * part, 0};
    } else {
      wrong(at, "found " + join(keys_of(entry), ", "),
            "Expected measured; or batch, forward_s, backward_s, update_s; or batch, "
            "images_per_s, backward_part");
    }
    if (!(made.compute.seconds() > 0)) wrong(at, "the computation takes no time", "Correct it");
    for (const BatchCompute& other : made_.compute)
      if (other.batch == made.batch)
        wrong(at, fmt::format("the batch {} is given twice", made.batch), "Leave one out");
    made_.compute.push_back(made);
  }

  static std::vector<std::string> keys_of(const json& entry) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : entry.items()) keys.push_back(key);
    return keys;
  }

  std::vector<std::int64_t> listed_tensors(const std::string& list) {
    const std::filesystem::path folder = data_folder("suites") / "problems" / "collectives";
    const std::filesystem::path file = folder / (list + ".json");
    if (!std::filesystem::is_regular_file(file))
      throw InputError(where("/gradients/list") + ": " +
                       unknown_name("list of collectives", list, json_names(folder)));
    const json problems = read_checked(file, "problems");
    std::vector<std::int64_t> tensors;
    for (const json& problem : problems["problems"]) {
      const std::string descriptor = problem["descriptor"];
      if (!descriptor.starts_with("n"))
        wrong("/gradients/list",
              fmt::format("{} has {} (a tensor is a number of elements, n1000)", list, descriptor),
              "Name a list of gradients, like resnet50");
      tensors.push_back(static_cast<std::int64_t>(
          whole_number("/gradients/list", descriptor.substr(1), 1, 1'000'000'000'000)));
    }
    std::int64_t sum = 0;
    for (const std::int64_t elements : tensors) sum += elements;
    add_source(
        "gradients", sum, "elements", "computed",
        fmt::format("suites/problems/collectives/{}.json, {} tensors", list, tensors.size()));
    return tensors;
  }

  void read_gradients() {
    const json& entry = document_["gradients"];
    const bool counted = entry.contains("elements") && entry.contains("tensors");
    if (entry.contains("list") == counted || entry.size() != (counted ? 4U : 3U))
      wrong("/gradients", "found " + join(keys_of(entry), ", "),
            "Expected element_bytes and bucket_bytes with list, or with elements and tensors");
    std::vector<std::int64_t> tensors;
    if (counted) {
      const auto elements =
          static_cast<std::int64_t>(take(entry, "elements", "gradients", "elements"));
      const auto count = static_cast<std::int64_t>(take(entry, "tensors", "gradient tensors", ""));
      if (count < 1 || count > 100000 || elements < count)
        wrong("/gradients",
              fmt::format("{} elements cannot be divided into {} tensors", elements, count),
              "Correct one of them");
      for (std::int64_t i = 0; i < count; ++i)
        tensors.push_back(elements / count + (i < elements % count ? 1 : 0));
    } else {
      tensors = listed_tensors(entry["list"]);
    }
    made_.element_bytes =
        static_cast<std::size_t>(take(entry, "element_bytes", "bytes of an element", "B"));
    if (made_.element_bytes < 1 || made_.element_bytes > 16)
      wrong("/gradients/element_bytes", "found a size that no data type has", "Use 2, 4 or 8");
    const auto bytes = static_cast<std::int64_t>(take(entry, "bucket_bytes", "bucket", "B"));
    made_.buckets = buckets_of(tensors, bytes / static_cast<std::int64_t>(made_.element_bytes));
    add_source("buckets", made_.buckets.size(), "", "computed",
               "tensors joined until they have the bucket's bytes");
    add_source("gradients are ready", "tensor i of n at i/n of the backward pass", "", "assumed",
               "as the replay of assay-collectives has it (docs/collectives.md)");
  }

  void read_overlap() {
    const json entry = document_.value(
        "overlap", json{{"value", "backward"}, {"assumed", "default: as assay-resnet50 does"}});
    const std::string value = entry["value"];
    made_.overlap = value == "none"       ? Overlap::none
                    : value == "backward" ? Overlap::backward
                                          : Overlap::step;
    add_source("communication overlaps", value, "", "assumed", entry["assumed"]);
  }

  void read_network() {
    each("levels", [&](const json& entry, const std::string& at) { add_level(entry, at); });
    const std::vector<Level>& levels = made_.network.levels;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
      const std::string at = fmt::format("/levels/{}/ranks", i);
      if (levels[i].ranks == 0) wrong(at, "found nothing", "Only the outermost level has no ranks");
      if (i > 0 && levels[i].ranks % levels[i - 1].ranks != 0)
        wrong(at,
              fmt::format("{} ranks are not a whole number of groups of {}", levels[i].ranks,
                          levels[i - 1].ranks),
              "Give the ranks of a whole group of this level");
    }
    if (levels.back().ranks != 0)
      wrong(fmt::format("/levels/{}/ranks", levels.size() - 1), "the outermost level has ranks",
            "Leave them out: it spans all ranks of a curve");
    if (document_.contains("segment_bytes"))
      made_.network.segment_bytes =
          static_cast<std::int64_t>(take(document_, "segment_bytes", "longest message", "B"));
  }

  void add_level(const json& entry, const std::string& at) {
    Level level;
    level.name = entry["name"];
    level.ranks = entry.value("ranks", 0);
    if (entry.contains("links")) level.links = take(entry, "links", level.name + ": links", "");
    const bool given = entry.contains("alpha_s") && entry.contains("bytes_per_s");
    if (entry.contains("measured") ==
            (entry.contains("alpha_s") || entry.contains("bytes_per_s")) ||
        (!given && !entry.contains("measured")))
      wrong(at, "found " + join(keys_of(entry), ", "),
            "Expected measured, or alpha_s and bytes_per_s");
    if (given) {
      level.alpha = take(entry, "alpha_s", level.name + ": alpha", "s");
      level.beta = 1 / take(entry, "bytes_per_s", level.name + ": 1/beta", "B/s");
    } else {
      const json& from = entry["measured"];
      const MeasuredLink link =
          measured_link(measured_, from["file"], from["rows"], where(at + "/measured"));
      level.alpha = link.fit.alpha;
      level.beta = link.fit.beta;
      const json fit = {{"r2", link.fit.r_squared},
                        {"worst", link.fit.worst},
                        {"held_out", link.fit.held_out ? json(*link.fit.held_out) : json()}};
      const std::string source = fmt::format("{}: {}", from["file"].get<std::string>(), link.what);
      add_source(level.name + ": alpha", level.alpha, "s", "measured", source, link.rows, fit);
      add_source(level.name + ": 1/beta", 1 / level.beta, "B/s", "measured", source, link.rows,
                 fit);
    }
    made_.network.levels.push_back(level);
  }

  static CurveInput curve(const json& entry) {
    CurveInput made;
    if (entry.contains("batch")) made.batch = entry["batch"].get<std::int64_t>();
    if (entry.contains("global_batch"))
      made.global_batch = entry["global_batch"].get<std::int64_t>();
    return made;
  }

  void add_published(const json& entry, const std::string& at) {
    Published made;
    const CurveInput of = curve(entry);
    if (of.batch || of.global_batch) {
      const auto same = [&](const CurveInput& other) {
        return other.batch == of.batch && other.global_batch == of.global_batch;
      };
      const auto found = std::find_if(made_.curves.begin(), made_.curves.end(), same);
      if (found == made_.curves.end()) wrong(at, "no curve has its batch", "Add the curve");
      made.curve = static_cast<std::size_t>(found - made_.curves.begin());
    }
    made.algorithm = entry["algorithm"];
    if (std::find(made_.algorithms.begin(), made_.algorithms.end(), made.algorithm) ==
        made_.algorithms.end())
      throw InputError(where(at + "/algorithm") + ": " +
                       unknown_name("algorithm of this file", made.algorithm, made_.algorithms));
    made.ranks = entry["ranks"];
    if (std::find(made_.ranks.begin(), made_.ranks.end(), made.ranks) == made_.ranks.end())
      wrong(at + "/ranks",
            fmt::format("{} is not among the numbers of ranks of the curves", made.ranks),
            "Add it to /ranks");
    made.quantity = entry["quantity"];
    made.value = entry["value"];
    made.citation = entry["citation"];
    made.note = entry.value("note", "");
    made_.published.push_back(std::move(made));
  }

  std::string file_;
  json document_;
  MeasuredFiles measured_;
  ScaleInput made_;
};

}  // namespace

std::filesystem::path find_scale_input(const std::string& name) {
  if (std::filesystem::exists(name) && !std::filesystem::is_directory(name)) return name;
  const std::filesystem::path file = shipped_inputs() / (name + ".json");
  if (std::filesystem::is_regular_file(file)) return file;
  throw InputError(unknown_name("input of the scaling model", name, json_names(shipped_inputs())) +
                   " It is a JSON file, or the name of a file in " + shipped_inputs().string() +
                   ".");
}

ScaleInput read_scale_input(const std::filesystem::path& file) { return InputReader(file).read(); }

}  // namespace assay::scaling
