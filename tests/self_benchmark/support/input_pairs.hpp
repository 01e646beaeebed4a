#pragma once
// The common part of the ratios of the input pipeline: a generated set, a bare loop of
// libjpeg-turbo over the same images, one thread on each side.

#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "datasets/images/image_writer.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace assay::self_benchmark {

constexpr std::int64_t input_images = 128, input_batch = 32;

/// Images per second of the bare loop, which decodes them whole.
inline double bare_rate(BareJpegLoop& loop, const std::vector<Bytes>& images) {
  const auto start = std::chrono::steady_clock::now();
  for (const Bytes& image : images) loop.decode(image);
  return static_cast<double>(images.size()) / seconds_since(start);
}

/// Images per second of the pipeline with one thread over those of the bare loop.
inline nlohmann::json input_ratio(int pairs, bool training) {
  if (!why_no_images().empty()) return {{"skip", why_no_images()}};
  std::string name = (std::filesystem::temp_directory_path() / "assay_input_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return {{"skip", "no folder for temporary files"}};
  const std::shared_ptr<void> removed(nullptr, [&](void*) { std::filesystem::remove_all(name); });
  ImageSetFormat format;
  format.files = 4;
  write_image_set(*make_generated_images({input_images, 10, {500, 375}, 1, 0}), name + "/set",
                  format);
  const auto set = open_samples(name + "/set", {0, 10});
  std::vector<Bytes> images;
  Sample sample;
  double bytes = 0;
  for (std::int64_t i = 0; i < set->size(); ++i) {
    set->read(i, sample);
    images.push_back(sample.encoded);
    bytes += static_cast<double>(sample.encoded.size());
  }
  PipelineSettings settings;
  settings.decode.training = training;
  settings.batch = input_batch;
  InputPipeline pipeline(*set, settings);
  std::uint64_t epoch = 0;
  const auto pipeline_rate = [&] {
    const auto start = std::chrono::steady_clock::now();
    pipeline.start({epoch++, 0, {}}, input_images / input_batch);
    for (std::int64_t i = 0; i < input_images / input_batch; ++i) pipeline.next();
    return static_cast<double>(input_images) / seconds_since(start);
  };
  const auto loop = make_bare_jpeg_loop();
  pipeline_rate();
  bare_rate(*loop, images);
  return {{"pairs", alternate(pairs, pipeline_rate, [&] { return bare_rate(*loop, images); })},
          {"unit", "images/s"},
          {"note", "500 x 375, " + std::to_string(static_cast<int>(bytes / input_images)) +
                       " bytes each, page cache, 1 thread"}};
}

}  // namespace assay::self_benchmark
