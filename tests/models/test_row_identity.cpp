#include <gtest/gtest.h>

#include "models/input/benchmark.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/pca/benchmark.hpp"
#include "models/resnet50/benchmark.hpp"
#include "models/svm/benchmark.hpp"
#include "tests/core/parameters_judged.hpp"

namespace assay {
namespace {

TEST(RowIdentity, ParametersOfModels) {
  fixture::expect_parameters_judged(pca_benchmark(), {{"problem", {"n600d13"}}});
  fixture::expect_parameters_judged(kmeans_benchmark(), {{"problem", {"n600d13"}}});
  fixture::expect_parameters_judged(svm_benchmark(), {{"problem", {"n600d13"}}});
  fixture::expect_parameters_judged(input_benchmark());
  fixture::expect_parameters_judged(resnet50_benchmark());
}

}  // namespace
}  // namespace assay
