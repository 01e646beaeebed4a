// benchdnn's convolution descriptors. The derivation rules are those of
// tests/benchdnn/conv/conv_aux.cpp (str2desc) and sanitize_desc. benchdnn lets the library fail
// later, or computes nonsense (a division that truncates towards zero turns a kernel larger than
// the input into one output); this parser refuses such a descriptor and names the field.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/descriptor.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace {

using Member = std::int64_t ConvShape::*;

struct Field {
  const char* name;
  Member member;
  std::int64_t least;  ///< smallest valid value
};

constexpr Field fields[] = {
    {"ic", &ConvShape::ic, 1}, {"g", &ConvShape::g, 1},   {"mb", &ConvShape::mb, 1},
    {"id", &ConvShape::id, 1}, {"ih", &ConvShape::ih, 1}, {"iw", &ConvShape::iw, 1},
    {"oc", &ConvShape::oc, 1}, {"od", &ConvShape::od, 1}, {"oh", &ConvShape::oh, 1},
    {"ow", &ConvShape::ow, 1}, {"kd", &ConvShape::kd, 1}, {"kh", &ConvShape::kh, 1},
    {"kw", &ConvShape::kw, 1}, {"sd", &ConvShape::sd, 1}, {"sh", &ConvShape::sh, 1},
    {"sw", &ConvShape::sw, 1}, {"pd", &ConvShape::pd, 0}, {"ph", &ConvShape::ph, 0},
    {"pw", &ConvShape::pw, 0}, {"dd", &ConvShape::dd, 0}, {"dh", &ConvShape::dh, 0},
    {"dw", &ConvShape::dw, 0},
};

/// The members of one spatial dimension, and its letter.
struct AxisMembers {
  char letter;
  Member in, out, taps, stride, dilation, pad, pad_right;
};
constexpr AxisMembers depth{'d',
                            &ConvShape::id,
                            &ConvShape::od,
                            &ConvShape::kd,
                            &ConvShape::sd,
                            &ConvShape::dd,
                            &ConvShape::pd,
                            &ConvShape::pd_r};
constexpr AxisMembers height{'h',
                             &ConvShape::ih,
                             &ConvShape::oh,
                             &ConvShape::kh,
                             &ConvShape::sh,
                             &ConvShape::dh,
                             &ConvShape::ph,
                             &ConvShape::ph_r};
constexpr AxisMembers width{'w',
                            &ConvShape::iw,
                            &ConvShape::ow,
                            &ConvShape::kw,
                            &ConvShape::sw,
                            &ConvShape::dw,
                            &ConvShape::pw,
                            &ConvShape::pw_r};

using Numbers = std::map<std::string, std::int64_t>;

Numbers read_fields(const std::string& text, const DescriptorComplaint& complain) {
  std::vector<std::string> known, may_be_zero;
  for (const Field& field : fields) {
    known.emplace_back(field.name);
    if (field.least == 0) may_be_zero.emplace_back(field.name);
  }
  // A name may follow: "_n<name>", or n"name", as benchdnn's own lists write it.
  return read_counts(text.substr(0, std::min(text.find("_n"), text.find("n\""))), known, {},
                     complain, may_be_zero);
}

/// Extents in one dimension. reach: the inputs from the first to the last that one output reads;
/// span: the distance from the inputs of the first output to those of the last.
struct Extents {
  std::int64_t reach, span;
};

