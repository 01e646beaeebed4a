#include "analysis/scaling/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/load.hpp"
#include "analysis/pattern.hpp"
#include "analysis/scaling/allreduce_cost.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay::scaling {

namespace {

using nlohmann::json;

/// A number of the row's metrics; nothing where it is absent or null.
std::optional<double> metric(const json& row, const char* name) {
  const json metrics = row.value("metrics", json::object());
  if (!metrics.contains(name) || !metrics[name]["value"].is_number()) return std::nullopt;
  return metrics[name]["value"].get<double>();
}

double median_metric(const Series& series, const char* name, const std::string& where) {
  std::vector<double> values;
  for (const json& row : series.rows) {
    const std::optional<double> value = metric(row, name);
    if (!value)
      throw InputError(
          fmt::format("{}: the row {} has no {} (only training has phases). Name a "
                      "row of assay-resnet50 --direction training.",
                      where, text_of(row, "id"), name));
    values.push_back(*value);
  }
  return median(values);
}

/// All parameters but those of the size.
std::string settings_of(const Series& series) {
  return parameters_but(series, {"problem", "bytes"});
}

std::vector<const Series*> matching(const std::vector<Series>& all, const std::string& pattern,
                                    const std::string& file, const std::string& where) {
  const Pattern wanted(pattern, where + " at /rows");
  std::vector<const Series*> found;
  for (const Series& series : all)
    if (text_of(series.first(), "benchmark") == "collectives" && has_time(series) &&
        !series.published && wanted.in(text_of(series.first(), "id")))
      found.push_back(&series);
  for (const Series* series : found)
    if (settings_of(*series) != settings_of(*found.front()) ||
        series->environment != found.front()->environment)
      throw InputError(fmt::format(
          "{}: {} and {} differ in more than their size. Match the sizes of one curve.", where,
          text_of(found.front()->first(), "id"), text_of(series->first(), "id")));
  if (found.empty())
    throw InputError(fmt::format(
        "{}: no ok row of collectives in {} has an id that matches '{}'. `assay table {}` lists "
        "the rows.",
        where, file, pattern, file));
  return found;
}

/// Messages and bytes that follow each other on a rank's link in one call.
struct Passes {
  double messages = 0, bytes = 0;
};

Passes passes_of(const Series& series, double bytes, const std::string& where) {
  const std::string collective = series.parameter("collective"),
                    algorithm = series.parameter("algorithm");
  if (collective == "sendrecv") return {1, bytes};
  std::vector<std::string> known;
  for (const AlgorithmCost& cost : algorithm_costs())
    if (cost.name != "ddl") known.push_back(cost.name);
  if (collective != "allreduce" || std::find(known.begin(), known.end(), algorithm) == known.end())
    throw InputError(fmt::format(
        "{}: the messages of {} by the algorithm {} are not known ({}). Measure sendrecv, or "
        "allreduce by {}.",
        where, collective, algorithm, text_of(series.first(), "id"), join(known, ", ")));
  for (const char* setting : {"wire", "replay"})
    if (!series.parameter(setting).empty() && series.parameter(setting) != "none")
      throw InputError(fmt::format(
          "{}: {} has {}={} (its messages differ from those of plain calls). Measure without it.",
          where, text_of(series.first(), "id"), setting, series.parameter(setting)));
  const int ranks = std::stoi(series.parameter("ranks"));
  if (ranks < 2 ||
      (series.parameter("nodes") != "1" && series.parameter("nodes") != series.parameter("ranks")))
    throw InputError(fmt::format(
        "{}: {} has {} ranks on {} nodes (its links differ). Measure ranks of one node, or one "
        "rank on each node.",
        where, text_of(series.first(), "id"), ranks, series.parameter("nodes")));
  // On one level the cost is linear: its values at alpha = 1 and at beta = 1 are the counts. Ranks
  // of one node are inside a node; others are each a node.
  const bool inside = series.parameter("nodes") == "1";
  const auto count = [&](double alpha, double beta) {
    Network network{{{"", inside ? ranks : 1, alpha, beta, 1}, {"", 0, alpha, beta, 1}},
                    assay_segment_bytes};
    auto cost = AllreduceCost::make(algorithm, ranks, network);
    if (auto* refusal = std::get_if<Unsupported>(&cost))
      throw InputError(fmt::format("{}: {} ({}). Name other rows.", where, refusal->reason,
                                   text_of(series.first(), "id")));
    const json elements = series.first()["problem"].value("elements", json());
    const std::int64_t whole =
        elements.is_number() ? elements.get<std::int64_t>() : static_cast<std::int64_t>(bytes / 4);
    return std::get<AllreduceCost>(cost).seconds(
        whole, static_cast<std::size_t>(bytes / static_cast<double>(whole)));
  };
  return {count(1, 0), count(0, 1)};
}

}  // namespace

