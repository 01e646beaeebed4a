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

/// The median over the launches.
double median_metric(const Series& series, const char* name, const std::string& where) {
  std::vector<double> values;
  for (const Row& row : series.rows) {
    const auto metric = row.metrics.find(name);
    if (metric == row.metrics.end() || !metric->second.value)
      throw InputError(
          fmt::format("{}: the row {} has no {} (only training has phases). Name a "
                      "row of assay-resnet50 --direction training.",
                      where, row.id, name));
    values.push_back(*metric->second.value);
  }
  return median(values);
}

/// The series of one curve, which differ only in size.
std::vector<const Series*> find_curve(const SeriesList& all, const std::string& pattern,
                                      const std::string& file, const std::string& where) {
  const TextPattern wanted(pattern, where + " at /rows");
  std::vector<const Series*> curve;
  for (const Series& series : all)
    if (series.first().benchmark == "collectives" && has_time(series) && !series.published &&
        wanted.in(series.first().id))
      curve.push_back(&series);
  const auto settings = [](const Series& series) {
    return series.environment + " " + list_parameters_but(series, {"problem", "bytes"});
  };
  for (const Series* series : curve)
    if (settings(*series) != settings(*curve.front()))
      throw InputError(
          fmt::format("{}: {} and {} differ in more than their size. Match the sizes of one curve.",
                      where, curve.front()->first().id, series->first().id));
  if (curve.empty())
    throw InputError(fmt::format(
        "{}: no ok row of collectives in {} has an id that matches '{}'. `assay table {}` lists "
        "the rows.",
        where, file, pattern, file));
  return curve;
}

/// Successive messages on a rank's link in one call, and their bytes.
struct Passes {
  double messages = 0, bytes = 0;
};

/// InputError if the messages of an allreduce are unknown.
void check_messages(const Series& series, const std::string& where) {
  const std::string collective = series.parameter("collective"),
                    algorithm = series.parameter("algorithm"), nodes = series.parameter("nodes"),
                    ranks = series.parameter("ranks");
  const std::string& id = series.first().id;
  std::vector<std::string> known;
  for (const AlgorithmCost& cost : algorithm_costs())
    if (cost.name != "ddl") known.push_back(cost.name);
  if (collective != "allreduce" || std::find(known.begin(), known.end(), algorithm) == known.end())
    throw InputError(fmt::format(
        "{}: the messages of {} by the algorithm {} are not known ({}). Measure sendrecv, or "
        "allreduce by {}.",
        where, collective, algorithm, id, join(known, ", ")));
  for (const char* setting : {"wire", "replay"})
    if (const std::string value = series.parameter(setting); !value.empty() && value != "none")
      throw InputError(fmt::format(
          "{}: {} has {}={} (its messages differ from those of plain calls). Measure without it.",
          where, id, setting, value));
  if (parameter_number(series, "ranks") < 2 || (nodes != "1" && nodes != ranks))
    throw InputError(fmt::format(
        "{}: {} has {} ranks on {} (its links differ). Measure ranks of one node, or one "
        "rank on each node.",
        where, id, ranks, nodes == "1" ? "1 node" : nodes + " nodes"));
}

Passes count_passes(const Series& series, double bytes, const std::string& where) {
  if (series.parameter("collective") == "sendrecv") return {1, bytes};
  check_messages(series, where);
  const int ranks = static_cast<int>(parameter_number(series, "ranks"));
  // If all ranks are on one node, they form one node; otherwise each rank is its own node.
  const int node = series.parameter("nodes") == "1" ? ranks : 1;
  const auto elements =
      static_cast<std::int64_t>(series.first().problem.number("elements").value_or(bytes / 4));
  // On one level the cost is linear, so the counts are its values for alpha = 1 and for beta = 1.
  const auto count = [&](double alpha, double beta) {
    const auto cost = AllreduceCost::make(
        series.parameter("algorithm"), ranks,
        {{{"", node, alpha, beta, 1}, {"", 0, alpha, beta, 1}}, assay_segment_bytes});
    if (const auto* refusal = std::get_if<Unsupported>(&cost))
      throw InputError(
          fmt::format("{}: {} ({}). Name other rows.", where, refusal->reason, series.first().id));
    return std::get<AllreduceCost>(cost).seconds(
        elements, static_cast<std::size_t>(bytes / static_cast<double>(elements)));
  };
  return {count(1, 0), count(0, 1)};
}

