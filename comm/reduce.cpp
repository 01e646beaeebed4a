#include "comm/reduce.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "comm/algorithms/streamed_copy.hpp"
#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace {

/// At most one cache line.
template <class Value>
constexpr std::size_t most = streamed_line / sizeof(Value);
template <class Value>
using Lanes = HWY_CAPPED(Value, most<Value>);

/// Calls body(format) with the element's format; types of 8 bits have none.
template <class Body>
void with_format(DataType type, Body body) {
  switch (type) {
    case DataType::fp64:
      return body(Plain<double>());
    case DataType::fp32:
      return body(Plain<float>());
    case DataType::bf16:
      return body(Bf16());
    case DataType::fp16:
      return body(Fp16());
    case DataType::s32:
      return body(Plain<std::int32_t>());
    default:
      throw std::logic_error("no arithmetic on " + std::string(name(type)));
  }
}

// The operators. They replace Highway's Min and Max: if an argument is NaN, these return the first
// one on all processors.
struct Sum {
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    return hn::Add(x, y);
  }
};
struct Min {
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    return hn::IfThenElse(hn::Lt(y, x), y, x);
  }
};
struct Max {
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    return hn::IfThenElse(hn::Lt(x, y), y, x);
  }
};

template <class Body>
void with_operator(ReduceOp op, Body body) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return body(Sum());
    case ReduceOp::min:
      return body(Min());
    case ReduceOp::max:
      return body(Max());
  }
}

/// out[i] = x[i] op y[i]; elements that do not fill a vector are computed in a copy.
template <class Format, class Operator>
void each(typename Format::Stored* out, const typename Format::Stored* x,
          const typename Format::Stored* y, std::int64_t count, Operator op) {
  using Stored = typename Format::Stored;
  const Lanes<typename Format::Value> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(Format(), op(Format::load(d, x + i), Format::load(d, y + i)), d, out + i);
  if (i == count) return;
  Stored xs[most<typename Format::Value>] = {}, ys[most<typename Format::Value>] = {};
  const std::size_t bytes = static_cast<std::size_t>(count - i) * sizeof(Stored);
  std::memcpy(xs, x + i, bytes);
  std::memcpy(ys, y + i, bytes);
  store(Format(), op(Format::load(d, xs), Format::load(d, ys)), d, xs);
  std::memcpy(out + i, xs, bytes);
}

/// Highway streams at least 16 bytes, even of a shorter vector.
template <class Format>
constexpr bool streams =
    HWY_ARCH_X86&& hn::MaxLanes(Packed<Format, Lanes<typename Format::Value>>()) *
        sizeof(typename Format::Stored) >=
    16;

/// True if all have the same offset in a cache line.
bool are_alike(std::span<std::byte* const> places) {
  return std::all_of(places.begin(), places.end(), [&](const std::byte* place) {
    return before_streamed_line(place) == before_streamed_line(places.front());
  });
}

/// The same, and streams the results to each of `also`, which are alike. It stores from the
/// register, because loading a vector that was just stored would wait for its cache line.
template <class Format, class Operator>
void each_streamed(typename Format::Stored* out, const typename Format::Stored* x,
                   const typename Format::Stored* y, std::int64_t count,
                   std::span<std::byte* const> also, Operator op) {
  using Stored = typename Format::Stored;
  const Lanes<typename Format::Value> d;
  const Packed<Format, decltype(d)> packed;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto target = [&](std::byte* to, std::int64_t i) {
    return reinterpret_cast<Stored*>(to) + i;
  };
  const auto part = [&](std::int64_t from, std::int64_t more) {
    each<Format>(out + from, x + from, y + from, more, op);
    for (std::byte* const to : also) std::copy_n(out + from, more, target(to, from));
  };
  const std::int64_t head = std::min(
      count, static_cast<std::int64_t>(before_streamed_line(also.front()) / sizeof(Stored)));
  part(0, head);
  std::int64_t i = head;
  for (; i + lanes <= count; i += lanes) {
    const auto value = Format::pack(d, op(Format::load(d, x + i), Format::load(d, y + i)));
    for (std::byte* const to : also) hn::Stream(value, packed, target(to, i));
    hn::StoreU(value, packed, out + i);
  }
  part(i, count - i);
}

template <class Stored>
Stored* elements(const Buffer& buffer) {
  return static_cast<Stored*>(buffer.data);
}

