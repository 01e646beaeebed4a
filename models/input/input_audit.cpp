#include "models/input/input_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/error.hpp"
#include "datasets/images/decode_oracle.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr int checked_numbers = 32;  // of an image
/// Probability below which two equal random orders are a fault.
constexpr double least_probability = 1e-12;

}  // namespace

InputClaims::InputClaims(const Settings& settings, std::uint64_t of_seed)
    : ranks(std::stoi(settings.at("ranks"))),
      interleave(std::stoi(settings.at("interleave"))),
      training(settings.at("view") == "train"),
      layout(settings.at("image_layout") == "nchw" ? ImageLayout::nchw : ImageLayout::nhwc),
      seed(of_seed),
      threads(std::stoi(settings.at("threads"))),
      prefetch(std::stoi(settings.at("prefetch"))),
      step_seconds(std::stod(settings.at("step")) / 1000),
      cold(settings.at("page_cache") == "cold") {
  long of_run = 0, of_batch = 0;
  const std::string& text = settings.at("problem");
  if (std::sscanf(text.c_str(), "n%ldmb%lds%d", &of_run, &of_batch, &side) != 3)
    throw CaseError(fmt::format("'{}' says no number of images", text));
  images = of_run;
  batch = of_batch;
}

InputAudit::InputAudit(std::shared_ptr<const SampleSet> set, const InputClaims& claims,
                       Communicator& ranks)
    : set_(std::move(set)),
      claims_(claims),
      ranks_(ranks),
      order_(set_->size(), set_->shards(), claims.seed, claims.training, claims.interleave) {}

DecodeSettings InputAudit::decode() const {
  return {claims_.side, claims_.training, claims_.layout, claims_.seed};
}

std::int64_t InputAudit::steps() const {
  const std::int64_t of_all = claims_.batch * claims_.ranks;
  return claims_.training ? set_->size() / of_all : (set_->size() + of_all - 1) / of_all;
}

std::int64_t InputAudit::position(std::int64_t step, std::int64_t i) const {
  const std::int64_t position = (step * claims_.ranks + ranks_.rank()) * claims_.batch + i;
  return position < set_->size() ? position : -1;
}

InputAudit::Place InputAudit::place(std::uint64_t first_epoch, std::int64_t i) const {
  const std::int64_t step = i / claims_.batch;
  return {first_epoch + static_cast<std::uint64_t>(step / steps()),
          position(step % steps(), i % claims_.batch)};
}

std::int64_t InputAudit::sample(const Place& place) const {
  if (place.position < 0) return -1;
  return order_.samples(place.epoch)->at(static_cast<std::size_t>(place.position));
}

std::string InputAudit::fault_of_samples(std::uint64_t first_epoch,
                                         const std::vector<std::int64_t>& samples, bool replaced) {
  // Number of occurrences of each sample in the first epoch, over all ranks.
  std::vector<double> times(static_cast<std::size_t>(set_->size()) + 1);
  times.back() = replaced ? 1 : 0;
  const std::int64_t expected = std::min(images(), steps() * claims_.batch);
  const auto count = std::min(expected, std::int64_t{std::ssize(samples)});
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t sample = samples[static_cast<std::size_t>(i)];
    if (sample >= 0 && sample < set_->size())
      times[static_cast<std::size_t>(sample)] += 1;
    else
      valid = false;
  }
  RankCalls(ranks_).sum(times);
  if (std::ssize(samples) != images())
    return fmt::format("a run has {} images on a rank, not {}", samples.size(), images());
  if (times.back() > 0) return "";
  if (!valid) return "a run has images of no sample";
  times.pop_back();
  const auto twice = std::find_if(times.begin(), times.end(), [](double n) { return n > 1; });
  if (twice != times.end())
    return fmt::format("sample {} comes {:.0f} times in an epoch", twice - times.begin(), *twice);
  return fault_of_order(first_epoch, {samples.begin(), samples.begin() + count});
}

std::string InputAudit::fault_of_order(std::uint64_t epoch, std::vector<std::int64_t> samples) {
  bool of_set = true;  // in the order of the set
  for (std::size_t i = 0; i < samples.size(); ++i)
    of_set = of_set && samples[i] == place(epoch, static_cast<std::int64_t>(i)).position;
  if (!claims_.training) return of_set ? "" : "the samples are not in the order of the set";
  // A group of mixed shards has at least as many samples as the smallest shard.
  const std::vector<std::int64_t> shards = set_->shards();
  std::int64_t mixed = set_->size();
  for (std::size_t i = 0; claims_.interleave > 0 && i < shards.size(); ++i)
    mixed = std::min(mixed, (i + 1 < shards.size() ? shards[i + 1] : set_->size()) - shards[i]);
  double same = 1;  // the probability of one particular order
  const auto drawn = std::min<std::int64_t>(mixed, std::ssize(samples));
  for (std::int64_t i = 0; i < drawn; ++i) same /= static_cast<double>(mixed - i);
  if (same > least_probability) return "";
  if (of_set) return "the samples of training are in the order of the set";
  std::string fault;
  if (!other_samples_.empty() && other_epoch_ != epoch && other_samples_ == samples)
    fault = fmt::format("epochs {} and {} have the same order", other_epoch_, epoch);
  other_epoch_ = epoch;
  other_samples_ = std::move(samples);
  return fault;
}

std::string InputAudit::fault_of_image(const Bytes& encoded, std::uint64_t epoch,
                                       std::int64_t sample, const std::vector<float>& image) const {
  const DecodeOracle oracle(encoded, {claims_.side, claims_.training, "crop+flip", claims_.seed},
                            epoch, sample);
  if (!oracle.is_decided()) return "";
  std::mt19937_64 random(epoch + 7919 * static_cast<std::uint64_t>(sample));
  const auto any = [&](int count) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(count));
  };
  for (int i = 0; i < checked_numbers; ++i) {
    const int side = claims_.side, row = any(side), column = any(side), colour = any(3);
    const DecodeOracle::Element expected = oracle.at(row, column, colour);
    const double value = image[static_cast<std::size_t>(
        claims_.layout == ImageLayout::nhwc ? (row * side + column) * 3 + colour
                                            : (colour * side + row) * side + column)];
    if (!(std::abs(value - expected.value) <= expected.bound))
      return fmt::format("colour {} of pixel [{}, {}] of {} is {} (expected {} within {:.3g})",
                         colour, row, column, set_->where(sample), value, expected.value,
                         expected.bound);
  }
  return "";
}

}  // namespace assay
