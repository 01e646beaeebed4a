// Convolution, pooling, batch normalization, concatenation, resizing and matrix multiplication.
#include <cmath>

#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

/// One spatial dimension: `before` and `after` are its padding.
struct Axis {
  double in = 1, out = 1, taps = 1, stride = 1, dilation = 0, before = 0, after = 0;
};

/// The axis `letter` as benchdnn completes it. The padding after the input is what the last window
/// needs.
Axis read_axis(const Fields& numbers, const std::string& letter) {
  Axis axis;
  axis.in = value(numbers, "i" + letter, 1);
  axis.taps = value(numbers, "k" + letter, 1);
  axis.stride = value(numbers, "s" + letter, 1);
  axis.dilation = value(numbers, "d" + letter, 0);
  const double window = (axis.taps - 1) * (axis.dilation + 1) + 1;
  axis.before = value(numbers, "p" + letter, 0);
  if (!numbers.contains("o" + letter)) {
    axis.out = std::floor((axis.in + 2 * axis.before - window) / axis.stride) + 1;
  } else {
    axis.out = numbers.at("o" + letter);
    if (!numbers.contains("p" + letter))
      axis.before =
          std::max(0.0, std::trunc(((axis.out - 1) * axis.stride - axis.in + window) / 2));
  }
  axis.after = (axis.out - 1) * axis.stride + window - axis.in - axis.before;
  return axis;
}

void add_axis(Fields& fields, const std::string& letter, const Axis& axis) {
  fields.insert({{"i" + letter, axis.in},
                 {"o" + letter, axis.out},
                 {"k" + letter, axis.taps},
                 {"s" + letter, axis.stride},
                 {"d" + letter, axis.dilation},
                 {"p" + letter, axis.before},
                 {"p" + letter + "_r", axis.after}});
}

Fields conv_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("ic") || !numbers.contains("oc") || bytes.input == 0) return {};
  const bool deep = numbers.contains("id"), high = numbers.contains("ih"),
             wide = numbers.contains("iw");
  const Axis d = deep ? read_axis(numbers, "d") : Axis{};
  const Axis h = high ? read_axis(numbers, "h") : deep ? d : Axis{};
  const Axis w = wide ? read_axis(numbers, "w") : h;
  const double g = value(numbers, "g", 1), mb = value(numbers, "mb", 2), ic = numbers.at("ic"),
               oc = numbers.at("oc");
  const double src = mb * ic * d.in * h.in * w.in, dst = mb * oc * d.out * h.out * w.out,
               weights = oc * (ic / g) * d.taps * h.taps * w.taps;
  Fields all{{"g", g}, {"mb", mb}, {"ic", ic}, {"oc", oc}};
  add_axis(all, "d", d);
  add_axis(all, "h", h);
  add_axis(all, "w", w);
  // Each output takes one product from every tap of every channel of its group.
  all["flops"] = 2 * dst * (ic / g) * d.taps * h.taps * w.taps;
  const std::string direction = operation.setting("direction");
  const double result = direction == "bwd_data" ? src : direction == "bwd_weights" ? weights : dst;
  all["bytes"] = bytes.input * (src + dst + weights - result) + bytes.output * result;
  return all;
}

Fields pool_amounts(const Operation& operation) {
  Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("ih") || !numbers.contains("kh") || bytes.input == 0) return {};
  numbers.emplace("ph", 0);  // padding is never derived
  const Axis h = read_axis(numbers, "h");
  bool square = true;
  for (const char* part : {"i", "k", "s", "p"}) {
    const std::string high = part + std::string("h"), wide = part + std::string("w");
    if (numbers.contains(wide))
      square = square && numbers.at(wide) == value(numbers, high, 1);
    else if (numbers.contains(high))
      numbers[wide] = numbers.at(high);
  }
  if (square) numbers.emplace("ow", h.out);
  const Axis w = read_axis(numbers, "w");
  const double planes = value(numbers, "mb", 1) * value(numbers, "ic", 1),
               src = planes * h.in * w.in, dst = planes * h.out * w.out;
  Fields all{{"mb", value(numbers, "mb", 1)}, {"ic", value(numbers, "ic", 1)}};
  add_axis(all, "h", h);
  add_axis(all, "w", w);
  all["flops"] = 0;
  // Only max pooling reads the inputs again, to find the largest.
  const bool again =
      operation.setting("direction") == "backward" && operation.setting("mode") == "max";
  all["bytes"] = bytes.input * (dst + src * (again ? 2 : 1));
  return all;
}

