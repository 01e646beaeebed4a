// The rotation through sets of buffers.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "tests/core/product_operation.hpp"

namespace assay {
namespace test_cold_workload {

using namespace testing_fakes;

TEST(ColdWorkload, RotatesThroughMoreThanTwiceTheCache) {
  PreparedProduct p(Shape{}, cold());  // 300 * 40 * 4 bytes and a little, 256 KiB of cache
  p.workload->verify_before();
  const std::size_t sets = p.operation->bound.size();
  EXPECT_EQ(sets, 11u);
  EXPECT_GT(p.device.allocated, 2 * p.device.cache);
  EXPECT_EQ(p.operation->scratches.size(), 1u);  // shared scratch
  p.operation->bound.clear();
  p.time(static_cast<int>(sets));
  EXPECT_EQ(p.operation->bound.size(), sets);
}

TEST(ColdWorkload, HasTwoSetsAtLeast) {
  Shape shape;
  shape.rows = 30000;
  PreparedProduct p(shape, cold());
  EXPECT_TRUE(p.workload->verify_before().passed);
  EXPECT_EQ(p.operation->bound.size(), 2u);
}

TEST(ColdWorkload, AFaultInOneSetAloneShows) {
  // 11 sets: integers are runs 0 to 21, full significands 22 to 43, timed from 44.
  for (const int faulty : {0, 5, 10, 21, 22, 43}) {
    PreparedProduct p(Shape{}, cold(), [faulty](int run, float* y) {
      // One element of the integer runs; the later sets' full-significand runs are sampled.
      if (run == faulty)
        std::for_each(y, y + (run < 22 ? 1 : 300), [](float& value) { value += 8; });
    });
    EXPECT_FALSE(p.workload->verify_before().passed) << faulty;
  }
  PreparedProduct p(Shape{}, cold(), [](int run, float* y) {
    if (run == 47) {
      for (int i = 0; i < 300; ++i) y[i] += 8;
    }
  });
  EXPECT_TRUE(p.workload->verify_before().passed);
  p.time(9);
  const Verification v = p.workload->verify_after();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("buffer set 4 of 11"), std::string::npos) << v.reason;
}

TEST(ColdWorkload, NeedsToKnowTheCache) {
  SmallHost device;
  device.cache = 0;
  const Shape shape;
  EXPECT_THROW(make_operation_workload(Product(shape), std::make_unique<ProductOperation>(shape),
                                       device, std::make_unique<ProductOracle>(shape), 0, cold()),
               CaseError);
  device.cache = std::size_t{1} << 40;
  EXPECT_THROW(make_operation_workload(Product(shape), std::make_unique<ProductOperation>(shape),
                                       device, std::make_unique<ProductOracle>(shape), 0, cold()),
               CaseError);
}

}  // namespace test_cold_workload
}  // namespace assay
