#include "core/base/descriptor.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_descriptor {

std::string refusal(const std::string& descriptor) {
  try {
    read_counts(descriptor, {"n", "d", "k"}, {"n", "d"}, DescriptorComplaint("points", descriptor));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Descriptor, CountsAreReadByName) {
  const std::map<std::string, std::int64_t> expected{{"n", 262144}, {"d", 250}};
  for (const char* text : {"n262144d250", "d250n262144", "n262144_d250_"})
    EXPECT_EQ(read_counts(text, {"n", "d", "k"}, {"n", "d"}, {"points", text}), expected) << text;
}

TEST(Descriptor, EachFaultNamesItsField) {
  const std::pair<const char*, const char*> faults[] = {
      {"", "n is missing"},
      {"n4", "d is missing"},
      {"n4d", "d has no number"},
      {"n0d1", "n is 0 (the least is 1)"},
      {"n-4d1", "n is negative"},
      {"n4d2n4", "n is given twice"},
      {"n4d2e1", "'e'"},
      {"n4d2 ", "unexpected ' ' at position 5"},
      {"n4d9223372036854775808", "d does not fit 64 bits (9223372036854775808)"},
  };
  for (const auto& [text, expected] : faults) {
    const std::string found = refusal(text);
    EXPECT_TRUE(found.starts_with("points problem '" + std::string(text) + "': ")) << found;
    EXPECT_NE(found.find(expected), std::string::npos) << found;
  }
}

TEST(Descriptor, ProductsStayWithin64Bits) {
  const DescriptorComplaint complain("points", "n1");
  EXPECT_EQ(product({{"n", 3}, {"d", 5}}, "the elements", complain), 15);
  const std::int64_t large = std::int64_t{1} << 32;
  try {
    product({{"n", large}, {"d", large}}, "the elements", complain);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("reached at d = 4294967296"), std::string::npos)
        << error.what();
  }
}

}  // namespace test_descriptor
}  // namespace assay
