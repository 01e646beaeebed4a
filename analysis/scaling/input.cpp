#include "analysis/scaling/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/scaling/measured.hpp"
#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"

namespace assay::scaling {

using nlohmann::json;

static void visit_fields(SameAs<CurveInput> auto& curve, auto& fields) {
  fields.optional("batch", curve.batch, "global_batch", curve.global_batch);
}

static void visit_fields(SameAs<PublishedPoint> auto& published, auto& fields) {
  visit_fields(published.batches, fields);
  fields.always("algorithm", published.algorithm, "quantity", published.quantity, "ranks",
                published.ranks, "value", published.value, "citation", published.citation);
  fields.optional("note", published.note);
}

namespace {

/// A number or a choice, and the source of the assumption.
struct Quantity {
  json value;
  std::string assumed;
};
/// Rows of a result file: an id (`row`), or a regular expression (`rows`).
struct MeasuredRows {
  std::string file, row, rows;
};
/// add_compute() states which fields belong together.
struct ComputeEntry {
  std::optional<MeasuredRows> measured;
  std::optional<std::int64_t> batch;
  std::optional<Quantity> forward_s, backward_s, update_s, images_per_s, backward_part;
};
struct GradientsEntry {
  std::string list;
  std::optional<Quantity> elements, tensors, element_bytes, bucket_bytes;
};
struct LevelEntry {
  std::string name;
  std::optional<int> ranks;
  std::optional<Quantity> links, alpha_s, bytes_per_s;
  std::optional<MeasuredRows> measured;
};
struct WayEntry {
  std::string way;
  std::optional<Quantity> micro_batches, exchanges, activation_bytes;
};
struct StagingEntry {
  std::optional<Quantity> bytes, part, wanted, read, shared, pass, keep, local, disk;
  std::vector<int> nodes;
};
/// A file in its JSON form.
struct ScaleFile {
  ScalingInput input;  ///< the fields that are copied unchanged
  std::vector<ComputeEntry> compute;
  GradientsEntry gradients;
  Quantity overlap{"backward", "default: as assay-resnet50 does"};
  std::vector<LevelEntry> levels;
  std::optional<Quantity> segment_bytes;
  std::vector<WayEntry> ways;
  std::optional<StagingEntry> staging;
};

void visit_fields(SameAs<Quantity> auto& quantity, auto& fields) {
  fields.always("value", quantity.value, "assumed", quantity.assumed);
}

void visit_fields(SameAs<MeasuredRows> auto& measured, auto& fields) {
  fields.always("file", measured.file);
  fields.optional("row", measured.row, "rows", measured.rows);
}

void visit_fields(SameAs<ComputeEntry> auto& entry, auto& fields) {
  fields.optional("measured", entry.measured, "batch", entry.batch, "forward_s", entry.forward_s,
                  "backward_s", entry.backward_s, "update_s", entry.update_s, "images_per_s",
                  entry.images_per_s, "backward_part", entry.backward_part);
}

void visit_fields(SameAs<GradientsEntry> auto& entry, auto& fields) {
  fields.optional("list", entry.list, "elements", entry.elements, "tensors", entry.tensors,
                  "element_bytes", entry.element_bytes, "bucket_bytes", entry.bucket_bytes);
}

void visit_fields(SameAs<LevelEntry> auto& entry, auto& fields) {
  fields.always("name", entry.name);
  fields.optional("ranks", entry.ranks, "links", entry.links, "alpha_s", entry.alpha_s,
                  "bytes_per_s", entry.bytes_per_s, "measured", entry.measured);
}

void visit_fields(SameAs<WayEntry> auto& entry, auto& fields) {
  fields.always("way", entry.way);
  fields.optional("micro_batches", entry.micro_batches, "exchanges", entry.exchanges,
                  "activation_bytes", entry.activation_bytes);
}

void visit_fields(SameAs<StagingEntry> auto& entry, auto& fields) {
  fields.always("nodes", entry.nodes);
  fields.optional("bytes", entry.bytes, "part", entry.part, "bytes_per_s", entry.wanted,
                  "read_bytes_per_s", entry.read, "shared_bytes_per_s", entry.shared,
                  "pass_bytes_per_s", entry.pass, "keep_bytes_per_s", entry.keep,
                  "local_bytes_per_s", entry.local, "disk_bytes", entry.disk);
}

void visit_fields(SameAs<ScaleFile> auto& file, auto& fields) {
  fields.always("name", file.input.name, "compute", file.compute, "gradients", file.gradients,
                "levels", file.levels, "algorithms", file.input.algorithms, "ranks",
                file.input.ranks, "curves", file.input.curves);
  fields.optional("description", file.input.description, "overlap", file.overlap, "segment_bytes",
                  file.segment_bytes, "published", file.input.published, "control",
                  file.input.control, "ways", file.ways, "staging", file.staging);
}

std::filesystem::path inputs_folder() { return data_folder("suites") / "scale"; }

/// The names of the fields that an entry of a file has.
template <class Entry>
std::vector<std::string> list_given_fields(const Entry& entry) {
  std::vector<std::string> names;
  const json fields = write_fields(entry);
  for (const auto& [name, value] : fields.items()) names.push_back(name);
  return names;
}

class InputReader {
 public:
  explicit InputReader(const std::filesystem::path& file)
      : path_(file.string()), measured_(file.parent_path()) {
    read_fields(read_checked(file, "scale"), file_);
  }

