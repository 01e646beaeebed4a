#pragma once
// Pipelines of tests, and a set whose samples do what a test wants.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "datasets/images/input_pipeline.hpp"
#include "tests/datasets/images/image_sets.hpp"

namespace assay {

constexpr int small_side = 16;

inline PipelineSettings small_settings(std::int64_t batch = 4, int threads = 2) {
  PipelineSettings settings;
  settings.decode = {small_side, true, ImageLayout::nhwc, 11};
  settings.batch = batch;
  settings.threads = threads;
  return settings;
}

/// A copy of a batch.
struct Copy {
  std::uint64_t epoch;
  std::int64_t step, count;
  std::vector<float> images;
  std::vector<std::int64_t> labels, samples;
  bool operator==(const Copy&) const = default;
};

inline Copy copy_of(const Batch& batch) {
  return {batch.epoch,
          batch.step,
          batch.count,
          {batch.images.begin(), batch.images.end()},
          {batch.labels.begin(), batch.labels.end()},
          {batch.samples.begin(), batch.samples.end()}};
}

inline std::vector<Copy> batches_of(const SampleSet& set, const PipelineSettings& settings,
                                    int count, const PipelineState& from = {}) {
  InputPipeline pipeline(set, settings);
  pipeline.start(from, count);
  std::vector<Copy> all;
  for (int i = 0; i < count; ++i) all.push_back(copy_of(pipeline.next()));
  return all;
}

/// A set in memory whose samples do what a test wants.
class FakeSet final : public SampleSet {
 public:
  explicit FakeSet(std::int64_t size) : size_(size), image_(test_image(0)) {}
  std::int64_t size() const override { return size_; }
  std::int64_t classes() const override { return 5; }
  std::string canonical() const override { return "fake"; }
  std::vector<std::int64_t> shards() const override { return {0}; }
  std::string where(std::int64_t index) const override { return "fake " + std::to_string(index); }
  const std::vector<std::string>& faults() const override { return faults_; }
  std::vector<std::string> files() const override { return {}; }
  void read(std::int64_t index, Sample& sample) const override {
    ++reads;
    if (on_read) on_read(index);
    sample.encoded = image_;
    sample.label = index % 5;
  }
  std::function<void(std::int64_t)> on_read;
  mutable std::atomic<int> reads = 0;
  std::vector<std::string> faults_;

 private:
  std::int64_t size_;
  Bytes image_;
};

}  // namespace assay
