#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/mllog/submission.hpp"
#include "formulas/quality.hpp"

namespace assay::mllog {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class Log {
 public:
  void point(double time, const char* key, const json& value,
             const json& metadata = json::object()) {
    line("POINT_IN_TIME", time, key, value, metadata);
  }
  void start(double time, const char* key, const json& metadata = json::object()) {
    line("INTERVAL_START", time, key, nullptr, metadata);
  }
  void stop(double time, const char* key, const json& metadata = json::object()) {
    line("INTERVAL_END", time, key, nullptr, metadata);
  }
  std::string text() && { return std::move(text_); }

 private:
  void line(const char* event, double time, const char* key, const json& value,
            const json& metadata) {
    ordered_json entry;
    entry["namespace"] = "";
    entry["time_ms"] = std::llround(1000 * time);
    entry["event_type"] = event;
    entry["key"] = key;
    entry["value"] = value;
    entry["metadata"] = metadata;
    text_ += fmt::format(":::MLLOG {}\n", entry.dump());
  }

  std::string text_;
};

/// Hyperparameters under the names of the rules.
void add_learning(Log& log, double time, const RunFacts& facts, std::int64_t images) {
  const std::string rule = facts.text("optimizer"), prefix = rule + "_opt_";
  const auto point = [&](const std::string& key, const json& value) {
    log.point(time, key.c_str(), value);
  };
  const Schedule schedule = parse_schedule(facts.text("schedule"));
  const std::int64_t warmup = facts.count("warmup", 0), decays = facts.count("epochs", 0) - warmup;
  point("opt_name", rule);
  point(prefix + "base_learning_rate", facts.base_rate());
  point(prefix + "end_learning_rate", schedule.end);
  point(prefix + "learning_rate_decay_poly_power", std::llround(schedule.power));
  point(prefix + "learning_rate_decay_steps", decays * facts.count_steps(images));
  point(prefix + "momentum", facts.execution("momentum"));
  point(prefix + "weight_decay", facts.execution("weight_decay"));
  if (rule == "lars") {
    point("lars_epsilon", 0.0);
    point("lars_opt_learning_rate_warmup_epochs", warmup);
  } else {
    point("opt_learning_rate_warmup_epochs", warmup);
    point("model_bn_span", facts.count("batch", 0));
  }
}

/// A block is the training between two validations.
void add_epochs(Log& log, const std::vector<Epoch>& epochs) {
  const auto which = [](const Epoch& epoch) -> json { return {{"epoch_num", epoch.epoch}}; };
  for (std::size_t i = 0; i < epochs.size();) {
    std::size_t last = i;
    while (find_quality(epochs[last].measures).empty()) ++last;
    const json first{{"first_epoch_num", epochs[i].epoch}};
    json block = first;
    block["epoch_count"] = last - i + 1;
    log.start(epochs[i].started_unix_s.value(), "block_start", block);
    for (; i <= last; ++i) {
      log.start(epochs[i].started_unix_s.value(), "epoch_start", which(epochs[i]));
      log.stop(epochs[i].trained_unix_s.value(), "epoch_stop", which(epochs[i]));
    }
    const Epoch& end = epochs[last];
    const double ended = end.ended_unix_s.value();
    log.start(end.trained_unix_s.value(), "eval_start", which(end));
    const std::string quality = find_quality(end.measures);
    log.point(ended, ("eval_" + quality).c_str(), end.measures.at(quality), which(end));
    log.stop(ended, "eval_stop", which(end));
    log.stop(ended, "block_stop", first);
  }
}

}  // namespace

std::string make_log(const RunHeader& run, const Row& row, const Submitter& submitter) {
  const RunFacts facts(row);
  const double start = facts.start_time();
  const std::int64_t images = count_images(facts.text("data")).value_or(0);
  Log log;
  log.point(start, "cache_clear", submitter.cache_cleared);
  log.start(start, "init_start");
  log.point(start, "submission_benchmark", "resnet");
  log.point(start, "submission_org", submitter.organisation);
  log.point(start, "submission_division", "closed");
  log.point(start, "submission_status", submitter.status);
  log.point(start, "submission_platform", submitter.platform);
  log.point(start, "seed", run.seed ? json(*run.seed) : json());
  log.point(start, "global_batch_size", facts.global_batch());
  log.point(start, "gradient_accumulation_steps", facts.count("accumulate", 1));
  log.point(start, "train_samples", images);
  log.point(start, "eval_samples", count_images(facts.text("validation")).value_or(0));
  add_learning(log, start, facts, images);
  log.stop(start, "init_stop");
  log.start(start, "run_start");
  add_epochs(log, row.epochs);
  log.stop(row.epochs.back().ended_unix_s.value(), "run_stop", {{"status", "success"}});
  return std::move(log).text();
}

}  // namespace assay::mllog
