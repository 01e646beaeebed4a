#include "models/input/input_problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"

namespace assay {

InputSize parse_input(const std::string& text) {
  const DescriptorComplaint complain("input", text);
  const auto numbers = read_counts(text, {"n", "mb", "s"}, {"mb", "s"}, complain);
  InputSize size;
  size.batch = numbers.at("mb");
  size.side = numbers.at("s");
  constexpr std::int64_t most_side = 1 << 13;
  if (size.side > most_side) complain("s is above {}.", most_side);
  size.images = numbers.contains("n") ? numbers.at("n")
                                      : product({{"8", 8}, {"mb", size.batch}}, "n", complain);
  product({{"n", size.images}, {"s", size.side}, {"s", size.side}, {"bytes", 12}}, "the batches",
          complain);
  return size;
}

std::string to_text(const InputSize& size) {
  return fmt::format("n{}mb{}s{}", size.images, size.batch, size.side);
}

nlohmann::json InputProblem::json() const {
  return {{"n", size_.images}, {"mb", size_.batch}, {"s", size_.side}};
}

std::map<std::string, double> InputProblem::amounts() const {
  return {{"images_per_s", static_cast<double>(size_.images)}};
}

}  // namespace assay
