#include "datasets/images/decode_oracle.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.hpp"

namespace assay {
namespace {

/// Mean and deviation of the colours of ImageNet, as torchvision's documentation has them.
constexpr double channel_mean[] = {0.485, 0.456, 0.406},
                 channel_deviation[] = {0.229, 0.224, 0.225};
constexpr double roundoff = 0x1p-24;  // of fp32

std::array<std::uint32_t, 4> draw_words_of(std::uint64_t seed, std::uint64_t epoch,
                                           std::int64_t sample, std::uint32_t attempt) {
  const auto number = static_cast<std::uint64_t>(sample);
  const r123::Philox4x32::ctr_type counter{{static_cast<std::uint32_t>(number),
                                            static_cast<std::uint32_t>(number >> 32),
                                            static_cast<std::uint32_t>(epoch), attempt}};
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ 0x76696577U}};
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

double share(std::uint32_t word) { return (static_cast<double>(word) + 0.5) / 4294967296.0; }

/// A side in whole pixels. Near a tie the view is undecided, because another program may round the
/// operations before it differently.
double whole(double side, ClaimedView& view) {
  if (std::fabs(side - std::floor(side) - 0.5) < 1e-9) view.decided = false;
  return std::floor(side + 0.5);
}

/// One of `places`, in whole numbers.
double place(std::uint32_t word, double places) {
  const auto count = static_cast<std::uint64_t>(places);
  return static_cast<double>((2 * std::uint64_t{word} + 1) * count >> 33);
}

/// The largest centred part with an aspect ratio between 3 : 4 and 4 : 3.
ClaimedView largest_centred(ImageSize image) {
  ClaimedView view;
  view.width = image.width;
  view.height = image.height;
  if (4 * std::int64_t{image.width} < 3 * std::int64_t{image.height})
    view.height = std::max(1.0, whole(view.width * 4 / 3, view));
  else if (3 * std::int64_t{image.width} > 4 * std::int64_t{image.height})
    view.width = std::max(1.0, whole(view.height * 4 / 3, view));
  view.left = std::floor((image.width - view.width) / 2);
  view.top = std::floor((image.height - view.height) / 2);
  return view;
}

ClaimedView random_part(ImageSize image, std::uint64_t seed, std::uint64_t epoch,
                        std::int64_t sample) {
  const double pixels = static_cast<double>(image.width) * image.height;
  bool decided = true;
  for (std::uint32_t attempt = 0; attempt < 10; ++attempt) {
    const auto words = draw_words_of(seed, epoch, sample, attempt);
    const double area = pixels * (0.08 + 0.92 * share(words[0]));
    const double ratio = 0.75 * std::pow(16.0 / 9, share(words[1]));
    ClaimedView view;
    view.width = whole(std::sqrt(area * ratio), view);
    view.height = whole(std::sqrt(area / ratio), view);
    decided = decided && view.decided;
    if (view.width < 1 || view.height < 1 || view.width > image.width || view.height > image.height)
      continue;
    view.left = place(words[2], image.width - view.width + 1);
    view.top = place(words[3], image.height - view.height + 1);
    view.decided = decided;
    return view;
  }
  ClaimedView view = largest_centred(image);
  view.decided = view.decided && decided;
  return view;
}

}  // namespace

ClaimedView compute_claimed_view(ImageSize image) {
  const double side = 0.875 * std::min(image.width, image.height);
  return {(image.width - side) / 2, (image.height - side) / 2, side, side};
}

ClaimedView compute_claimed_view(ImageSize image, const std::string& augment, std::uint64_t seed,
                                 std::uint64_t epoch, std::int64_t sample) {
  if (augment == "none") return compute_claimed_view(image);
  if (augment == "shift") {
    ClaimedView view = compute_claimed_view(image);
    const auto words = draw_words_of(seed, epoch, sample, 0);
    view.left = share(words[2]) * (image.width - view.width);
    view.top = share(words[3]) * (image.height - view.height);
    return view;
  }
  if (augment != "crop" && augment != "crop+flip")
    throw CaseError(fmt::format("'{}' says no part of an image", augment));
  ClaimedView view = random_part(image, seed, epoch, sample);
  view.mirrored = augment == "crop+flip" && (draw_words_of(seed, epoch, sample, 10)[0] & 1) != 0;
  return view;
}

DecodeOracle::DecodeOracle(std::span<const std::uint8_t> encoded, const DecodeClaims& claims,
                           std::uint64_t epoch, std::int64_t index)
    : size_(claims.size), decoder_(make_image_decoder()) {
  const ImageSize whole = decoder_->open(encoded);
  view_ = claims.training ? compute_claimed_view(whole, claims.augment, claims.seed, epoch, index)
                          : compute_claimed_view(whole);
  if (decoder_->reduces())
    for (const int by : {2, 4, 8})
      if (std::min(view_.width, view_.height) >= by * size_) divisor_ = by;
  image_ = {(whole.width + divisor_ - 1) / divisor_, (whole.height + divisor_ - 1) / divisor_};
  pixels_ = decoder_->decode(divisor_, {0, 0, image_.width, image_.height});
}

/// The weights of a triangle over the pixels that the part touches. It is two pixels of the result
/// or of the image wide, whichever are larger.
std::vector<DecodeOracle::Tap> DecodeOracle::taps(double start, double length, int pixels,
                                                  int position) const {
  const double step = length / size_, width = std::max(step, 1.0),
               centre = start + (position + 0.5) * step;
  const int first = std::clamp(static_cast<int>(std::floor(start)), 0, pixels - 1),
            end = std::clamp(static_cast<int>(std::ceil(start + length)), first + 1, pixels);
  std::vector<Tap> taps;
  double sum = 0;
  for (int pixel = first; pixel < end; ++pixel) {
    const double weight = 1 - std::fabs(pixel + 0.5 - centre) / width;
    if (weight <= 0) continue;
    taps.push_back({pixel, weight});
    sum += weight;
  }
  for (Tap& tap : taps) tap.weight /= sum;
  return taps;
}

DecodeOracle::Element DecodeOracle::at(int row, int column, int colour) const {
  const std::vector<Tap> across = taps(view_.left / divisor_, view_.width / divisor_, image_.width,
                                       view_.mirrored ? size_ - 1 - column : column),
                         down = taps(view_.top / divisor_, view_.height / divisor_, image_.height,
                                     row);
  double sum = 0;
  for (const Tap& y : down)
    for (const Tap& x : across)
      sum += y.weight * x.weight * pixels_.first[y.pixel * pixels_.stride + 4 * x.pixel + colour];
  const double deviation = channel_deviation[colour], shift = channel_mean[colour] / deviation,
               scaled = sum / 255 / deviation;
  // All terms are positive, so the bound is one rounding for each product, sum, weight and
  // constant.
  const auto roundings = static_cast<double>(down.size() + across.size() + 12);
  return {scaled - shift, roundoff * (roundings * scaled + 4 * shift) + 1e-7};
}

}  // namespace assay
