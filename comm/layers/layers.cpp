#include "comm/layers/layers.hpp"

#include <fmt/format.h>

#include <numeric>

#include "comm/forwarding.hpp"
#include "comm/layers/fusion.hpp"
#include "comm/layers/wire.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/program/suite.hpp"

namespace assay {

namespace {

Dimension axis(std::string name, std::string help, std::vector<std::string> values,
               const std::string& standard) {
  return make_dimension(std::move(name), std::move(help), std::move(values), {standard}, "",
                        standard);
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
constexpr double most_seconds = 1000;

std::size_t fusion_bytes(const std::string& text) {
  return static_cast<std::size_t>(size_number("--fusion", text, most_bytes));
}
double compute_seconds(const std::string& text) {
  return number_between("--compute", text, 0, most_seconds);
}

/// The uppermost layer; owns the layers below it.
class Stack final : public ForwardingCommunicator {
 public:
  explicit Stack(std::vector<std::unique_ptr<Communicator>> layers)
      : ForwardingCommunicator(*layers.back()), layers_(std::move(layers)) {}
  ~Stack() override {
    while (!layers_.empty()) layers_.pop_back();  // destroys each layer before the layer below it
  }

 private:
  std::vector<std::unique_ptr<Communicator>> layers_;
};

}  // namespace

std::vector<Dimension> layer_dimensions() {
  return {
      axis("wire",
           "type in which fp32 and fp64 data are sent; sums are computed in the type of the data",
           {"none", "fp16", "bf16"}, "none"),
      axis("replay", "run one allreduce for each tensor of this list (resnet50: its gradients)", {},
           "none"),
      axis("fusion", "with --replay: fuse tensors up to this many bytes into one call (4M)", {},
           "0"),
      axis("compute",
           "with --replay: seconds of a computation during which the tensors become ready; time "
           "beyond it is executed.exposed_s",
           {}, "0"),
      axis("progress",
           "with --compute: how calls progress meanwhile: library (by the library alone, as if "
           "this processor computed) or polled (by this processor, as if an accelerator computed)",
           {"library", "polled"}, "library")};
}

std::optional<ReplaySettings> complete_layers(const Benchmark& benchmark, Settings& settings) {
  const bool replays = settings.at("replay") != "none";
  const std::size_t fused_bytes = replays ? fusion_bytes(settings["fusion"]) : 0;
  const double seconds = replays ? compute_seconds(settings["compute"]) : 0;
  settings["fusion"] = std::to_string(fused_bytes);
  settings["compute"] = fmt::format("{}", seconds);
  if (seconds == 0) settings["progress"] = "library";  // no time in which to poll
  if (!replays) return std::nullopt;
  if (settings.at("collective") != "allreduce")
    throw InputError(
        fmt::format("--replay cannot replay {} (gradients are combined by allreduce). Use "
                    "--collective allreduce.",
                    settings.at("collective")));
  settings["mode"] = "blocking";  // fusion and the computation decide which calls are started
  ReplaySettings replay{replay_counts(benchmark, settings.at("replay")), fused_bytes > 0, seconds,
                        settings.at("progress") == "polled"};
  settings["problem"] = "n" + std::to_string(std::accumulate(replay.counts.begin(),
                                                             replay.counts.end(), std::int64_t{0}));
  return replay;
}

std::vector<std::int64_t> replay_counts(const Benchmark& benchmark, const std::string& list) {
  std::vector<std::int64_t> counts;
  for (const NamedProblem& problem : find_problems(benchmark, list)) {
    if (!problem.descriptor.starts_with("n"))
      throw InputError(fmt::format(
          "'{}' is a size in bytes (the tensors of a replay are counted in elements). Write n1000.",
          problem.name.empty() ? list : problem.name));
    counts.push_back(std::stoll(problem.descriptor.substr(1)));
  }
  return counts;
}

std::unique_ptr<Communicator> add_layers(std::unique_ptr<Communicator> algorithm,
                                         const Options& options) {
  std::vector<std::unique_ptr<Communicator>> layers;
  layers.push_back(std::move(algorithm));
  if (const std::string wire = options.get("wire", "none"); wire != "none")
    layers.push_back(wire_compressed(*layers.back(), data_type(wire)));
  if (const std::size_t bytes = fusion_bytes(options.get("fusion", "0")); bytes > 0)
    layers.push_back(make_fusion(*layers.back(), bytes));
  if (layers.size() == 1) return std::move(layers.front());
  return std::make_unique<Stack>(std::move(layers));
}

}  // namespace assay
