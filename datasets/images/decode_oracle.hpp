#pragma once
// Expected pixels of a decoded sample, computed one by one from the definitions in
// docs/images.md, view.hpp and resize.hpp. Only the decoding of files (libjpeg-turbo, libpng) is
// shared with SampleDecoder: view, resizing and normalisation are written again, in fp64.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/image_files/image_files.hpp"

namespace assay {

/// The part of an image that a network gets.
struct ClaimedView {
  double left = 0, top = 0, width = 0, height = 0;
  bool mirrored = false;
  bool decided = true;  ///< false: two parts are correct, because a side is near a tie of rounding
};
/// The view in training. `augment`: the text of the option ("crop+flip"). CaseError for an unknown
/// one.
ClaimedView compute_claimed_view(ImageSize image, const std::string& augment, std::uint64_t seed,
                                 std::uint64_t epoch, std::int64_t sample);
/// The view in evaluation.
ClaimedView compute_claimed_view(ImageSize image);

struct DecodeClaims {
  int size = 224;         ///< sides of the result
  bool training = true;   ///< else as in evaluation
  std::string augment{};  ///< of training
  std::uint64_t seed = 1;
};

class DecodeOracle {
 public:
  /// Decodes the whole image of sample `index` of `epoch`. Throws BadSample.
  DecodeOracle(std::span<const std::uint8_t> encoded, const DecodeClaims& claims,
               std::uint64_t epoch, std::int64_t index);

  bool is_decided() const { return view_.decided; }
  struct Element {
    double value = 0, bound = 0;
  };
  /// The normalised colour (0: red) at a row and a column. The bound is that of sums in fp32.
  Element at(int row, int column, int colour) const;

 private:
  struct Tap {
    int pixel = 0;
    double weight = 0;
  };
  std::vector<Tap> taps(double start, double length, int pixels, int position) const;

  int size_;
  ClaimedView view_;
  int divisor_ = 1;
  ImageSize image_;  ///< after division
  std::unique_ptr<ImageDecoder> decoder_;
  PixelView pixels_;
};

}  // namespace assay