Fields norm_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("ic") || !numbers.contains("ih") || bytes.input == 0) return {};
  const double mb = value(numbers, "mb", 1), ic = numbers.at("ic"), ih = numbers.at("ih"),
               iw = value(numbers, "iw", ih);
  const std::string fusion = operation.setting("fusion");
  const bool backward = operation.setting("direction") == "backward", adds = fusion == "add_relu",
             rectifies = adds || fusion == "relu";
  // Forward: src, dst, the summand; scale, shift, mean, variance. Backward: src, both gradients,
  // the summand's gradient, dst (which tells where a rectifier was 0); scale, mean, variance, two
  // gradients.
  const double tensors = backward ? 3 + (rectifies ? 1 : 0) : 2;
  return {{"mb", mb},
          {"ic", ic},
          {"ih", ih},
          {"iw", iw},
          {"flops", 0},
          {"bytes", bytes.input * mb * ic * ih * iw * (tensors + (adds ? 1 : 0)) +
                        bytes.wide * ic * (backward ? 5 : 4)}};
}

Fields concat_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("ca") || !numbers.contains("ih") || bytes.input == 0) return {};
  Fields all = numbers;
  const double pixels = value(numbers, "mb", 1) * numbers.at("ih") *
                        (all["iw"] = value(numbers, "iw", numbers.at("ih")));
  double channels = 0;
  for (const auto& [name, count] : numbers)
    if (name.size() == 2 && name.starts_with('c')) channels += count;
  all["flops"] = 0;
  all["bytes"] = 2 * bytes.input * channels * pixels;  // read, and written
  return all;
}

Fields resize_amounts(const Operation& operation) {
  Fields all = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!all.contains("ih") || !all.contains("oh") || bytes.input == 0) return {};
  all.emplace("iw", all.at("ih"));
  all.emplace("ow", all.at("oh"));
  all["flops"] = 0;
  all["bytes"] = bytes.input * value(all, "mb", 1) * value(all, "ic", 1) *
                 (all.at("ih") * all.at("iw") + all.at("oh") * all.at("ow"));
  return all;
}

Fields gemm_amounts(const Operation& operation) {
  const Fields numbers = parse_fields(operation.descriptor);
  const ElementBytes bytes = element_bytes(operation.setting("precision"));
  if (!numbers.contains("m") || !numbers.contains("n") || !numbers.contains("k") ||
      bytes.input == 0)
    return {};
  const double m = numbers.at("m"), n = numbers.at("n"), k = numbers.at("k"),
               batch = value(numbers, "b", 1), beta = value(numbers, "beta", 0);
  const bool both = numbers.contains("tatb"), ta = both || numbers.contains("ta"),
             tb = both || numbers.contains("tb");
  return {{"m", m},
          {"n", n},
          {"k", k},
          {"batch", batch},
          {"ta", ta ? 1 : 0},
          {"tb", tb ? 1 : 0},
          {"lda", value(numbers, "lda", ta ? k : m)},
          {"ldb", value(numbers, "ldb", tb ? n : k)},
          {"ldc", value(numbers, "ldc", m)},
          {"alpha", value(numbers, "alpha", 1)},
          {"beta", beta},
          {"flops", 2 * m * n * k * batch},
          {"bytes",
           batch * (bytes.input * (m * k + k * n) + bytes.output * m * n * (beta == 0 ? 1 : 2))}};
}

const OperationFormula of_conv("conv", conv_amounts), of_pool("pool", pool_amounts),
    of_norm("norm", norm_amounts), of_concat("concat", concat_amounts),
    of_resize("resize", resize_amounts), of_gemm("gemm", gemm_amounts);

}  // namespace
}  // namespace assay::formula