  ScalingInput read() {
    input_.files = {path_};
    each("compute", file_.compute, &InputReader::add_compute);
    std::sort(input_.compute.begin(), input_.compute.end(),
              [](const auto& a, const auto& b) { return a.batch < b.batch; });
    read_gradients();
    const json& overlap = file_.overlap.value;
    input_.overlap = overlap == "none"       ? Overlap::none
                     : overlap == "backward" ? Overlap::backward
                                             : Overlap::step;
    add_assumed(file_.overlap, "communication overlaps", "");
    read_network();
    if (!std::is_sorted(input_.ranks.begin(), input_.ranks.end()))
      refuse("/ranks", "they are not in ascending order", "Sort them");
    each("published", input_.published, &InputReader::check_published);
    for (const std::string& way : input_.control) (void)control_cost(way, 1, input_.network);
    each("ways", file_.ways, &InputReader::add_way);
    if (file_.staging) add_staging(*file_.staging);
    for (const std::string& file : measured_.files()) input_.files.push_back(file);
    return std::move(input_);
  }

 private:
  template <class Entry>
  void each(const char* name, std::vector<Entry>& entries,
            void (InputReader::*read)(Entry& entry, const std::string& at)) {
    for (std::size_t i = 0; i < entries.size(); ++i)
      (this->*read)(entries[i], fmt::format("/{}/{}", name, i));
  }

  [[noreturn]] void refuse(const std::string& at, const std::string& problem,
                           const std::string& suggestion) const {
    throw InputError(fmt::format("{} at {}: {}. {}.", path_, at, problem, suggestion));
  }
  std::string where(const std::string& at) const { return path_ + " at " + at; }

  void add_assumed(const Quantity& quantity, const std::string& name, const std::string& unit) {
    input_.sources.push_back({name, quantity.value, unit, "assumed", quantity.assumed});
  }
  void add_computed(const std::string& name, const json& value, const std::string& unit,
                    const std::string& source) {
    input_.sources.push_back({name, value, unit, "computed", source});
  }
  /// The value of an assumed quantity that the input gives.
  double take(const std::optional<Quantity>& quantity, const std::string& name,
              const std::string& unit) {
    add_assumed(*quantity, name, unit);
    return quantity->value;
  }

  void add_compute(ComputeEntry& entry, const std::string& at) {
    BatchCompute read{entry.batch.value_or(0)};
    Compute& compute = read.compute;
    const std::vector<std::string> field_names = list_given_fields(entry);
    const bool phases = entry.forward_s && entry.backward_s && entry.update_s;
    if (entry.measured && field_names.size() == 1) {
      const MeasuredRows& rows = *entry.measured;
      read = read_measured_compute(measured_, rows.file, rows.row, where(at + "/measured"));
      for (const auto& [name, seconds] : {std::pair{"forward", compute.forward},
                                          {"backward", compute.backward},
                                          {"update", compute.update}})
        input_.sources.push_back({fmt::format("{}, batch {}", name, read.batch),
                                  seconds,
                                  "s",
                                  "measured",
                                  rows.file,
                                  {rows.row}});
    } else if (entry.batch && phases && field_names.size() == 4) {
      const std::string batch = fmt::format(", batch {}", read.batch);
      compute.forward = take(entry.forward_s, "forward" + batch, "s");
      compute.backward = take(entry.backward_s, "backward" + batch, "s");
      compute.update = take(entry.update_s, "update" + batch, "s");
    } else if (entry.batch && entry.images_per_s && entry.backward_part &&
               field_names.size() == 3) {
      const std::string batch = fmt::format(", batch {}", read.batch);
      const double step = static_cast<double>(read.batch) /
                          take(entry.images_per_s, "computation" + batch, "images/s");
      const double part = take(entry.backward_part, "backward pass's part" + batch, "");
      compute = {step * (1 - part), step * part, 0};
    } else {
      refuse(at, "found " + join(field_names, ", "),
             "Expected measured; or batch, forward_s, backward_s, update_s; or batch, "
             "images_per_s, backward_part");
    }
    if (!(compute.seconds() > 0)) refuse(at, "the computation takes no time", "Correct it");
    for (const BatchCompute& other : input_.compute)
      if (other.batch == read.batch)
        refuse(at, fmt::format("the batch {} is given twice", read.batch), "Leave one out");
    input_.compute.push_back(read);
  }

