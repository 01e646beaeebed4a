// Descriptors of matrix multiplications.

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "core/base/descriptor.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "kernels/gemm/problem.hpp"

namespace assay {
namespace {

struct Extent {
  const char* name;
  std::int64_t GemmShape::*member;
};
constexpr Extent extents[] = {{"m", &GemmShape::m},     {"n", &GemmShape::n},
                              {"k", &GemmShape::k},     {"b", &GemmShape::batch},
                              {"lda", &GemmShape::lda}, {"ldb", &GemmShape::ldb},
                              {"ldc", &GemmShape::ldc}};
struct Factor {
  const char* name;
  double GemmShape::*member;
};
constexpr Factor factors[] = {{"alpha", &GemmShape::alpha}, {"beta", &GemmShape::beta}};
struct Flag {
  const char* name;
  bool GemmShape::*member;
};
constexpr Flag flags[] = {{"ta", &GemmShape::ta}, {"tb", &GemmShape::tb}};
constexpr const char* all_names = "m n k b lda ldb ldc alpha beta ta tb";

/// Reads one descriptor from its left end.
class Reader {
 public:
  Reader(const std::string& text, const DescriptorComplaint& complain)
      : at_(text.data()), begin_(at_), end_(at_ + text.size()), complain_(complain) {}

  GemmShape read() {
    while (at_ != end_) {
      if (*at_ == '_')
        ++at_;
      else
        field();
    }
    for (const char* name : {"m", "n", "k"})
      if (!seen_.contains(name)) complain_("{} is missing. Give for example m1760n128k1760.", name);
    return shape_;
  }

 private:
  /// The longest name at the beginning of the rest: "beta1" is not a b.
  template <class Entry, std::size_t N>
  const Entry* match(const Entry (&entries)[N], std::size_t& longest) const {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    const Entry* longest_entry = nullptr;
    for (const Entry& entry : entries) {
      const std::string_view name = entry.name;
      if (rest.starts_with(name) && name.size() > longest) {
        longest = name.size();
        longest_entry = &entry;
      }
    }
    return longest_entry;
  }

  void field() {
    std::size_t length = 0;
    const Extent* const extent = match(extents, length);
    const Factor* const factor = match(factors, length);
    const Flag* const flag = match(flags, length);
    if (length == 0)
      complain_("unexpected '{}' at position {} (fields are {}). Remove it.", *at_,
                at_ - begin_ + 1, all_names);
    const std::string name(at_, length);
    if (!seen_.emplace(name, true).second) complain_("{} is given twice. Give it once.", name);
    at_ += length;
    if (flag != nullptr)
      shape_.*(flag->member) = true;
    else if (factor != nullptr)
      shape_.*(factor->member) = number(name);
    else
      shape_.*(extent->member) = read_count(at_, end_, name, 1, complain_);
  }

  double number(const std::string& name) {
    double value = 0;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || !std::isfinite(value))
      complain_("{} has no finite number. Give for example {}1.", name, name);
    at_ = stop;
    return value;
  }

  const char* at_;
  const char* begin_;
  const char* end_;
  const DescriptorComplaint& complain_;
  GemmShape shape_;
  std::map<std::string, bool> seen_;
};

/// Parses "2x3" as numbers. `names`: names of the last extents.
std::vector<std::int64_t> parse_extents(const std::string& text,
                                        const std::array<const char*, 3>& names,
                                        const DescriptorComplaint& complain) {
  std::vector<std::int64_t> all;
  const std::vector<std::string> parts = split(text, 'x');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = parse_number<std::int64_t>(parts[i]);
    const std::size_t from_end = parts.size() - i;
    if (!value || *value < 1)
      complain("{} is '{}', which is not an extent (a number from 1 on). Write MxK:KxN.",
               from_end <= names.size() ? names[names.size() - from_end] : "an extent", parts[i]);
    all.push_back(*value);
  }
  return all;
}