const std::vector<Series>& MeasuredFiles::series(const std::string& file) {
  const auto found = read_.find(file);
  if (found != read_.end()) return found->second;
  return read_.emplace(file, series_of(load_results({(folder_ / file).string()}))).first->second;
}

std::vector<std::string> MeasuredFiles::files() const {
  std::vector<std::string> all;
  for (const auto& [file, series] : read_) all.push_back((folder_ / file).string());
  return all;
}

MeasuredCompute measured_compute(MeasuredFiles& files, const std::string& file,
                                 const std::string& id, const std::string& where) {
  const Series* found = nullptr;
  std::vector<std::string> ids;
  for (const Series& series : files.series(file)) {
    const std::string of = text_of(series.first(), "id");
    ids.push_back(of);
    if (of != id) continue;
    if (found != nullptr)
      throw InputError(fmt::format(
          "{}: {} has launches in several environments in {}. Use a file of one machine.", where,
          id, file));
    found = &series;
  }
  if (found == nullptr) throw InputError(where + ": " + unknown_name("row of " + file, id, ids));
  if (!has_time(*found) || found->published)
    throw InputError(fmt::format("{}: the row {} of {} has no measured time ({}). Name an ok row.",
                                 where, id, file,
                                 found->published ? "it is published" : found->status));
  const auto part = [&](const char* name) { return median_metric(*found, name, where); };
  const double forward = part("forward_s"), backward = part("backward_s"),
               update = part("update_s");
  const double waiting = (part("input_percent") + part("exposed_communication_percent")) / 100;
  const double phases = forward + backward + update;
  if (!(phases > 0) || !(waiting < 1))
    throw InputError(
        fmt::format("{}: the phases of the row {} take no time. Name another row.", where, id));
  // Means of phases contain the slowest steps; the median of the step does not.
  const double scale = found->median * (1 - waiting) / phases;
  return {
      {std::stoll(found->parameter("batch")), {forward * scale, backward * scale, update * scale}},
      {id}};
}

MeasuredLink measured_link(MeasuredFiles& files, const std::string& file,
                           const std::string& pattern, const std::string& where) {
  const std::vector<const Series*> found = matching(files.series(file), pattern, file, where);
  MeasuredLink link;
  std::vector<double> messages, bytes, seconds;
  std::set<double> sizes;
  for (const Series* series : found) {
    const std::optional<double> size = message_bytes(*series);
    if (!size) continue;
    const Passes passes = passes_of(*series, *size, where);
    messages.push_back(passes.messages);
    bytes.push_back(passes.bytes);
    seconds.push_back(series->median);
    sizes.insert(*size);
    link.rows.push_back(text_of(series->first(), "id"));
  }
  if (sizes.size() < 3)
    throw InputError(fmt::format(
        "{}: {} size{} in {} match '{}' (alpha and beta need at least 3). Measure more sizes.",
        where, sizes.size(), sizes.size() == 1 ? "" : "s", file, pattern));
  link.fit = fit_alpha_beta(messages, bytes, seconds);
  const Series& first = *found.front();
  std::string mark;
  for (const Series* series : found) mark = worse_mark(mark, mark_of(*series));
  link.what = fmt::format(
      "{} by {}, {} ranks, {}{}", first.parameter("collective"), first.parameter("algorithm"),
      first.parameter("ranks"), first.parameter("transport"),
      mark == shared_mark      ? " (timed while other work used the processors)"
      : mark == throttled_mark ? " (timed while power or heat throttled a device)"
                               : "");
  if (!(link.fit.r_squared >= least_r_squared))
    throw InputError(fmt::format(
        "{}: time = alpha + beta * bytes does not describe {} in {} (R2 {:.3f}, needed {}). Name "
        "sizes of one protocol, measured on a quiet machine.",
        where, link.what, file, link.fit.r_squared, least_r_squared));
  if (!(link.fit.alpha > 0) || !(link.fit.beta > 0))
    throw InputError(fmt::format(
        "{}: the fit of {} in {} gives alpha {:.3g} s and beta {:.3g} s/byte (both must be "
        "positive). Add {} sizes.",
        where, link.what, file, link.fit.alpha, link.fit.beta,
        link.fit.alpha > 0 ? "larger" : "smaller"));
  return link;
}

}  // namespace assay::scaling
