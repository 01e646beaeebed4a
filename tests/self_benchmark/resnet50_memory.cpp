// ratio: memory of a step of training over PyTorch's, above that after loading, batch 16, fp32
// target: <= 1
// pairs: 3
// statistic: max
// needs: hwy assay_models

#include "core/machine/peak_memory.hpp"
#include "models/network/parity.hpp"
#include "tests/self_benchmark/support/network_pairs.hpp"

namespace {

using namespace assay;

/// It runs in a process of its own, as PyTorch does: the network, chosen backends, two steps.
double peak_of_steps() {
  Plugins plugins;
  const auto ranks = make_serial_communicator();
  TrainerSettings settings;
  settings.executor.backends = {"native", "onednn", "blas", "reference"};
  settings.executor.measured = true;
  settings.executor.threads = std::stoi(self_benchmark::pair_threads);
  for (const std::string& backend : settings.executor.backends) plugins.open(backend);
  const PeakMemory memory;
  auto made = Trainer::make(settings, plugins, *ranks);
  if (const auto* const refusal = std::get_if<Unsupported>(&made))
    throw std::runtime_error(refusal->reason);
  Trainer& trainer = *std::get<std::unique_ptr<Trainer>>(made);
  load_random(trainer, 1);
  trainer.prepare();
  for (int step = 0; step < 2; ++step) trainer.step(0.01);
  if (const auto bytes = memory.bytes()) return *bytes;
  throw std::runtime_error("the system tells no peak of memory (not Linux?).");
}

double answer_of(const std::string& command, const char* field) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (const int code = pclose(pipe); code != 0)
    throw std::runtime_error(fmt::format("{} ended with {}", command, code));
  return nlohmann::json::parse(text.substr(0, text.find('\n'))).at(field);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  if (argc > 1 && std::string(argv[1]) == "--child") {
    std::cout << nlohmann::json{{"peak_bytes", peak_of_steps()}} << '\n';
    return 0;
  }
  return print([&]() -> nlohmann::json {
    Peer peer({"pytorch_resnet50", "--mode", "train", "--batch", "1"});
    if (!peer.reason().empty()) return {{"skip", peer.reason()}};
    const std::string theirs = std::string(std::getenv("ASSAY_SOURCE_DIR")) +
                               "/scripts/peers/pytorch_resnet50 --mode train --batch 16 "
                               "--threads " +
                               pair_threads + " </dev/null",
                      ours = fmt::format("'{}' --child", argv[0]);
    nlohmann::json pairs = nlohmann::json::array();
    for (int pair = 0; pair < std::min(pairs_from(argc, argv), 3); ++pair)
      pairs.push_back({answer_of(ours, "peak_bytes"), answer_of(theirs, "peak_bytes")});
    return {{"pairs", pairs}, {"unit", "bytes"}, {"note", peer.name()}};
  });
}