  std::vector<std::int64_t> read_list(const std::string& list) {
    const std::filesystem::path folder = data_folder("suites") / "problems" / "collectives";
    const std::filesystem::path file = folder / (list + ".json");
    if (!std::filesystem::is_regular_file(file))
      throw InputError(where("/gradients/list") + ": " +
                       explain_unknown_name("list of collectives", list, list_json_names(folder)));
    const json problems = read_checked(file, "problems");
    std::vector<std::int64_t> tensors;
    for (const json& problem : problems["problems"]) {
      const std::string descriptor = problem["descriptor"];
      if (!descriptor.starts_with("n"))
        refuse("/gradients/list",
               fmt::format("{} has {} (a tensor is a number of elements, n1000)", list, descriptor),
               "Name a list of gradients, like resnet50");
      tensors.push_back(static_cast<std::int64_t>(
          whole_number("/gradients/list", descriptor.substr(1), 1, 1'000'000'000'000)));
    }
    add_computed(
        "gradients", std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}), "elements",
        fmt::format("suites/problems/collectives/{}.json, {} tensors", list, tensors.size()));
    return tensors;
  }

  std::vector<std::int64_t> read_counts(const GradientsEntry& entry) {
    const auto elements = static_cast<std::int64_t>(take(entry.elements, "gradients", "elements"));
    const auto count = static_cast<std::int64_t>(take(entry.tensors, "gradient tensors", ""));
    if (count < 1 || count > 100000 || elements < count)
      refuse("/gradients",
             fmt::format("{} elements cannot be divided into {} tensors", elements, count),
             "Correct one of them");
    std::vector<std::int64_t> tensors;
    for (std::int64_t i = 0; i < count; ++i)
      tensors.push_back(elements / count + (i < elements % count ? 1 : 0));
    return tensors;
  }

  void read_gradients() {
    const GradientsEntry& entry = file_.gradients;
    const std::vector<std::string> field_names = list_given_fields(entry);
    const bool counted = entry.elements && entry.tensors;
    if (entry.list.empty() != counted || field_names.size() != (counted ? 4U : 3U))
      refuse("/gradients", "found " + join(field_names, ", "),
             "Expected element_bytes and bucket_bytes with list, or with elements and tensors");
    const std::vector<std::int64_t> tensors = counted ? read_counts(entry) : read_list(entry.list);
    const double element = take(entry.element_bytes, "bytes of an element", "B");
    if (element < 1 || element > 16)
      refuse("/gradients/element_bytes", "found a size that no data type has", "Use 2, 4 or 8");
    input_.element_bytes = static_cast<std::size_t>(element);
    const auto bytes = static_cast<std::int64_t>(take(entry.bucket_bytes, "bucket", "B"));
    input_.tensors = static_cast<std::int64_t>(tensors.size());
    input_.buckets = make_buckets(tensors, bytes / static_cast<std::int64_t>(element));
    add_computed("buckets", input_.buckets.size(), "",
                 "tensors joined until they have the bucket's bytes");
    add_assumed({"tensor i of n at i/n of the backward pass",
                 "as the replay of assay-collectives has it (docs/collectives.md)"},
                "gradients are ready", "");
  }

