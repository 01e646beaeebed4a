#include "analysis/scaling/document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/scaling/allreduce_cost.hpp"
#include "core/base/error.hpp"

namespace assay::scaling {

using nlohmann::json;

namespace {

/// Messages of a step that are followed one by one: some seconds, and 8 bytes each.
constexpr double most_followed = 2e7;

/// The computation for a batch: given, or on the line between the two given batches beside it.
Result<Compute> compute_for(const std::vector<BatchCompute>& all, std::int64_t batch) {
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

struct Predicted {
  std::int64_t batch;
  Compute compute;
  StepTime step;
  double images_per_s;
};

Result<std::int64_t> batch_of(const CurveInput& curve, int ranks) {
  if (curve.batch) return *curve.batch;
  if (*curve.global_batch % ranks != 0)
    return Unsupported{
        fmt::format("{} ranks do not divide a global batch of {}", ranks, *curve.global_batch)};
  return *curve.global_batch / ranks;
}

Result<Predicted> predict(const ScaleInput& input, const CurveInput& curve,
                          const std::string& algorithm, int ranks) {
  auto batch = batch_of(curve, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&batch)) return *refusal;
  auto compute = compute_for(input.compute, std::get<std::int64_t>(batch));
  if (auto* refusal = std::get_if<Unsupported>(&compute)) return *refusal;
  auto cost = AllreduceCost::make(algorithm, ranks, input.network);
  if (auto* refusal = std::get_if<Unsupported>(&cost)) return *refusal;
  const auto& allreduce = std::get<AllreduceCost>(cost);
  if (allreduce.followed() * static_cast<double>(input.buckets.size()) > most_followed)
    return Unsupported{fmt::format(
        "ranks do not proceed in step, and more than {:.0e} messages would have to be simulated",
        most_followed)};
  const auto ends = [&](const std::vector<Asked>& asked) {
    return allreduce.ends(asked, input.element_bytes);
  };
  Predicted made{std::get<std::int64_t>(batch), std::get<Compute>(compute), {}, 0};
  made.step = step_time(made.compute, input.buckets, input.overlap, ends);
  made.images_per_s = static_cast<double>(made.batch) * ranks / made.step.seconds;
  return made;
}

json point_of(const Result<Predicted>& predicted, int ranks, const Predicted* reference,
              int reference_ranks) {
  json point = {{"ranks", ranks},
                {"batch", nullptr},
                {"step_s", nullptr},
                {"images_per_s", nullptr},
                {"efficiency", nullptr},
                {"compute_s", nullptr},
                {"communication_s", nullptr},
                {"exposed_s", nullptr},
                {"reason", nullptr}};
  if (const auto* refusal = std::get_if<Unsupported>(&predicted)) {
    point["reason"] = refusal->reason;
    return point;
  }
  const auto& made = std::get<Predicted>(predicted);
  point["batch"] = made.batch;
  point["step_s"] = made.step.seconds;
  point["images_per_s"] = made.images_per_s;
  point["compute_s"] = made.compute.seconds();
  point["communication_s"] = made.step.communication;
  point["exposed_s"] = made.step.exposed;
  if (reference != nullptr)
    point["efficiency"] = made.images_per_s / ranks / (reference->images_per_s / reference_ranks);
  return point;
}

json curve_of(const ScaleInput& input, const CurveInput& curve, const std::string& algorithm) {
  json made = {{"scaling", curve.batch ? "weak" : "strong"},
               {"batch", curve.batch ? json(*curve.batch) : json()},
               {"global_batch", curve.global_batch ? json(*curve.global_batch) : json()},
               {"algorithm", algorithm},
               {"points", json::array()}};
  const int first = input.ranks.front();
  const Result<Predicted> reference = predict(input, curve, algorithm, first);
  for (const int ranks : input.ranks)
    made["points"].push_back(point_of(predict(input, curve, algorithm, ranks), ranks,
                                      std::get_if<Predicted>(&reference), first));
  return made;
}

/// A published point, with what is predicted for it and how far off that is.
json published_of(const Published& published, const json& curves) {
  json made = {{"ranks", published.ranks},
               {"algorithm", published.algorithm},
               {"quantity", published.quantity},
               {"published", published.value},
               {"predicted", nullptr},
               {"error", nullptr},
               {"citation", published.citation},
               {"note", published.note.empty() ? json() : json(published.note)}};
  for (const json& curve : curves) {
    if (curve["algorithm"] != published.algorithm || curve["index"] != published.curve) continue;
    for (const json& point : curve["points"])
      if (point["ranks"] == published.ranks) made["predicted"] = point[published.quantity];
  }
  if (made["predicted"].is_number())
    made["error"] = made["predicted"].get<double>() / published.value - 1;
  return made;
}

json notes_of(const ScaleInput& input) {
  json notes = json::array();
  notes.push_back(
      "A prediction, not a measurement. It has no jitter, no contention with other jobs and no "
      "wait "
      "for input, and is as good as its inputs.");
  notes.push_back(fmt::format("efficiency: images/s per rank, relative to {} rank{}",
                              input.ranks.front(), input.ranks.front() == 1 ? "" : "s"));
  const std::size_t assumed = static_cast<std::size_t>(
      std::count_if(input.sources.begin(), input.sources.end(),
                    [](const json& source) { return source["kind"] == "assumed"; }));
  const std::size_t measured = static_cast<std::size_t>(
      std::count_if(input.sources.begin(), input.sources.end(),
                    [](const json& source) { return source["kind"] == "measured"; }));
  notes.push_back(fmt::format("{} inputs are measured, {} assumed, {} computed.", measured, assumed,
                              input.sources.size() - measured - assumed));
  return notes;
}

}  // namespace

json scaling_document(const ScaleInput& input) {
  json document = {{"schema", "assay-scaling/1"},      {"name", input.name},
                   {"description", input.description}, {"reference_ranks", input.ranks.front()},
                   {"inputs", input.sources},          {"algorithms", json::array()},
                   {"curves", json::array()},          {"published", json::array()},
                   {"notes", notes_of(input)}};
  for (const AlgorithmCost& cost : algorithm_costs())
    if (std::find(input.algorithms.begin(), input.algorithms.end(), cost.name) !=
        input.algorithms.end())
      document["algorithms"].push_back(
          {{"name", cost.name}, {"formula", cost.formula}, {"source", cost.source}});
  for (std::size_t i = 0; i < input.curves.size(); ++i)
    for (const std::string& algorithm : input.algorithms) {
      document["curves"].push_back(curve_of(input, input.curves[i], algorithm));
      document["curves"].back()["index"] = i;
    }
  for (const Published& published : input.published)
    document["published"].push_back(published_of(published, document["curves"]));
  return document;
}

}  // namespace assay::scaling