/// Complains about numbers whose sums could overflow.
Extents read_extents(const ConvShape& shape, const AxisMembers& axis,
                     const DescriptorComplaint& complain) {
  const char c = axis.letter;
  const std::string size = fmt::format("the size of dimension {}", c), k = fmt::format("k{}", c),
                    o = fmt::format("o{}", c);
  constexpr std::int64_t largest = std::int64_t{1}
                                   << 61;  // sums of a few such terms stay within 64 bits
  const auto limit = [&](char kind, std::int64_t value) {
    if (value > largest)
      complain("{}{} makes the size of dimension {} overflow 64 bits. Give a smaller number.", kind,
               c, c);
  };
  for (const auto& [kind, value] : {std::pair{'i', shape.*axis.in},
                                    {'k', shape.*axis.taps},
                                    {'o', shape.*axis.out},
                                    {'p', shape.*axis.pad},
                                    {'s', shape.*axis.stride},
                                    {'d', shape.*axis.dilation}})
    limit(kind, value);
  const std::int64_t reach =
      product({{k.c_str(), shape.*axis.taps - 1}, {"dilation", shape.*axis.dilation + 1}},
              size.c_str(), complain) +
      1;
  const std::int64_t span = product(
      {{o.c_str(), std::max<std::int64_t>(shape.*axis.out, 1) - 1}, {"stride", shape.*axis.stride}},
      size.c_str(), complain);
  limit('k', reach);
  limit('o', span);
  return {reach, span};
}

/// Fills in the missing numbers of one dimension, and checks the rest. A missing number is 0, a
/// missing pad -1.
void derive(ConvShape& shape, const AxisMembers& axis, const DescriptorComplaint& complain) {
  const char c = axis.letter;
  const std::int64_t in = shape.*axis.in, stride = shape.*axis.stride;
  std::int64_t& out = shape.*axis.out;
  std::int64_t& pad = shape.*axis.pad;
  const auto [reach, span] = read_extents(shape, axis, complain);
  const bool pad_given = pad >= 0;
  const auto natural = [&, reach = reach](std::int64_t p) {
    return in + 2 * p < reach ? 0 : (in + 2 * p - reach) / stride + 1;
  };
  if (out == 0) {
    if (!pad_given) pad = 0;
    out = natural(pad);
    if (out == 0)
      complain(
          "k{}: the kernel's reach {} is larger than the padded input {} (i{}{}, p{}{} on both "
          "sides). Enlarge i{} or p{}, or give o{}.",
          c, reach, in + 2 * pad, c, in, c, pad, c, c, c);
  } else if (!pad_given) {
    pad = std::max<std::int64_t>(0, (span - in + reach) / 2);
    if (pad >= reach)
      complain(
          "o{}: {} outputs are impossible without windows that lie wholly in padding (i{}{}, reach "
          "{}). Give p{} if that is meant.",
          c, out, c, in, reach, c);
  }
  const std::int64_t right = (out - 1) * stride - in + reach - pad;
  if (right <= -stride)
    complain(
        "o{}: {} is impossible (i{}{} with p{}{} and stride {} gives at least {} outputs). Leave "
        "o{} out to have it derived.",
        c, out, c, in, c, pad, stride, (in + pad - reach) / stride + 1, c);
  if (right >= reach && out > natural(pad))
    complain(
        "o{}: {} is impossible (i{}{} with p{}{} on both sides gives {}; the last windows would "
        "lie wholly in padding). "
        "Leave o{} out to have it derived.",
        c, out, c, in, c, pad, natural(pad), c);
  shape.*axis.pad_right = right;
}

/// Element counts, bytes and operations are kept in 64-bit integers everywhere.
void check_counts(const ConvShape& s, const DescriptorComplaint& complain) {
  product(
      {{"mb", s.mb}, {"ic", s.ic}, {"id", s.id}, {"ih", s.ih}, {"iw", s.iw}, {"element size", 8}},
      "src in bytes", complain);
  product({{"ic", s.ic / s.g},
           {"oc", s.oc},
           {"kd", s.kd},
           {"kh", s.kh},
           {"kw", s.kw},
           {"element size", 8}},
          "weights in bytes", complain);
  product(
      {{"mb", s.mb}, {"oc", s.oc}, {"od", s.od}, {"oh", s.oh}, {"ow", s.ow}, {"element size", 8}},
      "dst in bytes", complain);
  product({{"mb", s.mb},
           {"oc", s.oc},
           {"od", s.od},
           {"oh", s.oh},
           {"ow", s.ow},
           {"ic", s.ic / s.g},
           {"kd", s.kd},
           {"kh", s.kh},
           {"kw", s.kw},
           {"2", 2}},
          "the number of operations", complain);
}

