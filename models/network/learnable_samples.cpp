#include "models/network/learnable_samples.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "models/network/learnable_expression.hpp"
#include "models/network/learnable_fields.hpp"
#include "models/network/learnable_images.hpp"
#include "models/network/learnable_vectors.hpp"

namespace assay {

std::shared_ptr<const LearnableSamples> learnable_samples(const InputShape& shape, Labels labels,
                                                          std::int64_t classes,
                                                          std::uint64_t seed) {
  if (labels == Labels::per_pixel)
    return std::make_shared<const LearnableFields>(shape, classes, seed);
  if (labels == Labels::none && shape.is_vector())
    return std::make_shared<const LearnableExpression>(shape.channels, seed);
  if (shape.is_vector())
    return std::make_shared<const LearnableVectors>(shape.channels, classes, seed);
  if (!shape.is_photograph())
    throw InputError(fmt::format(
        "--data learnable has no samples with {} channels of {} x {} pixels. Use --data synthetic.",
        shape.channels, shape.height, shape.width));
  return std::make_shared<const LearnableImages>(
      LearnableSettings{classes, static_cast<int>(shape.height), seed});
}

}  // namespace assay
