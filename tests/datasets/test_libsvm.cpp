#include <gtest/gtest.h>

#include "data_files.hpp"

namespace assay {
namespace test_libsvm {

TEST(Libsvm, SparseRowsAndLabels) {
  const Folder folder;
  const Rows expected{{0.5, 0, -2, 0, 0, 0, 0, 7, 0}, {1, -1, 3}};
  for (const char* text : {"+1 1:0.5 3:-2\n-1\n3 2:7\n", "+1 1:0.5 3:-2\n-1\n3 2:7",
                           "+1 1:0.5 3:-2 \r\n-1 \r\n3 2:7\r\n",
                           "# comment\n  1\t1:+.5 3:-2 # rest 9:9\n\n-1 # 8:8\n3 2:7e0\n#\n"}) {
    for (const std::int64_t step : {1, 3, 10, 1000}) {
      const auto table = open_table(folder.write("a.svm", text), {"", step});
      ASSERT_EQ(table->rows(), 3) << text;
      EXPECT_EQ(table->features(), 3) << text;
      EXPECT_TRUE(table->has_labels());
      EXPECT_EQ(read_all(*table), expected) << text;
      EXPECT_EQ(read_rows(*table, 2, 1), (Rows{{0, 7, 0}, {3}})) << text;
    }
  }
}

TEST(Libsvm, IsKnownByItsNameOrItsFirstLine) {
  const Folder folder;
  for (const char* name : {"a.svm", "a.libsvm", "a.SVMLIGHT", "a9a", "w8a.t", "a.txt"})
    EXPECT_EQ(read_all(*open_table(folder.write(name, "1 1:2\n"))), (Rows{{2}, {1}})) << name;
}

TEST(Libsvm, ErrorsNameRowAndColumn) {
  const Folder folder;
  const auto expect = [&](const std::string& text, const std::string& part) {
    expect_error(folder.write("a.svm", text), part);
  };
  expect("1 1:2\n1 0:1 2:3\n", "row 2, column 2: the index 0 is below 1");
  expect("1 1:2\n1 -1:1 2:3\n", "row 2, column 2: the index -1 is below 1");
  expect("1 9:2\n1 2:1 1:3\n", "row 2, column 3: the index 1 does not ascend (it follows 2)");
  expect("1 9:2\n1 2:1 2:3\n", "row 2, column 3: the index 2 does not ascend");
  expect("1 1:2\n1 5:1 2:3\n", "row 2, column 2: the index 5 is larger than the last");
  expect("1 1:2\n1 2:nan\n", "row 2, column 2: 'nan' is not a finite number");
  expect("1 1:2\n1 2:inf\n", "row 2, column 2: 'inf' is not a finite number");
  expect("1 1:2\nnan 2:1\n", "row 2, column 1: 'nan' is not a finite number");
  expect("1 1:2\n1 2:\n", "row 2, column 2: the value is missing");
  expect("1 1:2\n1 2:x\n", "row 2, column 2: 'x' is not a number");
  expect("1 1:2\n1 :2\n", "row 2, column 2: ':2' is not an index and a value");
  expect("1 1:2\n1 1 2:2\n", "row 2, column 2: '1' is not an index and a value");
  expect("1 1:2\n1 qid:3 2:2\n", "row 2, column 2: 'qid:3' is not an index and a value");
  expect("1 1:2\n1:3 2:4\n", "row 2, column 1: '1:3' is not a number");
  expect("1 1:2\n1,2 2:4\n", "row 2, column 1: '1,2' is not a number");
  expect("1 99999999999:2\n", "largest index is 99999999999");
  expect("1 99999999999999999999999:2\n", "there are no features");
  expect("1\n-1\n", "there are no features");
  expect("# nothing\n", "there are no rows");
}

}  // namespace test_libsvm
}  // namespace assay