bool trivial(const ConvShape& s, const AxisMembers& a) {
  return s.*a.in == 1 && s.*a.out == 1 && s.*a.taps == 1 && s.*a.stride == 1 &&
         s.*a.dilation == 0 && s.*a.pad == 0 && s.*a.pad_right == 0;
}

bool same(const ConvShape& s, const AxisMembers& a, const AxisMembers& b) {
  return s.*a.in == s.*b.in && s.*a.out == s.*b.out && s.*a.taps == s.*b.taps &&
         s.*a.stride == s.*b.stride && s.*a.dilation == s.*b.dilation && s.*a.pad == s.*b.pad &&
         s.*a.pad_right == s.*b.pad_right;
}

void copy(ConvShape& s, const AxisMembers& from, const AxisMembers& to) {
  for (Member AxisMembers::*field :
       {&AxisMembers::in, &AxisMembers::out, &AxisMembers::taps, &AxisMembers::stride,
        &AxisMembers::dilation, &AxisMembers::pad, &AxisMembers::pad_right})
    s.*(to.*field) = s.*(from.*field);
}

/// True if parse_conv would derive this padding.
bool padding_is_derived(const ConvShape& s, const AxisMembers& a) {
  const std::int64_t reach = (s.*a.taps - 1) * (s.*a.dilation + 1) + 1;
  const std::int64_t derived =
      std::max<std::int64_t>(0, ((s.*a.out - 1) * s.*a.stride - s.*a.in + reach) / 2);
  return derived == s.*a.pad && derived < reach;
}

/// The shape with the fields that are given; before derive().
ConvShape read_shape(const Numbers& numbers, const DescriptorComplaint& complain) {
  ConvShape shape;
  for (const AxisMembers* axis : {&depth, &height, &width}) {
    shape.*axis->in = shape.*axis->out = shape.*axis->taps = 0;
    shape.*axis->pad = -1;
  }
  for (const Field& field : fields)
    if (const auto entry = numbers.find(field.name); entry != numbers.end())
      shape.*field.member = entry->second;
  for (const char* name : {"ic", "oc"})
    if (!numbers.contains(name)) complain("{} is missing. Give for example {}64.", name, name);
  for (const auto& [name, channels] : {std::pair{"ic", shape.ic}, {"oc", shape.oc}})
    if (channels % shape.g != 0)
      complain("g: {} groups do not divide {} = {}. Give a divisor of both ic and oc.", shape.g,
               name, channels);
  return shape;
}

/// The dimensions that the descriptor gives.
struct GivenAxes {
  bool d, h, w;
};

GivenAxes find_given_axes(const ConvShape& shape, const DescriptorComplaint& complain) {
  // The volume may be given by any of its fields (benchdnn's no_d, no_h, no_w).
  const auto is_given = [&](const AxisMembers& a) {
    return shape.*a.in != 0 || shape.*a.out != 0 || shape.*a.taps != 0 || shape.*a.dilation != 0 ||
           shape.*a.stride != 1 || shape.*a.pad > 0;
  };
  const GivenAxes has{is_given(depth), is_given(height), is_given(width)};
  if (!has.d && !has.h && !has.w)
    complain(
        "ih is missing (a convolution has at least one spatial dimension). Give for example ih14.");
  if (has.d && has.h != has.w)
    complain(
        "i{} is missing (a 3-D problem gives d alone, which makes it cubic, or d, h and w). Give "
        "it.",
        has.h ? 'w' : 'h');
  return has;
}

