#include "models/network/batch_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "core/api/random.hpp"
#include "core/base/error.hpp"
#include "datasets/images/decode_oracle.hpp"
#include "models/input/input_sets.hpp"
#include "models/network/parameters.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int pixels_of_image = 24;
constexpr std::int64_t files_of_batch = 8;
constexpr std::int64_t looked_at = 64;  // labels of an image that are checked for their range

/// The number after `letter` in a descriptor like "d18w8s32c10" or "learnable:n2000v500".
std::optional<std::int64_t> number_after(const std::string& text, char letter) {
  for (std::size_t at = text.find(letter); at != text.npos; at = text.find(letter, at + 1))
    if (at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9')
      return std::stoll(text.substr(at + 1));
  return std::nullopt;
}

/// The part of a set's name that has its numbers: before the hash of its content.
std::string quote_numbers(const std::string& name) {
  const std::size_t first = name.find(':');
  return first == name.npos ? "" : name.substr(first + 1, name.find(':', first + 1) - first - 1);
}

/// The encoded bytes and the label of a sample, read from the place that the set states.
Sample read_again(const SampleSet& set, std::int64_t index, std::int64_t label_base) {
  const std::string where = set.where(index), mark = ", offset ";
  const std::size_t comma = where.rfind(mark);
  std::ifstream file(where.substr(0, comma), std::ios::binary);
  Sample sample;
  if (comma == where.npos) {
    sample.encoded.assign(std::istreambuf_iterator<char>(file), {});
    const fs::path folder = fs::path(where).parent_path();
    std::set<std::string> classes;
    for (const auto& entry : fs::directory_iterator(folder.parent_path()))
      if (entry.is_directory()) classes.insert(entry.path().filename().string());
    sample.label = std::distance(classes.begin(), classes.find(folder.filename().string()));
    return sample;
  }
  file.seekg(std::stoll(where.substr(comma + mark.size())));
  std::uint8_t head[12] = {};  // a length and its checksum
  file.read(reinterpret_cast<char*>(head), sizeof(head));
  std::uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes * 256 + head[i];
  if (!file || bytes > (std::uint64_t{1} << 32)) throw BadSample(where + ": no record");
  Bytes record(bytes);
  file.read(reinterpret_cast<char*>(record.data()), static_cast<std::streamsize>(bytes));
  if (!file) throw BadSample(where + ": no record");
  ImageExample example;
  parse_example(record, example);
  sample.encoded.assign(example.encoded.begin(), example.encoded.end());
  sample.label = example.label - label_base;
  return sample;
}

/// Chooses at most `most` of `count` labels, different ones in each step.
struct Strided {
  std::int64_t count, step, first;
  Strided(std::int64_t labels, std::int64_t most, std::int64_t begin)
      : count(labels), step(std::max<std::int64_t>(1, (labels + most - 1) / most)) {
    first = begin % step;
  }
};

std::string name_place(const Batch& batch, std::int64_t image) {
  return fmt::format("image {} of the batch of step {} of epoch {} (sample {})", image, batch.step,
                     batch.epoch + 1, batch.samples[static_cast<std::size_t>(image)]);
}

}  // namespace

DataClaims::DataClaims(const Settings& settings, const DefinedInput& defined, std::uint64_t seed)
    : classes(defined.classes),
      input(defined.shape),
      labels(defined.labels),
      class_factors(defined.class_factors) {
  const auto whole = [&](const char* name) { return std::stoll(settings.at(name)); };
  const std::string& data = settings.at("data");
  batch = whole("batch");
  passes = whole("accumulate");
  ranks = whole("ranks");
  bad_samples = whole("max_bad_samples");
  label_base = whole("label_base");
  augment = settings.at("augment");
  image_seed = seed;
  trial_seed = seed + std::stoull(settings.at("trial")) * 2654435761;
  if (data == "synthetic") return;
  kind = data.starts_with("learnable") ? Kind::learnable : Kind::files;
  const std::string numbers = quote_numbers(data);
  train_images = number_after(numbers, 'n').value_or(60000);
  if (kind == Kind::learnable) {
    valid_images = number_after(numbers, 'v').value_or(1000);
    return;
  }
  training = data;
  validation = settings.at("validation") == "none" ? data : settings.at("validation");
  valid_images = number_after(quote_numbers(validation), 'n').value_or(0);
}

