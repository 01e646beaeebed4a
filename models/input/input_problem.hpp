#pragma once
// What one run of the input pipeline delivers.

#include <cstdint>
#include <map>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

struct InputSize {
  std::int64_t images = 256;  ///< of one run, of all ranks
  std::int64_t batch = 32;    ///< of each rank
  std::int64_t side = 224;    ///< of an image that is delivered
};

/// "n256mb32s224"; n may be left out (eight batches). InputError names what is wrong.
InputSize parse_input(const std::string& text);
std::string to_text(const InputSize& size);

/// Images per second, from their files to fp32 batches.
class InputProblem final : public Problem {
 public:
  explicit InputProblem(const InputSize& size) : size_(size) {}
  std::string kind() const override { return "input"; }
  std::string canonical() const override { return to_text(size_); }
  nlohmann::json json() const override;
  double flops() const override { return 0; }
  double bytes() const override { return 0; }  ///< encoded ones are known after reading them
  std::map<std::string, double> amounts() const override;

 private:
  InputSize size_;
};

}  // namespace assay