std::string describe(const std::vector<const Series*>& curve) {
  const Series& first = *curve.front();
  std::string mark;
  for (const Series* series : curve) mark = worse_mark(mark, choose_mark(*series));
  return fmt::format("{} by {}, {} ranks, {}{}", first.parameter("collective"),
                     first.parameter("algorithm"), first.parameter("ranks"),
                     first.parameter("transport"),
                     mark == shared_mark      ? " (timed while other work used the processors)"
                     : mark == throttled_mark ? " (timed while power or heat throttled a device)"
                                              : "");
}

}  // namespace

const SeriesList& MeasuredFiles::series(const std::string& file) {
  const auto known = read_.find(file);
  if (known != read_.end()) return known->second;
  return read_.emplace(file, make_series(load_results({(folder_ / file).string()}))).first->second;
}

std::vector<std::string> MeasuredFiles::files() const {
  std::vector<std::string> all;
  for (const auto& [file, series] : read_) all.push_back((folder_ / file).string());
  return all;
}

BatchCompute read_measured_compute(MeasuredFiles& files, const std::string& file,
                                   const std::string& id, const std::string& where) {
  const Series* training = nullptr;
  std::vector<std::string> ids;
  for (const Series& series : files.series(file)) {
    ids.push_back(series.first().id);
    if (ids.back() != id) continue;
    if (training != nullptr)
      throw InputError(fmt::format(
          "{}: {} has launches in several environments in {}. Use a file of one machine.", where,
          id, file));
    training = &series;
  }
  if (training == nullptr)
    throw InputError(where + ": " + explain_unknown_name("row of " + file, id, ids));
  if (!has_time(*training) || training->published)
    throw InputError(fmt::format("{}: the row {} of {} has no measured time ({}). Name an ok row.",
                                 where, id, file,
                                 training->published ? "it is published" : training->status));
  const auto part = [&](const char* name) { return median_metric(*training, name, where); };
  const Compute means{part("forward_s"), part("backward_s"), part("update_s")};
  const double waiting = (part("input_percent") + part("exposed_communication_percent")) / 100;
  if (!(means.seconds() > 0) || !(waiting < 1))
    throw InputError(
        fmt::format("{}: the phases of the row {} take no time. Name another row.", where, id));
  // The means of the phases include the slowest steps, but the median of the step does not.
  const double scale = training->median * (1 - waiting) / means.seconds();
  return {static_cast<std::int64_t>(parameter_number(*training, "batch")),
          {means.forward * scale, means.backward * scale, means.update * scale}};
}

MeasuredLink read_measured_link(MeasuredFiles& files, const std::string& file,
                                const std::string& pattern, const std::string& where) {
  const std::vector<const Series*> curve = find_curve(files.series(file), pattern, file, where);
  MeasuredLink link;
  std::vector<double> messages, bytes, seconds;
  std::set<double> sizes;
  for (const Series* series : curve) {
    const std::optional<double> size = message_bytes(*series);
    if (!size) continue;
    const Passes passes = count_passes(*series, *size, where);
    messages.push_back(passes.messages);
    bytes.push_back(passes.bytes);
    seconds.push_back(series->median);
    sizes.insert(*size);
    link.rows.push_back(series->first().id);
  }
  if (sizes.size() < 3)
    throw InputError(fmt::format(
        "{}: {} size{} in {} match '{}' (alpha and beta need at least 3). Measure more sizes.",
        where, sizes.size(), sizes.size() == 1 ? "" : "s", file, pattern));
  link.fit = fit_alpha_beta(messages, bytes, seconds);
  link.what = describe(curve);
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