/// benchdnn's matmul: the extents of the two factors, without transposes.
GemmShape read_benchdnn(const std::string& text, const DescriptorComplaint& complain) {
  const std::size_t colon = text.find(':');
  const auto a = parse_extents(text.substr(0, colon), {"b", "m", "k"}, complain),
             b = parse_extents(text.substr(colon + 1), {"b", "k", "n"}, complain);
  if (a.size() != b.size() || a.size() < 2 || a.size() > 3)
    complain(
        "its factors have {} and {} dimensions (both 2, or both 3). Write MxK:KxN or "
        "BxMxK:BxKxN.",
        a.size(), b.size());
  const std::size_t row = a.size() - 2;
  if (a[row + 1] != b[row])
    complain("k is {} in the first factor and {} in the second. Make them equal.", a[row + 1],
             b[row]);
  if (row == 1 && a[0] != b[0])
    complain(
        "b is {} in the first factor and {} in the second (one batch is not repeated for the "
        "other). Make them equal.",
        a[0], b[0]);
  GemmShape shape;
  shape.m = a[row];
  shape.k = a[row + 1];
  shape.n = b[row + 1];
  if (row == 1) shape.batch = a[0];
  return shape;
}

void settle(GemmShape& s, const DescriptorComplaint& complain) {
  const auto leading = [&](const char* name, std::int64_t& ld, std::int64_t rows,
                           const char* matrix) {
    if (ld == 0) ld = rows;
    if (ld < rows)
      complain("{} is {}, below the {} rows of {} as it is stored. Give {} >= {}.", name, ld, rows,
               matrix, name, rows);
  };
  leading("lda", s.lda, s.a_rows(), "A");
  leading("ldb", s.ldb, s.b_rows(), "B");
  leading("ldc", s.ldc, s.m, "C");
  if (s.alpha == 0) complain("alpha is 0 (nothing would be multiplied). Give another alpha.");
  if (s.beta == 0) s.beta = 0;  // of -0
  // Unknown factors come first, so that the message names a field.
  product({{"2", 2}, {"m", s.m}, {"n", s.n}, {"k", s.k}, {"b", s.batch}},
          "the number of operations", complain);
  const auto in_bytes = [&](const char* what, const char* ld, std::int64_t rows,
                            const char* columns, std::int64_t count) {
    product({{"element size", 8}, {ld, rows}, {columns, count}, {"b", s.batch}}, what, complain);
  };
  in_bytes("A in bytes", "lda", s.lda, s.ta ? "m" : "k", s.a_columns());
  in_bytes("B in bytes", "ldb", s.ldb, s.tb ? "k" : "n", s.b_columns());
  in_bytes("C in bytes", "ldc", s.ldc, "n", s.n);
}

}  // namespace

GemmShape parse_gemm(const std::string& descriptor) {
  const DescriptorComplaint complain("gemm", descriptor);
  if (descriptor.empty()) complain("it is empty. Give for example m1760n128k1760.");
  GemmShape shape = descriptor.find(':') != std::string::npos ? read_benchdnn(descriptor, complain)
                                                              : Reader(descriptor, complain).read();
  settle(shape, complain);
  return shape;
}

std::string to_descriptor(const GemmShape& s) {
  std::string text = fmt::format("m{}n{}k{}", s.m, s.n, s.k);
  const auto add = [&](const char* name, auto value, auto otherwise) {
    if (value != otherwise) text += fmt::format("{}{}", name, value);
  };
  add("b", s.batch, std::int64_t{1});
  add("lda", s.lda, s.a_rows());
  add("ldb", s.ldb, s.b_rows());
  add("ldc", s.ldc, s.m);
  add("alpha", s.alpha, 1.0);
  add("beta", s.beta, 0.0);
  if (s.ta) text += "ta";
  if (s.tb) text += "tb";
  return text;
}

}  // namespace assay
