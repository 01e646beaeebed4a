#include "analysis/scaling/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/scaling/way_cost.hpp"
#include "core/base/json_fields.hpp"

namespace assay::scaling {

using nlohmann::json;

namespace {

/// Most messages of a step that are simulated one by one: they take some seconds, and 8 bytes each.
constexpr double most_simulated = 2e7;

/// Finds the computation of a batch. If the batch was not measured, its computation is interpolated
/// between the two neighbouring batches.
Result<Compute> find_compute(const std::vector<BatchCompute>& all, std::int64_t batch) {
  const auto above = std::find_if(all.begin(), all.end(), [&](const BatchCompute& measured) {
    return measured.batch >= batch;
  });
  if (above != all.end() && above->batch == batch) return above->compute;
  if (above == all.begin() || above == all.end())
    return Unsupported{fmt::format("the computation is given for batches {} to {}, not for {}",
                                   all.front().batch, all.back().batch, batch)};
  const BatchCompute& low = *(above - 1);
  const double part =
      static_cast<double>(batch - low.batch) / static_cast<double>(above->batch - low.batch);
  const auto between = [&](double Compute::*phase) {
    return low.compute.*phase + part * (above->compute.*phase - low.compute.*phase);
  };
  return Compute{between(&Compute::forward), between(&Compute::backward),
                 between(&Compute::update)};
}

/// The images of a rank, and their computation.
Result<RankWork> find_work(const ScalingInput& input, const CurveInput& curve, int ranks) {
  if (!curve.batch && *curve.global_batch % ranks != 0)
    return Unsupported{
        fmt::format("{} ranks do not divide a global batch of {}", ranks, *curve.global_batch)};
  const std::int64_t batch = curve.batch ? *curve.batch : *curve.global_batch / ranks;
  const auto compute = find_compute(input.compute, batch);
  if (const auto* refusal = std::get_if<Unsupported>(&compute)) return *refusal;
  const std::int64_t elements =
      std::accumulate(input.buckets.begin(), input.buckets.end(), std::int64_t{0},
                      [](std::int64_t sum, const Bucket& bucket) { return sum + bucket.elements; });
  return RankWork{std::get<Compute>(compute), batch,
                  static_cast<double>(elements) * static_cast<double>(input.element_bytes)};
}

/// A point without its efficiency.
PredictedPoint predict_point(const ScalingInput& input, const CurveInput& curve,
                             const std::string& algorithm, int ranks) {
  PredictedPoint point{ranks};
  const auto refuse = [&](const std::string& reason) {
    point.reason = reason;
    return point;
  };
  const auto work = find_work(input, curve, ranks);
  if (const auto* refusal = std::get_if<Unsupported>(&work)) return refuse(refusal->reason);
  const auto& [compute, batch, gradient_bytes] = std::get<RankWork>(work);
  const auto cost = AllreduceCost::make(algorithm, ranks, input.network);
  if (const auto* refusal = std::get_if<Unsupported>(&cost)) return refuse(refusal->reason);
  const auto& allreduce = std::get<AllreduceCost>(cost);
  if (allreduce.simulated_messages() * static_cast<double>(input.buckets.size()) > most_simulated)
    return refuse(fmt::format(
        "ranks do not proceed in step, and more than {:.0e} messages would have to be simulated",
        most_simulated));
  const StepTime step = step_time(compute, input.buckets, input.overlap, [&](const auto& sums) {
    return allreduce.ends(sums, input.element_bytes);
  });
  point.batch = batch;
  point.step_s = step.seconds;
  point.images_per_s = static_cast<double>(batch) * ranks / step.seconds;
  point.compute_s = compute.seconds();
  point.communication_s = step.communication;
  point.exposed_s = step.exposed;
  return point;
}

/// The fastest of the input's algorithms.
Result<double> seconds_of_sum(const ScalingInput& input, int ranks, const Network& network,
                              double bytes) {
  Result<double> best = Unsupported{"no algorithm sums over this number of ranks"};
  const auto element = static_cast<double>(input.element_bytes);
  for (const std::string& algorithm : input.algorithms) {
    const auto cost = AllreduceCost::make(algorithm, ranks, network);
    const auto* allreduce = std::get_if<AllreduceCost>(&cost);
    if (allreduce == nullptr || allreduce->simulated_messages() > most_simulated) continue;
    const double seconds =
        allreduce->seconds(static_cast<std::int64_t>(bytes / element), input.element_bytes);
    if (const auto* known = std::get_if<double>(&best); known == nullptr || seconds < *known)
      best = seconds;
  }
  return best;
}

WayPoint predict_way(const ScalingInput& input, std::size_t index, const WayInput& way, int ranks) {
  WayPoint point{index, way.way, ranks};
  const auto work = find_work(input, input.curves[index], ranks);
  if (const auto* refusal = std::get_if<Unsupported>(&work)) {
    point.reason = refusal->reason;
    return point;
  }
  const auto& known = std::get<RankWork>(work);
  const auto predicted = way_time(way, ranks, input.network, known,
                                  [&](int summing, const Network& network, double bytes) {
                                    return seconds_of_sum(input, summing, network, bytes);
                                  });
  if (const auto* refusal = std::get_if<Unsupported>(&predicted)) {
    point.reason = refusal->reason;
    return point;
  }
  const auto& time = std::get<WayTime>(predicted);
  point.batch = known.images;
  point.step_s = time.seconds;
  point.images_per_s = static_cast<double>(known.images) * time.computing / time.seconds;
  point.communication_s = time.communication;
  point.efficiency =
      *point.images_per_s / ranks * known.compute.seconds() / static_cast<double>(known.images);
  return point;
}

ControlPoint predict_control(const ScalingInput& input, const std::string& way, int ranks) {
  const ControlCost cost = control_cost(way, ranks, input.network);
  const auto tensors = static_cast<double>(input.tensors);
  const double seconds = cost.seconds(tensors), compute = input.compute.front().compute.seconds();
  return {way, ranks, cost.messages * tensors, seconds, compute / std::max(compute, seconds)};
}

StagingPoint predict_staging(const StagingInput& input, int nodes) {
  const auto predicted = staging_time(input.bytes, nodes, input.rates, input.part);
  if (const auto* refusal = std::get_if<Unsupported>(&predicted))
    return {nodes, {}, {}, {}, refusal->reason};
  const auto& time = std::get<StagingTime>(predicted);
  return {nodes, time.seconds, time.node_bytes, time.delivered};
}

PredictedCurve predict_curve(const ScalingInput& input, std::size_t index,
                             const std::string& algorithm) {
  PredictedCurve curve{index, input.curves[index], algorithm};
  for (const int ranks : input.ranks) {
    PredictedPoint& point =
        curve.points.emplace_back(predict_point(input, curve.batches, algorithm, ranks));
    const PredictedPoint& first = curve.points.front();
    if (point.images_per_s && first.images_per_s)
      point.efficiency = *point.images_per_s / ranks / (*first.images_per_s / first.ranks);
  }
  return curve;
}

ComparedPoint compare_point(const PublishedPoint& published,
                            const std::vector<PredictedCurve>& curves) {
  ComparedPoint compared{published};
  for (const PredictedCurve& curve : curves) {
    if (curve.algorithm != published.algorithm || curve.index != published.curve) continue;
    for (const PredictedPoint& point : curve.points)
      if (point.ranks == published.ranks)
        compared.predicted = published.quantity == "efficiency" ? point.efficiency
                             : published.quantity == "step_s"   ? point.step_s
                                                                : point.images_per_s;
  }
  if (compared.predicted) compared.error = *compared.predicted / published.value - 1;
  return compared;
}

std::vector<std::string> make_notes(const ScalingInput& input) {
  const auto count = [&](const char* kind) {
    return std::count_if(input.sources.begin(), input.sources.end(),
                         [&](const Source& source) { return source.kind == kind; });
  };
  return {
      "A prediction, not a measurement. It has no jitter, no contention with other jobs and no "
      "wait for input, and is as good as its inputs.",
      fmt::format("efficiency: images/s per rank, relative to {} rank{}", input.ranks.front(),
                  input.ranks.front() == 1 ? "" : "s"),
      fmt::format("{} inputs are measured, {} assumed, {} computed.", count("measured"),
                  count("assumed"), count("computed"))};
}

}  // namespace

ScalingDocument predict_scaling(const ScalingInput& input, const std::string& command) {
  ScalingDocument document{input.name, input.description, command, input.ranks.front(),
                           input.sources};
  const auto& algorithms = input.algorithms;
  for (const AlgorithmCost& cost : algorithm_costs())
    if (std::find(algorithms.begin(), algorithms.end(), cost.name) != algorithms.end())
      document.algorithms.push_back(cost);
  for (std::size_t i = 0; i < input.curves.size(); ++i)
    for (const std::string& algorithm : algorithms)
      document.curves.push_back(predict_curve(input, i, algorithm));
  for (std::size_t i = 0; i < input.curves.size(); ++i)
    for (const int ranks : input.ranks)
      for (const WayInput& way : input.ways)
        document.ways.push_back(predict_way(input, i, way, ranks));
  for (const int ranks : input.ranks)
    for (const std::string& way : input.control)
      document.control.push_back(predict_control(input, way, ranks));
  if (input.staging) {
    for (const int nodes : input.staging->nodes)
      document.staging.push_back(predict_staging(*input.staging, nodes));
    if (input.staging->wanted)
      document.notes.push_back(
          fmt::format("staging: the disks of {:.0f} nodes give what training reads.",
                      nodes_for_rate(*input.staging->wanted, input.staging->rates)));
  }
  for (const PublishedPoint& published : input.published)
    document.published.push_back(compare_point(published, document.curves));
  for (std::string& note : make_notes(input)) document.notes.push_back(std::move(note));
  return document;
}

static void visit_fields(SameAs<SourceFit> auto& fit, auto& fields) {
  fields.always("r2", fit.r2, "worst", fit.worst);
  fields.nullable("held_out", fit.held_out);
}

static void visit_fields(SameAs<Source> auto& source, auto& fields) {
  fields.always("name", source.name, "value", source.value, "unit", source.unit, "kind",
                source.kind, "source", source.source, "rows", source.rows);
  fields.nullable("fit", source.fit);
}

static void visit_fields(SameAs<AlgorithmCost> auto& cost, auto& fields) {
  fields.always("name", cost.name, "formula", cost.formula, "source", cost.source);
}

static void visit_fields(SameAs<PredictedPoint> auto& point, auto& fields) {
  fields.always("ranks", point.ranks);
  fields.nullable("batch", point.batch, "step_s", point.step_s, "images_per_s", point.images_per_s,
                  "efficiency", point.efficiency, "compute_s", point.compute_s, "communication_s",
                  point.communication_s, "exposed_s", point.exposed_s, "reason", point.reason);
}

static void visit_fields(SameAs<PredictedCurve> auto& curve, auto& fields) {
  fields.always("index", curve.index, "scaling",
                std::string(curve.batches.batch ? "weak" : "strong"), "algorithm", curve.algorithm,
                "points", curve.points);
  fields.nullable("batch", curve.batches.batch, "global_batch", curve.batches.global_batch);
}

static void visit_fields(SameAs<WayPoint> auto& point, auto& fields) {
  fields.always("index", point.index, "way", point.way, "ranks", point.ranks);
  fields.nullable("batch", point.batch, "step_s", point.step_s, "images_per_s", point.images_per_s,
                  "efficiency", point.efficiency, "communication_s", point.communication_s,
                  "reason", point.reason);
}

static void visit_fields(SameAs<ControlPoint> auto& point, auto& fields) {
  fields.always("way", point.way, "ranks", point.ranks, "messages", point.messages, "seconds",
                point.seconds, "efficiency", point.efficiency);
}

static void visit_fields(SameAs<StagingPoint> auto& point, auto& fields) {
  fields.always("nodes", point.nodes);
  fields.nullable("seconds", point.seconds, "node_bytes", point.node_bytes, "bytes_per_s",
                  point.bytes_per_s, "reason", point.reason);
}

static void visit_fields(SameAs<ComparedPoint> auto& point, auto& fields) {
  fields.always("ranks", point.published.ranks, "algorithm", point.published.algorithm, "quantity",
                point.published.quantity, "published", point.published.value, "citation",
                point.published.citation);
  fields.nullable("predicted", point.predicted, "error", point.error, "note", point.published.note);
}

static void visit_fields(SameAs<ScalingDocument> auto& document, auto& fields) {
  fields.always("name", document.name, "description", document.description, "command",
                document.command, "reference_ranks", document.reference_ranks, "inputs",
                document.inputs, "algorithms", document.algorithms, "curves", document.curves,
                "published", document.published, "notes", document.notes);
  fields.optional("ways", document.ways, "control", document.control, "staging", document.staging);
}

void to_json(json& object, const ScalingDocument& document) {
  object = write_fields(document);
  object["schema"] = "assay-scaling/1";
}

}  // namespace assay::scaling
