#include "datasets/images/process_io.hpp"

#include <gtest/gtest.h>

#include "tests/datasets/data_files.hpp"

namespace assay {
namespace test_process_io {

TEST(ProcessIo, CountsWhatIsRead) {
  const Folder folder;
  const std::string file = folder.write("x", std::string(300000, 'x'));
  const auto before = process_io();
  if (!before) GTEST_SKIP() << "the system does not tell";
  std::string text(300000, ' ');
  std::ifstream(file).read(text.data(), 300000);
  const auto after = process_io();
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(after->requested - before->requested, 300000);
  EXPECT_GE(after->from_device, before->from_device);
}

TEST(ProcessIo, TellsWhatIsInThePageCache) {
  const Folder folder;
  const std::string file = folder.write("x", std::string(300000, 'x'));
  EXPECT_EQ(measure_cached_part({file}), 1);  // it was written just now
  EXPECT_EQ(measure_cached_part({folder.write("empty", "")}), 0);
  drop_from_cache({file});  // may or may not be obeyed
  EXPECT_LE(measure_cached_part({file}), 1);
  EXPECT_THROW(measure_cached_part({folder / "none"}), CaseError);
  EXPECT_THROW(drop_from_cache({folder / "none"}), CaseError);
}

}  // namespace test_process_io
}  // namespace assay