BatchOracle::BatchOracle(const DataClaims& claims, int rank) : claims_(claims), rank_(rank) {
  if (claims_.kind != DataClaims::Kind::files) return;
  const SampleSetOptions options{claims_.label_base, claims_.classes};
  training_ = sample_set(claims_.training, options, claims_.image_seed);
  validation_ = sample_set(claims_.validation, options, claims_.image_seed);
}

std::string BatchOracle::fault(const Batch& batch, bool training) const {
  std::string fault = fault_of_numbers(batch, training);
  std::mt19937_64 random(1000003 * batch.epoch + static_cast<std::uint64_t>(batch.step));
  const bool files = claims_.kind == DataClaims::Kind::files;
  const auto first =
      static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(claims_.batch));
  for (std::int64_t i = 0; fault.empty() && i < claims_.batch; ++i) {
    const std::int64_t image = (first + i) % claims_.batch;
    if (files && i >= files_of_batch) break;
    if (!files || batch.samples[static_cast<std::size_t>(image)] < 0) {
      fault = fault_of_image(batch, image, training, pixels_of_image);
      continue;
    }
    try {
      fault = fault_of_file(batch, image, training);
    } catch (const std::exception& error) {  // only on this rank: the other ranks would wait for it
      fault = fmt::format("{} cannot be read again: {}", name_place(batch, image), error.what());
    }
  }
  return fault;
}

std::string BatchOracle::glance(const Batch& batch) {
  if (claims_.kind == DataClaims::Kind::one_batch) return "";
  if (std::string fault = fault_of_numbers(batch, true); !fault.empty()) return fault;
  // A sample comes once in an epoch, unless it replaces a bad one.
  const TakenSample before = std::exchange(last_, {batch.epoch, batch.step, batch.samples.front()});
  if (before.epoch == batch.epoch && before.step != batch.step &&
      before.sample == batch.samples.front() && claims_.bad_samples == 0)
    return fmt::format("{} is a sample of step {}, too", name_place(batch, 0), before.step);
  if (claims_.kind == DataClaims::Kind::learnable)
    if (std::string fault = fault_of_image(batch, batch.step % claims_.batch, true, 2);
        !fault.empty())
      return fault;
  if (claims_.kind != DataClaims::Kind::files) return "";
  std::uint64_t hash = 0;
  const std::size_t image = batch.images.size() / static_cast<std::size_t>(claims_.batch);
  for (std::size_t at = image / 2; at < batch.images.size(); at += image)
    for (const std::size_t pixel : {at, at - image / 4, at + image / 5})
      hash = std::rotl(
          (hash ^ std::bit_cast<std::uint32_t>(batch.images[pixel])) * 0x9E3779B97F4A7C15U, 29);
  const bool repeats = std::find(taken_.begin(), taken_.end(), hash) != taken_.end();
  taken_[next_++ % taken_.size()] = hash;
  return repeats ? fault(batch, true) : "";  // equal images are no fault in themselves
}

/// Checks sizes, and the numbers of samples: each within its set, and in order in an evaluation.
std::string BatchOracle::fault_of_numbers(const Batch& batch, bool training) const {
  const auto size = static_cast<std::size_t>(claims_.batch);
  const std::int64_t samples = training ? claims_.train_images : claims_.valid_images;
  if (batch.labels.size() != size * labels_of_image() || batch.samples.size() != size ||
      batch.images.size() != size * static_cast<std::size_t>(claims_.input.elements()))
    return fmt::format("a batch has {} labels, {} samples and {} pixels, not those of {} images",
                       batch.labels.size(), batch.samples.size(), batch.images.size(), size);
  for (std::int64_t i = 0; i < claims_.batch; ++i) {
    const std::int64_t sample = batch.samples[static_cast<std::size_t>(i)];
    const std::int64_t place = (batch.step * claims_.ranks + rank_) * claims_.batch + i;
    std::int64_t expected = sample;
    if (claims_.kind == DataClaims::Kind::one_batch) expected = rank_ * claims_.batch + i;
    if (!training) expected = place < samples ? place : -1;
    const bool missing = !training && sample == -1 && claims_.bad_samples > 0;
    if (sample != expected && !missing)
      return fmt::format("{} must be sample {}", name_place(batch, i), expected);
    if (training && claims_.kind != DataClaims::Kind::one_batch &&
        (sample < 0 || sample >= samples))
      return fmt::format("{} is none of the {} samples", name_place(batch, i), samples);
    const std::span<const std::int64_t> labels = slice_labels(batch, i);
    const Strided some(std::ssize(labels), looked_at, batch.step);
    for (std::int64_t at = some.first; at < some.count; at += some.step)
      if (const std::int64_t label = labels[static_cast<std::size_t>(at)];
          (label < 0) != (sample < 0) || label >= claims_.classes)
        return fmt::format("{} has the label {}", name_place(batch, i), label);
  }
  return "";
}

