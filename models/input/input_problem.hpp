#pragma once
// The problem of the input pipeline: the batches that one run delivers.

#include <cstdint>
#include <map>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

struct InputSize {
  std::int64_t images = 256;  ///< in one run, over all ranks
  std::int64_t batch = 32;    ///< images in a batch of one rank
  std::int64_t side = 224;    ///< height and width of a delivered image, in pixels
};

/// Parses "n256mb32s224" (images, batch, side). Without n, a run has eight batches. InputError
/// names the invalid field.
InputSize parse_input(const std::string& text);
std::string to_text(const InputSize& size);

/// Reads, decodes and crops image files into fp32 batches. Its rate is images_per_s.
class InputProblem final : public Problem {
 public:
  explicit InputProblem(const InputSize& size) : size_(size) {}
  std::string kind() const override { return "input"; }
  std::string canonical() const override { return to_text(size_); }
  nlohmann::json json() const override;
  double flops() const override { return 0; }
  double bytes() const override { return 0; }  ///< the encoded size is unknown before reading
  std::map<std::string, double> amounts() const override;

 private:
  InputSize size_;
};

}  // namespace assay
