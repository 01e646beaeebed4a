// ratio: a step with images from JPEG files over a resident step plus the decoding, batch 16, fp32
// target: <= 1
// pairs: 10
// needs: JPEG assay_models

#include "models/network/training_data.hpp"
#include "tests/self_benchmark/support/network_pairs.hpp"

namespace {

using namespace assay;

/// Steps and batches of a sample: more than are decoded ahead.
constexpr int in_sample = 4;

/// More images than all samples read, of the size that ImageNet's have on average.
constexpr const char* images = "generated:n1024c1000w500h375";

double mean_seconds(self_benchmark::TimedNetwork& network) {
  double sum = 0;
  for (int step = 0; step < in_sample; ++step) sum += network.seconds(1);
  return sum / in_sample;
}

/// The time to decode a batch by as many threads as a step has, which do nothing else.
double decode_seconds(Batches& batches) {
  batches.start(batches.state(), in_sample);
  const auto start = std::chrono::steady_clock::now();
  for (int batch = 0; batch < in_sample; ++batch) (void)batches.next();
  return seconds_since(start) / in_sample;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&]() -> nlohmann::json {
    if (!why_no_images().empty()) return {{"skip", why_no_images()}};
    using Axes = std::map<std::string, std::string>;
    // One backend, so that both networks have the same operations.
    const Axes common{{"backend", "native"}, {"batch", "16"}};
    Axes reads = common;
    reads["data"] = images;
    TimedNetwork reading(reads), resident(common);
    for (const TimedNetwork* network : {&reading, &resident})
      if (!network->reason().empty()) return {{"skip", network->reason()}};
    TrainingData data;
    data.data = images;
    data.threads = std::stoi(pair_threads);
    const auto batches = make_training_batches(data, BatchShare{16, 0, 1, true, 1});
    mean_seconds(reading);
    double decode = 0;
    const auto found = alternate(
        pairs_from(argc, argv), [&] { return mean_seconds(reading); },
        [&] { return mean_seconds(resident) + (decode = decode_seconds(*batches)); });
    reading.verify();
    resident.verify();
    return {{"pairs", found},
            {"unit", "s"},
            {"note", fmt::format("{}, {} steps a side, {:.3f} s to decode a batch of 500 x 375",
                                 resident.name(), in_sample, decode)}};
  });
}
