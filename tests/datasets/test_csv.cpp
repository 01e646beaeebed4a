#include <gtest/gtest.h>

#include "data_files.hpp"

namespace assay {
namespace test_csv {

const Rows plain{{1.5, -2e3, 3, 4}, {}};

TEST(Csv, NumbersWithoutAHeader) {
  const Folder folder;
  for (const char* text :
       {"1.5,-2e3\n3,4\n", "1.5,-2e3\n3,4", "1.5,-2e3\r\n3,4\r\n",
        "\xEF\xBB\xBF"
        "1.5,-2e3\n3,4\n",
        " 1.5 ,\t-2e3\n\n 3, +4 \n\n", "\n\r\n1.5,-2e3\n3,4\n  \n", "1.5,-2e3\n3,4\r"}) {
    const auto table = open_table(folder.write("a.csv", text));
    EXPECT_EQ(table->rows(), 2) << text;
    EXPECT_EQ(table->features(), 2) << text;
    EXPECT_FALSE(table->has_labels());
    EXPECT_EQ(read_all(*table), plain) << text;
  }
}

TEST(Csv, HeadersAreFound) {
  const Folder folder;
  for (const char* header :
       {"a,b\n", "\"a, with \"\"quotes\"\" and\na newline\",b\r\n", "\xEF\xBB\xBF\"a\",\"b\"\n",
        ",b\n", "\n\na,b\n", "\"1\",\"2\"\n", "\"a\" ,b\n"}) {
    const auto table = open_table(folder.write("a.csv", header + std::string("1.5,-2e3\n3,4\n")));
    EXPECT_EQ(table->rows(), 2) << header;
    EXPECT_EQ(read_all(*table), plain) << header;
  }
}

TEST(Csv, NumbersOfTheColumnsAreAHeader) {
  const Folder folder;
  for (const char* rows : {"0,1,2\n", "\"0\",\"1\",\"2\"\r\n"})
    EXPECT_EQ(open_table(folder.write("a.csv", rows + std::string("4,5,6\n7,8,9\n")))->rows(), 2)
        << rows;
  for (const char* first : {"0,1,3\n", "1,2,3\n", "0.0,1.0,2.0\n", "0,1,02\n"})
    EXPECT_EQ(open_table(folder.write("a.csv", first + std::string("4,5,6\n")))->rows(), 2)
        << first;
  // Whole numbers of one or two columns may begin so.
  EXPECT_EQ(open_table(folder.write("a.csv", "0,1\n0.5,3\n"))->rows(), 1);
  EXPECT_EQ(open_table(folder.write("a.csv", "0\n0.5\n"))->rows(), 1);
  EXPECT_EQ(open_table(folder.write("a.csv", "0\n1\n0\n"))->rows(), 3);
  EXPECT_THROW(open_table(folder.write("a.csv", "0,1\n1,1\n")), InputError);
}

TEST(Csv, AColumnOfLabelsIsNamed) {
  const Folder folder;
  const Rows expected{{1, 2, 3, 4}, {0, 1}};
  for (const char* text : {"a,b,label\n1,2,0\n3,4,1\n", "Target,a,b\n0,1,2\n1,3,4\n",
                           "a,\"CLASS\",b\n1,0,2\n3,1,4\n", "0,1,target\n1,2,0\n3,4,1\n"}) {
    const auto table = open_table(folder.write("a.csv", text));
    ASSERT_TRUE(table->has_labels()) << text;
    EXPECT_EQ(table->features(), 2);
    EXPECT_EQ(read_all(*table), expected) << text;
    std::vector<double> x(4);
    table->read(0, x);  // labels are not wanted
    EXPECT_EQ(x, expected.x);
  }
}

TEST(Csv, ValuesAreTheNearestDoubles) {
  const Folder folder;
  const auto table =
      open_table(folder.write("a.csv", "0.1,1e-310,9007199254740993\n-0,1e308,.5\n"));
  EXPECT_EQ(read_all(*table).x,
            (std::vector<double>{0.1, 1e-310, 9007199254740992.0, 0, 1e308, 0.5}));
}

TEST(Csv, ErrorsNameRowAndColumn) {
  const Folder folder;
  const auto expect = [&](const std::string& text, const std::string& part) {
    expect_error(folder.write("a.csv", text), part);
  };
  expect("a,b\n1,2\n3,nan\n", "row 2, column 2: 'nan' is not a finite number");
  expect("1,2\n-inf,4\n", "row 2, column 1: '-inf' is not a finite number");
  expect("1,2\n3,\n", "row 2, column 2: the value is missing");
  expect("1,2\n ,4\n", "row 2, column 1: the value is missing");
  expect("1,2\n3,x4\n", "row 2, column 2: 'x4' is not a number");
  expect("1,2\n3,4x\n", "row 2, column 2: '4x' is not a number");
  expect("1,2\n3,0x10\n", "row 2, column 2: '0x10' is not a number");
  expect("1,2\n3,1e999\n", "row 2, column 2: '1e999' is not a number");
  expect("1,2\n3,+-1\n", "row 2, column 2: '+-1' is not a number");
  expect("1,2\n3,\"4\"\n", "row 2, column 2: '\"4\"' is not a number");
  expect("1,2\n3,1 2\n", "row 2, column 2: '1 2' is not a number");
  expect(bytes("1,2\n3,4\0\n"), "row 2, column 2: '4?' is not a number");
  expect("1,2\n3\n", "row 2, column 2: the row has 1 columns, the first line has 2");
  expect("1,2\n3,4,5\n", "row 2, column 3: the row has 3 columns, the first line has 2");
  expect("a,b,c\n1,2\n", "row 1, column 3: the row has 2 columns");
  // A row of missing values is not taken for a header.
  for (const char* row : {"nan,nan", "NA,na", "?,?", ",", "null,None"})
    EXPECT_NE(error_of(folder.write("a.csv", row + std::string("\n1,2\n"))).find("row 1, column 1"),
              std::string::npos)
        << row;
  expect("5.1,setosa\n1,2\n", "row 1, column 2: 'setosa' is not a number");
  expect("a,b\n", "there are no rows");
  expect("\n\n\n", "there are no rows");
  expect("label\n1\n2\n", "there are no features");
  expect("label,class,a\n1,2,3\n", "columns 1 and 2 are both named");
  expect("\"a,b\n1,2\n", "does not end");
}

TEST(Csv, AnyIndexAndAnySplitGiveTheSameRows) {
  const Folder folder;
  std::string text = "a,b,class\r\n";
  for (int row = 0; row < 300; ++row) {
    text += std::to_string(row * 0.37) + "," + std::string(static_cast<std::size_t>(row % 7), ' ') +
            std::to_string(-row) + "," + std::to_string(row % 2) + (row % 3 ? "\n" : "\r\n");
    if (row % 11 == 0) text += "\n";
  }
  const std::string path = folder.write("a.csv", text);
  const Rows whole = read_all(*open_table(path));
  ASSERT_EQ(whole.labels.size(), 300u);
  for (int row = 0; row < 300; ++row) {
    EXPECT_EQ(whole.x[static_cast<std::size_t>(2 * row + 1)], -row);
    EXPECT_EQ(whole.labels[static_cast<std::size_t>(row)], row % 2);
  }
  for (const std::int64_t step : {1, 2, 7, 64, 1000, 100000}) {
    const auto table = open_table(path, {"", step});
    ASSERT_EQ(table->rows(), 300);
    EXPECT_EQ(read_all(*table), whole);
    for (std::int64_t first = 0, count = 1; first < 300; first += count, count = count * 2 % 37) {
      count = std::min(count, 300 - first);
      const Rows part = read_rows(*table, first, count);
      EXPECT_TRUE(std::equal(part.x.begin(), part.x.end(), whole.x.begin() + 2 * first));
      EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.end(), whole.labels.begin() + first));
    }
    Rows parallel{std::vector<double>(600), std::vector<double>(300)};
    read_parallel(*table, 0, parallel.x, parallel.labels, 3);
    EXPECT_EQ(parallel, whole);
  }
}

