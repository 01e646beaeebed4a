#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "data_files.hpp"

namespace assay {
namespace test_npy {

/// numpy.save of numpy.array([[1, -2.5], [3, 0.1]], '<f8'), byte by byte.
const std::string golden = bytes(
    "\x93NUMPY\x01\x00\x76\x00"
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"
    "                                                          \n"
    "\x00\x00\x00\x00\x00\x00\xf0\x3f"
    "\x00\x00\x00\x00\x00\x00\x04\xc0"
    "\x00\x00\x00\x00\x00\x00\x08\x40"
    "\x9a\x99\x99\x99\x99\x99\xb9\x3f");

TEST(Npy, TheGoldenFile) {
  const Folder folder;
  for (const char* name : {"a.npy", "a.bin", "a.csv"}) {  // known by its first bytes
    const auto table = open_table(folder.write(name, golden));
    EXPECT_EQ(table->rows(), 2);
    EXPECT_EQ(table->features(), 2);
    EXPECT_FALSE(table->has_labels());
    EXPECT_EQ(read_all(*table).x, (std::vector<double>{1, -2.5, 3, 0.1}));
  }
}

std::string swapped(std::string data, std::size_t size) {
  for (std::size_t i = 0; i < data.size(); i += size)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                 data.begin() + static_cast<std::ptrdiff_t>(i + size));
  return data;
}

template <class Number>
void expect_type(const std::string& type, std::initializer_list<Number> numbers) {
  const Folder folder;
  ASSERT_EQ(numbers.size(), 6u);
  const std::vector<double> row_major(numbers.begin(), numbers.end());
  const std::vector<double> fortran{row_major[0], row_major[2], row_major[4],
                                    row_major[1], row_major[3], row_major[5]};
  const std::string data = raw(numbers), other = swapped(data, sizeof(Number));
  const bool little = std::endian::native == std::endian::little;
  for (int major = 1; major <= 3; ++major) {
    for (const char order : {'<', '>', '=', '|'}) {
      if (order == '|' && sizeof(Number) > 1) continue;
      const std::string& stored = order == (little ? '>' : '<') ? other : data;
      const std::string descr = std::string("'") + order + type + "'";
      for (const bool by_columns : {false, true}) {
        const auto table = open_table(folder.write(
            "a.npy", npy(descr, by_columns ? "True" : "False", "(3, 2)", stored, major)));
        ASSERT_EQ(table->rows(), 3);
        ASSERT_EQ(table->features(), 2);
        const std::vector<double> by_column{row_major[0], row_major[3], row_major[1],
                                            row_major[4], row_major[2], row_major[5]};
        const auto& expected = by_columns ? by_column : row_major;
        EXPECT_EQ(read_all(*table).x, expected) << descr << by_columns;
        EXPECT_EQ(read_rows(*table, 1, 1).x, (std::vector<double>{expected[2], expected[3]}));
      }
    }
  }
}

TEST(Npy, EveryTypeByteOrderAndLayout) {
  expect_type<double>("f8", {1, -2.5, 1e300, 5e-324, 0.1, 7});
  expect_type<float>("f4", {1, -2.5f, 1e30f, 1e-45f, 0.1f, 7});
  expect_type<std::int8_t>("i1", {1, -2, 127, -128, 5, 6});
  expect_type<std::uint8_t>("u1", {1, 2, 127, 255, 5, 6});
  expect_type<std::int16_t>("i2", {1, -2, 32767, -32768, 258, 6});
  expect_type<std::uint16_t>("u2", {1, 2, 32767, 65535, 258, 6});
  expect_type<std::int32_t>("i4", {1, -2, 2147483647, -2147483647, 16909060, 6});
  expect_type<std::uint32_t>("u4", {1, 2, 2147483647, 4294967295u, 16909060, 6});
  expect_type<std::int64_t>("i8", {1, -2, std::int64_t{1} << 52, -9, 72623859790382856, 6});
  expect_type<std::uint64_t>("u8", {1, 2, std::uint64_t{1} << 63, 9, 72623859790382856u, 6});
}

TEST(Npy, HeadersMayBeWrittenOtherwise) {
  const Folder folder;
  const std::string data = raw<double>({1, 2, 3, 4, 5, 6});
  for (const char* header :
       {"{'shape':(3,2),'fortran_order':False,'descr':'<f8'}",
        "{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (3, 2,), }  \n",
        " { 'descr' : '<f8' , 'fortran_order' : False , 'shape' : ( 3 , 2 ) } \n"}) {
    const std::string text = header;
    const auto table = open_table(folder.write(
        "a.npy", bytes("\x93NUMPY\x01\x00") + static_cast<char>(text.size()) + '\0' + text + data));
    EXPECT_EQ(read_all(*table).x, (std::vector<double>{1, 2, 3, 4, 5, 6})) << header;
  }
}

TEST(Npy, AnySplitGivesTheSameRows) {
  const Folder folder;
  const std::int64_t rows = 5000, features = 17;
  std::string data(static_cast<std::size_t>(rows * features) * sizeof(float), '\0');
  for (std::int64_t i = 0; i < rows * features; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(data.data() + i * std::ssize(raw<float>({0})), &value, sizeof(value));
  }
  for (const bool by_columns : {false, true}) {
    const auto table = open_table(
        folder.write("a.npy", npy("'<f4'", by_columns ? "True" : "False", "(5000, 17)", data)));
    const Rows whole = read_all(*table);
    for (std::int64_t i = 0; i < rows * features; ++i)
      ASSERT_EQ(whole.x[static_cast<std::size_t>(i)],
                static_cast<float>(by_columns ? i % features * rows + i / features : i));
    for (std::int64_t first = 0, count = 1; first < rows; first += count, count = count * 3 % 997) {
      count = std::min(count, rows - first);
      const Rows part = read_rows(*table, first, count);
      EXPECT_TRUE(std::equal(part.x.begin(), part.x.end(), whole.x.begin() + first * features));
    }
    std::vector<double> parallel(whole.x.size());
    read_parallel(*table, 0, parallel, {}, 3);
    EXPECT_EQ(parallel, whole.x);
  }
}

TEST(Npy, LabelsAreInASecondFile) {
  const Folder folder;
  const std::string x = folder.write("x.npy", golden);
  for (const char* shape : {"(2,)", "(2, 1)"}) {
    const DataTableOptions options{
        folder.write("y.npy", npy("'<i4'", "False", shape, raw<std::int32_t>({-1, 1}))), 1};
    const auto table = open_table(x, options);
    ASSERT_TRUE(table->has_labels());
    EXPECT_EQ(read_all(*table), (Rows{{1, -2.5, 3, 0.1}, {-1, 1}}));
    EXPECT_EQ(read_rows(*table, 1, 1), (Rows{{3, 0.1}, {1}}));
    EXPECT_NE(table->canonical(), open_table(x)->canonical());
  }
  const auto labels = [&](const std::string& shape, const std::string& data) {
    return DataTableOptions{folder.write("y.npy", npy("'<f8'", "False", shape, data)), 1};
  };
  const std::string wrong = "does not have one label for each of the 2 rows";
  EXPECT_NE(error_of(x, labels("(3,)", raw<double>({1, 2, 3}))).find(wrong), std::string::npos);
  EXPECT_NE(error_of(x, labels("(1, 2)", raw<double>({1, 2}))).find(wrong), std::string::npos);
  EXPECT_NE(error_of(x, labels("(2, 2)", raw<double>({1, 2, 3, 4}))).find(wrong),
            std::string::npos);
  EXPECT_NE(error_of(x, labels("()", raw<double>({1}))).find(wrong), std::string::npos);
  EXPECT_NE(error_of(x, labels("(2,)", raw<double>({1, NAN}))).find("y.npy, row 2, column 1"),
            std::string::npos);
  EXPECT_NE(error_of(x, {folder / "none.npy", 1}).find("cannot open"), std::string::npos);
  const std::string csv = folder.write("a.csv", "1,2\n");
  expect_error(csv, "labels cannot be in another file", labels("(2,)", raw<double>({1, 2})));
}

TEST(Npy, ErrorsAreClear) {
  const Folder folder;
  const auto expect = [&](const std::string& content, const std::string& part) {
    expect_error(folder.write("a.npy", content), part);
  };
  const std::string two = raw<double>({1, 2});
  const auto with_data = [&](const std::string& data) {
    return npy("'<f8'", "False", "(1, 2)", data);
  };
  ASSERT_EQ(error_of(folder.write("a.npy", with_data(two))), "");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  expect(with_data(raw<double>({1, NAN})), "row 1, column 2: nan is not finite");
  expect(with_data(raw<double>({-infinity, 1})), "row 1, column 1: -inf is not finite");
  expect(npy("'<f4'", "True", "(2, 1)", raw<float>({1, NAN})), "row 2, column 1: nan");
  expect(with_data(two + "x"), "promises 16 bytes of data, the file has 17");
  expect(with_data(two.substr(1)), "promises 16 bytes of data, the file has 15");
  expect(with_data(""), "promises 16 bytes of data, the file has 0");
  for (const std::size_t size : {7, 11, 12, 40, 127})
    expect(with_data(two).substr(0, size), "it ends within its NPY header");
  expect("1,2\n3,4\n5,6\n7,8\n", "does not begin as NPY files do");
  expect(npy("'<f8'", "False", "(1, 2)", two, 4), "NPY version is 4.0");
  std::string minor = with_data(two);
  minor[7] = 1;
  expect(minor, "NPY version is 1.1");
  for (const char* type :
       {"'<f2'", "'<c8'", "'|b1'", "'<U4'", "'|O'", "'<f16'", "'f8'", "''", "'<i3'"})
    expect(npy(type, "False", "(1, 2)", two), "elements of type");
  expect(npy("[('a', '<f8')]", "False", "(1, 2)", two), "records");
  for (const char* damaged : {"'|f8'", "<f8", "5"})
    expect(npy(damaged, "False", "(1, 2)", two), "damaged");
  expect(npy("'<f8'", "Maybe", "(1, 2)", two), "damaged");
  for (const char* shape :
       {"(1, 2", "1, 2", "(-1, 2)", "(a,)", "(1 2)", "(2)", "(1, 2) x", "(1, 2), 'shape': (1, 2)",
        "(1, 2), 'more': (1, 2)", "(1, 99999999999999999999)"})
    expect(npy("'<f8'", "False", shape, two), "damaged");
  for (const char* after : {"} x", "}}", "},"}) {
    const std::string header =
        std::string("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)") + after;
    expect(bytes("\x93NUMPY\x01\x00") + static_cast<char>(header.size()) + '\0' + header + two,
           "damaged");
  }
  std::string incomplete = "{'descr': '<f8', 'fortran_order': False}";
  expect(
      bytes("\x93NUMPY\x01\x00") + static_cast<char>(incomplete.size()) + '\0' + incomplete + two,
      "damaged");
  expect(npy("'<f8'", "False", "(4611686018427387904, 4)", two), "more bytes than 64 bits count");
  expect(npy("'<f8'", "False", "(2,)", two), "it has 1 dimensions");
  expect(npy("'<f8'", "False", "(1, 2, 1)", two), "it has 3 dimensions");
  expect(npy("'<f8'", "False", "()", raw<double>({1})), "it has 0 dimensions");
  expect(npy("'<f8'", "False", "(0, 2)", ""), "there are no rows");
  expect(npy("'<f8'", "False", "(2, 0)", ""), "there are no features");
  expect(npy("'|i1'", "False", "(9223372036854775807, 0)", ""), "there are no features");
}

}  // namespace test_npy
}  // namespace assay