std::optional<FieldOracle> BatchOracle::field(const Batch& batch, std::int64_t image,
                                              bool training) const {
  const std::int64_t sample = batch.samples[static_cast<std::size_t>(image)];
  if (claims_.kind != DataClaims::Kind::learnable || claims_.labels != Labels::per_pixel ||
      sample < 0)
    return std::nullopt;
  return FieldOracle(claims_.input, claims_.image_seed, LearnableOracle::number(sample, training));
}

/// The label of a pixel, or of an image, which is treated as one pixel.
std::int64_t BatchOracle::label(const Batch& batch, const Place& at, bool training,
                                const std::optional<FieldOracle>& field) const {
  const std::int64_t sample = batch.samples[static_cast<std::size_t>(at.image)];
  if (sample < 0) return -1;
  if (claims_.kind != DataClaims::Kind::learnable)
    return (7 * at.image + 3 + rank_ + at.row * claims_.input.width + at.column) % claims_.classes;
  return field ? field->label(at.row, at.column)
               : LearnableOracle::number(sample, training) % claims_.classes;
}

/// All labels of small images, and some of large ones.
std::string BatchOracle::fault_of_labels(const Batch& batch, std::int64_t image, bool training,
                                         std::int64_t most,
                                         const std::optional<FieldOracle>& field) const {
  const std::span<const std::int64_t> labels = slice_labels(batch, image);
  const Strided some(std::ssize(labels), most, batch.step + image);
  for (std::int64_t i = some.first; i < some.count; i += some.step) {
    const Place at{image, i / claims_.input.width, i % claims_.input.width, 0};
    const std::int64_t expected = label(batch, at, training, field),
                       is = labels[static_cast<std::size_t>(i)];
    if (is != expected)
      return fmt::format(
          "{} has the label {} (expected {}){}", name_place(batch, image), is, expected,
          some.count == 1 ? "" : fmt::format(" at the pixel [{}, {}]", at.row, at.column));
  }
  return "";
}

double BatchOracle::compute(const Batch& batch, const Place& at, bool training,
                            const std::optional<FieldOracle>& field) const {
  const std::int64_t sample = batch.samples[static_cast<std::size_t>(at.image)];
  if (sample < 0) return 0;
  const auto [channels, height, width] = claims_.input;
  if (claims_.kind == DataClaims::Kind::learnable) {
    const std::int64_t number = LearnableOracle::number(sample, training);
    if (field) return field->at(at.row, at.column, at.channel);
    if (claims_.labels == Labels::none)
      return learnable_expression(claims_.image_seed, number, at.channel);
    return height * width == 1
               ? learnable_count(claims_.classes, claims_.image_seed, number, at.channel)
               : LearnableOracle(claims_.classes, width, claims_.image_seed)
                     .at(number, at.row, at.column, at.channel);
  }
  const std::int64_t element =
      ((at.image * channels + at.channel) * height + at.row) * width + at.column;
  return Values(Values::Kind::mantissa, claims_.image_seed, "images", DataType::fp32, 0)
      .of_rank(rank_)(element);
}

