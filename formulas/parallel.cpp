#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/numbers.hpp"
#include "formulas/network.hpp"

namespace assay::formula {
namespace {

std::string metric(const std::string& name) { return "/metrics/" + name + "/value"; }

/// The histogram of staleness, and what follows from it.
void check_staleness(const Claims& claims) {
  constexpr int classes = 8;
  double count = 0, sum = 0, most = 0, negative = 0;
  for (int i = 0; i < classes; ++i) {
    const double gradients =
        claims.number(metric(fmt::format("gradients_of_staleness_{}", i))).value_or(0);
    count += gradients;
    sum += i * gradients;
    negative = std::min(negative, gradients);
    if (gradients > 0) most = i;
  }
  const std::string origin = "gradients_of_staleness_* of /metrics";
  const auto more =
      claims.number(metric(fmt::format("gradients_of_staleness_{}_or_more", classes)));
  claims.expect(metric("updates_of_parts"), count + more.value_or(0), "the sum of " + origin);
  claims.require(negative >= 0, metric("updates_of_parts"), "no number below 0", origin);
  const auto claimed_max = claims.number(metric("staleness_max"));
  if (!more) {
    claims.expect(metric("staleness_max"), most, origin);
    claims.expect(metric("staleness_mean"), count > 0 ? sum / count : 0, origin);
  } else if (claimed_max) {
    claims.require(*claimed_max >= classes, metric("staleness_max"), "8 or more", origin);
  }
  const auto lost = claims.number(metric("gradients_lost"));
  claims.require(!lost || (*lost >= 0 && *lost <= count + more.value_or(0)),
                 metric("gradients_lost"), "0 to all gradients", origin);
  const auto slowest = claims.number(metric("steps_of_slowest_worker")),
             fastest = claims.number(metric("steps_of_fastest_worker"));
  claims.require(!slowest || !fastest || (*slowest >= 0 && *slowest <= *fastest),
                 metric("steps_of_slowest_worker"), "not above steps_of_fastest_worker", origin);
}

struct Pipeline {
  double stages = 1, passes = 1;
  bool keeps_all = false;  ///< fill-drain
};

/// Shares, slots and bubbles of the stages.
void check_stages(const Claims& claims, const Pipeline& pipeline) {
  double shares = 0, busy = 0;
  const auto idle = [&](double work, double stages, const char* of_seconds) {
    return 1 - work / (stages * claims.number(metric(of_seconds)).value_or(0));
  };
  for (int i = 0; i < static_cast<int>(pipeline.stages); ++i) {
    const std::string stage = fmt::format("stage{}_", i + 1);
    shares += claims.number(metric(stage + "flops_share")).value_or(0);
    const double own = pipeline.passes * (claims.number(metric(stage + "forward_s")).value_or(0) +
                                          claims.number(metric(stage + "backward_s")).value_or(0));
    busy += own;
    claims.expect(
        metric(stage + "slots"),
        pipeline.keeps_all ? pipeline.passes : std::min(pipeline.passes, pipeline.stages - i),
        "/parameters/parallel and accumulate");
    claims.expect(metric(stage + "bubble"), idle(own, 1, "pipeline_s"), "the times of the stage");
  }
  claims.expect(metric("stage1_flops_share"),
                claims.number(metric("stage1_flops_share")).value_or(0) + 1 - shares,
                "the shares of the other stages");
  claims.expect(metric("bubble_balanced"),
                (pipeline.stages - 1) / (pipeline.passes + pipeline.stages - 1),
                "/parameters/parallel and accumulate");
  claims.expect(metric("bubble"), idle(busy, pipeline.stages, "pipeline_s"),
                "the times of the stages");
  claims.expect(metric("bubble_predicted"), idle(busy, pipeline.stages, "pipeline_predicted_s"),
                "the times of the stages");
  const auto judged = claims.number(metric("judged_steps")),
             equal = claims.number(metric("judged_steps_equal_bits"));
  claims.require(!judged || !equal || (*equal >= 0 && *equal <= *judged),
                 metric("judged_steps_equal_bits"), "at most judged_steps", "/metrics");
}

/// Checks "mlp" without dropout, whose layers are divided by pairs: the features behind each pair
/// are summed and, backward, the features before each pair except the first.
void check_split_mlp(const Claims& claims, double feature) {
  const std::string text = claims.text("/problem/descriptor");
  if (!text.starts_with("mlp:") || claims.parameter("precision") != "fp32") return;
  const Fields shape = parse_fields(text.substr(text.find(':') + 1));
  const double width = value(shape, "w", 0), layers = value(shape, "l", 0) + 1;
  if (value(shape, "p", 0) > 0 || layers < 2) return;
  const double pairs = std::floor(layers / 2);
  const double last = 2 * pairs == layers ? value(shape, "c", 0) : width;
  claims.expect(metric("sums_of_pass"), 2 * pairs - 1, "the layers of the descriptor");
  claims.expect(metric("summed_bytes"), feature * (2 * (pairs - 1) * width + last),
                "the layers of the descriptor, /parameters/batch and accumulate");
}

/// A rank has one of `parts` parts of each divided layer. The predicted time of the sums is their
/// time alone plus the waits for other ranks.
void check_split(const Claims& claims, double parts, double passes, const SplitSums& of_network) {
  const double divided = claims.number(metric("divided_flops_share")).value_or(0);
  claims.require(divided > 0 && divided <= 1, metric("divided_flops_share"), "above 0, up to 1",
                 "the layers that are divided");
  claims.expect(metric("rank_flops_share"), 1 - divided + divided / parts,
                "divided_flops_share and /parameters/parallel");
  // A sum has whole features of all samples.
  const std::string emulated = claims.parameter("emulate"),
                    stored = emulated.empty() || emulated == "none" ? claims.parameter("precision")
                                                                    : emulated;
  const double feature =
      claims.number("/parameters/batch").value_or(0) * passes * element_bytes(stored).input;
  const auto summed = claims.number(metric("summed_bytes"));
  const auto sums = claims.number(metric("sums_of_pass"));
  claims.require(!sums || (*sums >= 1 && std::floor(*sums) == *sums), metric("sums_of_pass"),
                 "a whole number from 1", "the layers that are divided");
  claims.require(!summed || feature == 0 ||
                     (*summed >= sums.value_or(1) * feature && std::fmod(*summed, feature) == 0),
                 metric("summed_bytes"), "a feature of all samples or more for each sum",
                 "/parameters/batch, accumulate and precision");
  check_split_mlp(claims, feature);
  if (of_network.count > 0 && std::fmod(of_network.features, parts) == 0) {
    claims.expect(metric("sums_of_pass"), of_network.count, "the layers of the descriptor");
    claims.expect(metric("summed_bytes"), feature * of_network.elements,
                  "the layers of the descriptor, /parameters/batch, accumulate and precision");
  }
  for (const char* const positive :
       {"sums_s", "sums_alone_s", "sums_predicted_s", "memory_of_rank_bytes"})
    if (const auto claim = claims.number(metric(positive)))
      claims.require(*claim > 0, metric(positive), "above 0", "what a rank has measured");
  const auto alone = claims.number(metric("sums_alone_s")),
             waits = claims.number(metric("sums_waits_predicted_s"));
  claims.require(!waits || *waits >= 0, metric("sums_waits_predicted_s"), "0 or more",
                 "what a rank has measured");
  if (alone && waits)  // rows of earlier versions have neither
    claims.expect(metric("sums_predicted_s"), *alone + *waits,
                  "sums_alone_s and sums_waits_predicted_s");
}

}  // namespace

void check_parallel(const Claims& claims, const std::string& kind, double number, double passes,
                    const SplitSums& sums) {
  if (kind == "async" || kind == "stale" || kind == "server") check_staleness(claims);
  if (kind == "pipeline")
    check_stages(claims, {number, passes,
                          claims.parameter("parallel").find("fill-drain") != std::string::npos});
  if (kind == "split") check_split(claims, number, passes, sums);
}

}  // namespace assay::formula