void combine_here(const Buffer& into, const Buffer& a, const Buffer& b, ReduceOp op,
                  std::span<std::byte* const> also) {
  with_format(into.type, [&](auto format) {
    using Format = decltype(format);
    using Stored = typename Format::Stored;
    with_operator(op, [&](auto apply) {
      auto* const out = elements<Stored>(into);
      const auto *const x = elements<Stored>(a), *const y = elements<Stored>(b);
      if constexpr (streams<Format>)
        if (!also.empty() && are_alike(also))
          return each_streamed<Format>(out, x, y, into.count, also, apply);
      each<Format>(out, x, y, into.count, apply);
      for (std::byte* const to : also) copy_streamed({to, into.count, into.type}, into);
    });
  });
}

void scale_here(const Buffer& sum, int ranks) {
  with_format(sum.type, [&](auto format) {
    using Format = decltype(format);
    using Value = typename Format::Value;
    if constexpr (std::is_integral_v<Value>) {
      throw std::logic_error(why_not_reduce(sum.type, ReduceOp::average));
    } else {
      auto* const x = elements<typename Format::Stored>(sum);
      each<Format>(x, x, x, sum.count, [ranks](auto value, auto) HWY_ATTR {
        return hn::Div(value, hn::Set(Lanes<Value>(), static_cast<Value>(ranks)));
      });
    }
  });
}

/// fp64 in memory, rounded to fp32 for computation.
struct Narrowed {
  using Stored = double;
  using Value = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const double* from) {
    float values[most<double>];  // Highway 1.0.3 makes infinity finite where it has no vectors
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) values[i] = static_cast<float>(from[i]);
    return hn::LoadU(d, values);
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<double, D>> pack(D, hn::Vec<D> value) {
    return hn::PromoteTo(hn::Rebind<double, D>(), value);
  }
};

template <class To, class From>
void convert_each(typename To::Stored* out, const typename From::Stored* in, std::int64_t count) {
  const hn::Rebind<float, Lanes<double>> d;  // as many lanes as of fp64
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(To(), From::load(d, in + i), d, out + i);
  typename From::Stored rest[most<double>] = {};
  typename To::Stored converted[most<double>];
  std::copy_n(in + i, count - i, rest);
  store(To(), From::load(d, rest), d, converted);
  std::copy_n(converted, count - i, out + i);
}

template <class Body>
void with_floats(DataType type, Body body) {
  if (is_integer(type)) throw std::logic_error("integers are not converted");
  if (type == DataType::fp64) return body(Narrowed());
  if (type == DataType::fp32) return body(Plain<float>());
  return type == DataType::bf16 ? body(Bf16()) : body(Fp16());
}

void convert_here(const Buffer& into, const Buffer& from) {
  with_floats(into.type, [&](auto to) {
    with_floats(from.type, [&](auto source) {
      using To = decltype(to);
      using From = decltype(source);
      convert_each<To, From>(elements<typename To::Stored>(into),
                             elements<typename From::Stored>(from), into.count);
    });
  });
}

}  // namespace
}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(combine_here);
HWY_EXPORT(scale_here);
HWY_EXPORT(convert_here);

std::string why_not_reduce(DataType type, ReduceOp op) {
  if (size_of(type) == 1)
    return "no " + std::string(name(op)) + " of " + std::string(name(type)) +
           " (8-bit sums overflow; fp64, fp32, fp16, bf16 and s32 are combined)";
  if (is_integer(type) && op == ReduceOp::average)
    return "no average of " + std::string(name(type)) +
           " (the average of integers is not an integer)";
  return "";
}

bool combines(Collective what) {
  return what == Collective::allreduce || what == Collective::reduce ||
         what == Collective::reduce_scatter;
}

void combine(Buffer into, Buffer a, Buffer b, ReduceOp op, std::span<std::byte* const> also) {
  HWY_DYNAMIC_DISPATCH(combine_here)(into, a, b, op, also);
}

void scale(Buffer sum, int ranks) { HWY_DYNAMIC_DISPATCH(scale_here)(sum, ranks); }

void copy(Buffer into, Buffer from) {
  if (into.data != from.data && from.count > 0) std::memcpy(into.data, from.data, from.bytes());
}

void convert(Buffer into, Buffer from) {
  if (into.type == from.type) return copy(into, from);
  HWY_DYNAMIC_DISPATCH(convert_here)(into, from);
}

}  // namespace assay
#endif