/// Generated images have one value for each element.
std::string BatchOracle::fault_of_image(const Batch& batch, std::int64_t image, bool training,
                                        int pixels) const {
  constexpr std::int64_t labels_of_pixel = 32;
  const std::optional<FieldOracle> own = field(batch, image, training);
  if (std::string fault = fault_of_labels(batch, image, training, labels_of_pixel * pixels, own);
      !fault.empty())
    return fault;
  std::mt19937_64 random(batch.epoch + static_cast<std::uint64_t>(7919 * batch.step + image));
  const auto any = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  };
  for (int i = 0; i < pixels; ++i) {
    const Place at{image, any(claims_.input.height), any(claims_.input.width),
                   any(claims_.input.channels)};
    if (std::string fault = compare(batch, at, compute(batch, at, training, own), 0);
        !fault.empty())
      return fault;
  }
  return "";
}

std::string BatchOracle::fault_of_file(const Batch& batch, std::int64_t image,
                                       bool training) const {
  const std::int64_t index = batch.samples[static_cast<std::size_t>(image)],
                     label = batch.labels[static_cast<std::size_t>(image)];
  const std::string& name = training ? claims_.training : claims_.validation;
  const Sample sample = read_again(training ? *training_ : *validation_, index,
                                   name.starts_with("generated") ? 0 : claims_.label_base);
  if (label != sample.label)
    return fmt::format("{} has the label {} (expected {})", name_place(batch, image), label,
                       sample.label);
  const DecodeOracle decoded(
      sample.encoded,
      {static_cast<int>(claims_.input.height), training, claims_.augment, claims_.trial_seed},
      batch.epoch, index);
  if (!decoded.is_decided()) return "";
  std::mt19937_64 random(batch.epoch + static_cast<std::uint64_t>(7919 * batch.step + image));
  const auto any = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  };
  for (int i = 0; i < pixels_of_image; ++i) {
    const Place at{image, any(claims_.input.height), any(claims_.input.width),
                   any(claims_.input.channels)};
    const DecodeOracle::Element expected = decoded.at(
        static_cast<int>(at.row), static_cast<int>(at.column), static_cast<int>(at.channel));
    if (std::string fault = compare(batch, at, expected.value, expected.bound); !fault.empty())
      return fault;
  }
  return "";
}

std::string BatchOracle::compare(const Batch& batch, const Place& at, double expected,
                                 double bound) const {
  const double value = batch.images[static_cast<std::size_t>(
      ((at.image * claims_.input.height + at.row) * claims_.input.width + at.column) *
          claims_.input.channels +
      at.channel)];
  if (std::fabs(value - expected) <= bound) return "";
  return fmt::format("channel {} of the pixel [{}, {}] of {} is {} (expected {} within {:.3g})",
                     at.channel, at.row, at.column, name_place(batch, at.image), value, expected,
                     bound);
}

std::string BatchOracle::fault_of_copy(const Batch& batch, const Executor& executor) {
  const Graph& graph = executor.graph();
  const std::vector<double> labels =
      graph.labels == Graph::none ? std::vector<double>() : read_values(executor, graph.labels);
  if (labels.size() != batch.labels.size())
    return fmt::format("the network has {} labels, the batch {}", labels.size(),
                       batch.labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (batch.labels[i] >= 0 && labels[i] != static_cast<double>(batch.labels[i]))
      return fmt::format(
          "the network has the label {} for {}, not {}", labels[i],
          name_place(batch, static_cast<std::int64_t>(i / (labels.size() / batch.samples.size()))),
          batch.labels[i]);
  const GraphValue& value = graph.value(graph.images);
  const std::int64_t channels = value.dims[1], plane = value.dims[2] * value.dims[3];
  std::string fault;
  executor.device().get(executor.tensor(graph.images), [&](std::int64_t first,
                                                           std::span<const double> part) {
    for (std::size_t i = 0; fault.empty() && i < part.size(); ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i), image = at / (channels * plane),
                         channel = at / plane % channels, pixel = at % plane;
      const double expected = round_to(
          value.type,
          batch.images[static_cast<std::size_t>((image * plane + pixel) * channels + channel)]);
      if (part[i] != expected)
        fault = fmt::format("the network has {} as element {} of {}, not {}", part[i],
                            channel * plane + pixel, name_place(batch, image), expected);
    }
  });
  return fault;
}

}  // namespace assay
