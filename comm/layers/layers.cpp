#include "comm/layers/layers.hpp"

#include <fmt/format.h>

#include <charconv>

#include "comm/forwarding.hpp"
#include "comm/layers/fusion.hpp"
#include "comm/layers/replay.hpp"
#include "comm/layers/wire.hpp"
#include "core/base/error.hpp"
#include "core/program/suite.hpp"

namespace assay {

namespace {

Dimension axis(std::string name, std::string help, std::vector<std::string> values,
               std::string otherwise) {
  Dimension made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.values = std::move(values);
  made.defaults = {otherwise};
  made.omit = std::move(otherwise);
  return made;
}

template <class Number>
Number number_of(const std::string& text, const std::string& what, Number most) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) || number > most)
    throw InputError(
        fmt::format("'{}' is no {} (a number from 0 to {} was expected).", text, what, most));
  return number;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
constexpr double most_seconds = 1000;

/// The uppermost layer, which keeps those below.
class Stack final : public ForwardingCommunicator {
 public:
  explicit Stack(std::vector<std::unique_ptr<Communicator>> layers)
      : ForwardingCommunicator(*layers.back()), layers_(std::move(layers)) {}
  ~Stack() override {
    while (!layers_.empty()) layers_.pop_back();  // a layer goes before what it lies on
  }

 private:
  std::vector<std::unique_ptr<Communicator>> layers_;
};

}  // namespace

std::vector<Dimension> layer_dimensions() {
  return {axis("wire", "type in which fp32 and fp64 data travel (sums stay in their own)",
               {"none", "fp16", "bf16"}, "none"),
          axis("replay",
               "allreduce the tensors of this list one after the other (resnet50: its gradients)",
               {}, "none"),
          axis("fusion", "of a replay: tensors that together have at most so many bytes go as one",
               {}, "0"),
          axis("compute",
               "of a replay: seconds of a computation that makes the tensors; what it does not "
               "hide is executed.exposed_s",
               {}, "0"),
          axis("progress",
               "of a replay with a computation: left to the library, as where this processor "
               "computes, or polled by this processor, as where an accelerator does",
               {"library", "polled"}, "library")};
}

void complete_layers(const Benchmark& benchmark, Settings& settings) {
  const bool replays = settings.at("replay") != "none";
  settings["fusion"] =
      std::to_string(replays ? number_of(settings["fusion"], "size of fusion", most_bytes) : 0);
  settings["compute"] = fmt::format(
      "{}",
      replays ? number_of(settings["compute"], "length of a computation", most_seconds) : 0.0);
  if (settings["compute"] == "0") settings["progress"] = "library";  // nothing to poll in
  if (!replays) return;
  if (settings.at("collective") != "allreduce")
    throw InputError(
        fmt::format("a replay of {} is not known (gradients are allreduced). Use "
                    "--collective allreduce.",
                    settings.at("collective")));
  settings["mode"] = "blocking";  // its tensors are started or not as the layers need it
  std::int64_t elements = 0;
  for (const std::int64_t count : replay_counts(benchmark, settings.at("replay")))
    elements += count;
  settings["problem"] = "n" + std::to_string(elements);
}

std::vector<std::int64_t> replay_counts(const Benchmark& benchmark, const std::string& list) {
  std::vector<std::int64_t> counts;
  for (const NamedProblem& problem : find_problems(benchmark, list)) {
    if (!problem.descriptor.starts_with("n"))
      throw InputError(fmt::format(
          "'{}' has bytes, not elements (a replay's tensors are of any type). Write n1000.",
          problem.name.empty() ? list : problem.name));
    counts.push_back(std::stoll(problem.descriptor.substr(1)));
  }
  return counts;
}

std::unique_ptr<Communicator> layered(std::unique_ptr<Communicator> algorithm,
                                      const Benchmark& benchmark, const Options& options) {
  std::vector<std::unique_ptr<Communicator>> layers;
  layers.push_back(std::move(algorithm));
  if (const std::string wire = options.get("wire", "none"); wire != "none")
    layers.push_back(wire_compressed(*layers.back(), data_type(wire)));
  if (const std::string replay = options.get("replay", "none"); replay != "none") {
    const std::int64_t fusion = number_of(options.get("fusion", "0"), "fusion", most_bytes);
    if (fusion > 0) layers.push_back(fused(*layers.back(), static_cast<std::size_t>(fusion)));
    layers.push_back(std::make_unique<Replay>(
        *layers.back(),
        ReplaySettings{replay_counts(benchmark, replay), fusion > 0,
                       number_of(options.get("compute", "0"), "compute", most_seconds),
                       options.get("progress", "library") == "polled"}));
  }
  if (layers.size() == 1) return std::move(layers.front());
  return std::make_unique<Stack>(std::move(layers));
}

}  // namespace assay