/// Makes a missing dimension equal to its leader.
void follow(ConvShape& shape, const AxisMembers& leader, const AxisMembers& axis,
            const Numbers& numbers, const DescriptorComplaint& complain) {
  const std::string stride = fmt::format("s{}", axis.letter), pad = fmt::format("p{}", axis.letter);
  for (const auto& [name, own, leaders] :
       {std::tuple{stride, shape.*axis.stride, shape.*leader.stride},
        {pad, shape.*axis.pad, shape.*leader.pad}})
    if (numbers.contains(name) && own != leaders)
      complain(
          "{} is {}, but without i{} this dimension follows {} and has {}. Give i{} and k{} too.",
          name, own, axis.letter, leader.letter, leaders, axis.letter, axis.letter);
  copy(shape, leader, axis);
}

}  // namespace

ConvShape parse_conv(const std::string& descriptor) {
  const DescriptorComplaint complain("conv", descriptor);
  const Numbers numbers = read_fields(descriptor, complain);
  if (numbers.empty())
    complain(
        "it is empty (no field such as ic64 in it). Give for example "
        "mb16ic64ih112oc128oh112kh3ph1.");
  ConvShape shape = read_shape(numbers, complain);
  const GivenAxes has = find_given_axes(shape, complain);
  for (const auto& [axis, there] : {std::pair{&depth, has.d}, {&height, has.h}, {&width, has.w}}) {
    if (!there) continue;
    if (shape.*axis->in == 0)
      complain("i{} is missing (other fields of this dimension are given). Give it.", axis->letter);
    if (shape.*axis->taps == 0)
      complain("k{} is missing (other fields of this dimension are given). Give it.", axis->letter);
    derive(shape, *axis, complain);
  }

  // Fields may be missing: the width follows the height, height and width follow the depth;
  // dimensions further out are 1.
  const auto absent = [&](const AxisMembers& a) {
    shape.*a.in = shape.*a.out = shape.*a.taps = 1;
    shape.*a.pad = 0;
  };
  if (has.d && !has.h) {
    follow(shape, depth, height, numbers, complain);
    follow(shape, depth, width, numbers, complain);
  } else if (has.h && !has.w) {
    follow(shape, height, width, numbers, complain);
  }
  if (!has.d) absent(depth);
  if (!has.d && !has.h) absent(height);
  check_counts(shape, complain);
  return shape;
}

std::string to_descriptor(const ConvShape& shape) {
  std::vector<const AxisMembers*> shown;
  if (!trivial(shape, depth)) {
    shown = {&depth};
    if (!same(shape, depth, height) || !same(shape, height, width))
      shown = {&depth, &height, &width};
  } else if (same(shape, height, width)) {
    shown = {&height};
  } else if (trivial(shape, height)) {
    shown = {&width};
  } else {
    shown = {&height, &width};
  }
  std::string text = shape.g == 1 ? "" : fmt::format("g{}", shape.g);
  const auto add = [&](char kind, Member AxisMembers::*member, auto wanted) {
    for (const AxisMembers* axis : shown)
      if (wanted(*axis)) text += fmt::format("{}{}{}", kind, axis->letter, shape.*(axis->*member));
  };
  const auto always = [](const AxisMembers&) { return true; };
  text += fmt::format("mb{}ic{}", shape.mb, shape.ic);
  add('i', &AxisMembers::in, always);
  text += fmt::format("oc{}", shape.oc);
  add('o', &AxisMembers::out, always);
  add('k', &AxisMembers::taps, always);
  add('s', &AxisMembers::stride, [&](const AxisMembers& a) { return shape.*a.stride != 1; });
  add('d', &AxisMembers::dilation, [&](const AxisMembers& a) { return shape.*a.dilation != 0; });
  // Padding is shown unless it is 0; a 0 is shown only if parse_conv would derive another value.
  add('p', &AxisMembers::pad,
      [&](const AxisMembers& a) { return shape.*a.pad != 0 || !padding_is_derived(shape, a); });
  return text;
}

}  // namespace assay