TEST(Csv, LongLinesCrossManyEntriesOfTheIndex) {
  const Folder folder;
  std::string line = "1";
  for (int i = 2; i <= 5000; ++i) line += "," + std::to_string(i);
  const auto table = open_table(folder.write("a.csv", line + "\n" + line), {"", 100});
  EXPECT_EQ(table->rows(), 2);
  EXPECT_EQ(table->features(), 5000);
  const Rows rows = read_all(*table);
  EXPECT_EQ(rows.x[4999], 5000);
  EXPECT_EQ(rows.x[5000], 1);
  EXPECT_EQ(rows.x.back(), 5000);
}

TEST(Csv, AFirstLineOfOtherBytesIsNoHeader) {
  const Folder folder;
  using namespace std::string_literals;
  for (const std::string& text : {"\0\1\2\n1,2\n"s,
                                  "\xFF\xFE"
                                  "a\0,\0b\0\n\0"s,
                                  "a,\x1b[31m\n1,2\n"s})
    EXPECT_THROW(open_table(folder.write("a.csv", text)), InputError);
  EXPECT_EQ(open_table(folder.write("a.csv", "a\tb,\xC3\xA9\r\n1,2\n"))->rows(), 1);
}

TEST(Csv, AFileThatIsOneLongLineIsRefused) {
  const Folder folder;
  const std::string path = folder.write("a.csv", std::string((1 << 26) + 2, '1'));
  expect_error(path, "longer than");
  std::ofstream(path, std::ios::binary) << "1,2\n3";
  std::filesystem::resize_file(path, std::int64_t{200} << 20);
  expect_error(path, "longer than");
}

}  // namespace test_csv
}  // namespace assay