  void read_network() {
    each("levels", file_.levels, &InputReader::add_level);
    const std::vector<Level>& levels = input_.network.levels;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
      const std::string at = fmt::format("/levels/{}/ranks", i);
      if (levels[i].ranks == 0)
        refuse(at, "found nothing", "Only the outermost level has no ranks");
      if (i > 0 && levels[i].ranks % levels[i - 1].ranks != 0)
        refuse(at,
               fmt::format("{} ranks are not a whole number of groups of {}", levels[i].ranks,
                           levels[i - 1].ranks),
               "Give the ranks of a whole group of this level");
    }
    if (levels.back().ranks != 0)
      refuse(fmt::format("/levels/{}/ranks", levels.size() - 1), "the outermost level has ranks",
             "Leave them out: it spans all ranks of a curve");
    if (file_.segment_bytes)
      input_.network.segment_bytes =
          static_cast<std::int64_t>(take(file_.segment_bytes, "longest message", "B"));
  }

  void add_level(LevelEntry& entry, const std::string& at) {
    Level level{entry.name, entry.ranks.value_or(0)};
    if (entry.links) level.links = take(entry.links, level.name + ": links", "");
    const bool has_cost = entry.alpha_s && entry.bytes_per_s;
    if (entry.measured ? entry.alpha_s || entry.bytes_per_s : !has_cost)
      refuse(at, "found " + join(list_given_fields(entry), ", "),
             "Expected measured, or alpha_s and bytes_per_s");
    if (has_cost) {
      level.alpha = take(entry.alpha_s, level.name + ": alpha", "s");
      level.beta = 1 / take(entry.bytes_per_s, level.name + ": 1/beta", "B/s");
    } else {
      const auto& [file, row, rows] = *entry.measured;
      const MeasuredLink link = read_measured_link(measured_, file, rows, where(at + "/measured"));
      level.alpha = link.fit.alpha;
      level.beta = link.fit.beta;
      const SourceFit fit{link.fit.r_squared, link.fit.worst, link.fit.held_out};
      const std::string source = fmt::format("{}: {}", file, link.what);
      input_.sources.push_back(
          {level.name + ": alpha", level.alpha, "s", "measured", source, link.rows, fit});
      input_.sources.push_back(
          {level.name + ": 1/beta", 1 / level.beta, "B/s", "measured", source, link.rows, fit});
    }
    input_.network.levels.push_back(level);
  }

  void add_way(WayEntry& entry, const std::string& at) {
    WayInput way{entry.way};
    const auto taken = [&](const std::optional<Quantity>& quantity, const char* name,
                           const char* unit) -> std::optional<double> {
      if (!quantity) return std::nullopt;
      return take(quantity, entry.way + ": " + name, unit);
    };
    way.micro_batches = taken(entry.micro_batches, "passes", "");
    way.exchanges = taken(entry.exchanges, "exchanges", "");
    way.activation_bytes = taken(entry.activation_bytes, "activations of an image", "B");
    try {
      expect_way(way);
    } catch (const InputError& error) {
      throw InputError(where(at) + ": " + error.what());
    }
    input_.ways.push_back(way);
  }

  void add_staging(const StagingEntry& entry) {
    StagingInput& staging = input_.staging.emplace();
    staging.nodes = entry.nodes;
    StagingRates& rates = staging.rates;
    double wanted = 0;
    for (const auto& [quantity, value, name, unit] :
         {std::tuple{&entry.bytes, &staging.bytes, "set", "B"},
          {&entry.part, &staging.part, "part of the set on a node", ""},
          {&entry.wanted, &wanted, "training reads", "B/s"},
          {&entry.read, &rates.read, "a node reads shared storage", "B/s"},
          {&entry.shared, &rates.shared, "shared storage", "B/s"},
          {&entry.pass, &rates.pass, "a node receives", "B/s"},
          {&entry.keep, &rates.keep, "a node writes its disk", "B/s"},
          {&entry.local, &rates.local, "a node reads its disk", "B/s"},
          {&entry.disk, &rates.disk, "disk of a node", "B"}})
      if (*quantity) *value = take(*quantity, std::string("staging: ") + name, unit);
    if (wanted > 0) staging.wanted = wanted;
  }

  void check_published(PublishedPoint& published, const std::string& at) {
    if (published.batches != CurveInput()) {
      const auto curve = std::find(input_.curves.begin(), input_.curves.end(), published.batches);
      if (curve == input_.curves.end()) refuse(at, "no curve has its batch", "Add the curve");
      published.curve = static_cast<std::size_t>(curve - input_.curves.begin());
    }
    const auto& algorithms = input_.algorithms;
    if (std::find(algorithms.begin(), algorithms.end(), published.algorithm) == algorithms.end())
      throw InputError(
          where(at + "/algorithm") + ": " +
          explain_unknown_name("algorithm of this file", published.algorithm, algorithms));
    if (std::find(input_.ranks.begin(), input_.ranks.end(), published.ranks) == input_.ranks.end())
      refuse(at + "/ranks",
             fmt::format("{} is not among the numbers of ranks of the curves", published.ranks),
             "Add it to /ranks");
  }

  std::string path_;
  ScaleFile file_;
  MeasuredFiles measured_;
  ScalingInput& input_ = file_.input;
};

}  // namespace

std::filesystem::path find_scale_input(const std::string& name) {
  if (std::filesystem::exists(name) && !std::filesystem::is_directory(name)) return name;
  const std::filesystem::path file = inputs_folder() / (name + ".json");
  if (std::filesystem::is_regular_file(file)) return file;
  throw InputError(
      explain_unknown_name("input of the scaling model", name, list_json_names(inputs_folder())) +
      " It is a JSON file, or the name of a file in " + inputs_folder().string() + ".");
}

ScalingInput read_scale_input(const std::filesystem::path& file) {
  return InputReader(file).read();
}

}  // namespace assay::scaling
