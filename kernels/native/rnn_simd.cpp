// Functions of units: gates, states, and their derivatives.

#include "kernels/native/rnn_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/rnn_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/native/functions_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = HWY_CAPPED(float, 16);
using V = hn::Vec<D>;

HWY_INLINE V load(const float* from, std::ptrdiff_t i) { return hn::LoadU(D(), from + i); }
HWY_INLINE void store(V v, float* to, std::ptrdiff_t i) { hn::StoreU(v, D(), to + i); }
HWY_INLINE V one() { return hn::Set(D(), 1.0f); }

HWY_INLINE V slope_of_logistic(V y) { return hn::Mul(y, hn::Sub(one(), y)); }
HWY_INLINE V slope_of_tanh(V y) { return hn::NegMulAdd(y, y, one()); }

/// body(i) for vectors of `count` values.
template <class Body>
HWY_INLINE void each(std::ptrdiff_t count, Body body) {
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(D()));
  for (std::ptrdiff_t i = 0; i < count; i += lanes) body(i);
}

HWY_INLINE V sum(const RnnStep& s, int gate, std::ptrdiff_t i) {
  return hn::Add(load(s.gates[gate], i), load(s.bias[gate], i % 16));
}

void forward_lstm(const RnnStep& s) {
  each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
    const V in = logistic(D(), sum(s, 0, i)), forget = logistic(D(), sum(s, 1, i)),
            fresh = hyperbolic(D(), sum(s, 2, i)), out = logistic(D(), sum(s, 3, i));
    const V c = hn::MulAdd(forget, load(s.c, i), hn::Mul(in, fresh));
    store(in, s.gates[0], i);
    store(forget, s.gates[1], i);
    store(fresh, s.gates[2], i);
    store(out, s.gates[3], i);
    store(c, s.next_c, i);
    store(hn::Mul(out, hyperbolic(D(), c)), s.next_h, i);
  });
}

HWY_INLINE void finish_gate(const RnnStep& s, V fresh, V update, std::ptrdiff_t i) {
  store(fresh, s.gates[2], i);
  store(hn::MulAdd(update, hn::Sub(load(s.h, i), fresh), fresh), s.next_h, i);
}

void forward(RnnCell cell, const RnnStep& s) {
  switch (cell) {
    case RnnCell::vanilla_relu:
      each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
        const V h = hn::Max(sum(s, 0, i), hn::Zero(D()));
        store(h, s.gates[0], i);
        store(h, s.next_h, i);
      });
      return;
    case RnnCell::vanilla_tanh:
      each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
        const V h = hyperbolic(D(), sum(s, 0, i));
        store(h, s.gates[0], i);
        store(h, s.next_h, i);
      });
      return;
    case RnnCell::lstm:
      forward_lstm(s);
      return;
    case RnnCell::gru:
      each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
        const V reset = logistic(D(), sum(s, 1, i));
        store(logistic(D(), sum(s, 0, i)), s.gates[0], i);
        store(reset, s.gates[1], i);
        store(hn::Mul(reset, load(s.h, i)), s.aside, i);
      });
      return;
    case RnnCell::gru_lbr:
      each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
        const V update = logistic(D(), sum(s, 0, i)), reset = logistic(D(), sum(s, 1, i));
        const V inner = hn::Add(load(s.aside, i), load(s.bias[3], i % 16));
        store(update, s.gates[0], i);
        store(reset, s.gates[1], i);
        store(inner, s.aside, i);
        finish_gate(s, hyperbolic(D(), hn::MulAdd(reset, inner, sum(s, 2, i))), update, i);
      });
      return;
  }
}

void finish(const RnnStep& s) {
  each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
    finish_gate(s, hyperbolic(D(), sum(s, 2, i)), load(s.gates[0], i), i);
  });
}

HWY_INLINE V diff_of_h(const RnnBackStep& s, std::ptrdiff_t i) {
  return hn::Add(load(s.diff_out, i), load(s.diff_h, i));
}

void backward_lstm(const RnnBackStep& s) {
  each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
    const V in = load(s.gates[0], i), forget = load(s.gates[1], i), fresh = load(s.gates[2], i),
            out = load(s.gates[3], i), dh = diff_of_h(s, i);
    const V bent = hyperbolic(D(), load(s.next_c, i));
    const V dc = hn::MulAdd(hn::Mul(dh, out), slope_of_tanh(bent), load(s.diff_c, i));
    store(hn::Mul(hn::Mul(dc, fresh), slope_of_logistic(in)), s.diff[0], i);
    store(hn::Mul(hn::Mul(dc, load(s.c, i)), slope_of_logistic(forget)), s.diff[1], i);
    store(hn::Mul(hn::Mul(dc, in), slope_of_tanh(fresh)), s.diff[2], i);
    store(hn::Mul(hn::Mul(dh, bent), slope_of_logistic(out)), s.diff[3], i);
    store(hn::Mul(dc, forget), s.diff_c, i);
    store(hn::Zero(D()), s.arriving, i);
  });
}

void backward_gru(const RnnBackStep& s, bool linear_before_reset) {
  each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
    const V update = load(s.gates[0], i), fresh = load(s.gates[2], i), dh = diff_of_h(s, i);
    const V dz = hn::Mul(hn::Mul(dh, hn::Sub(one(), update)), slope_of_tanh(fresh));
    store(hn::Mul(hn::Mul(dh, hn::Sub(load(s.h, i), fresh)), slope_of_logistic(update)), s.diff[0],
          i);
    store(dz, s.diff[2], i);
    store(hn::Mul(dh, update), s.arriving, i);
    if (linear_before_reset) {
      const V reset = load(s.gates[1], i);
      store(hn::Mul(hn::Mul(dz, load(s.aside, i)), slope_of_logistic(reset)), s.diff[1], i);
      store(hn::Mul(dz, reset), s.diff_aside, i);
    }
  });
}

void backward(RnnCell cell, const RnnBackStep& s) {
  switch (cell) {
    case RnnCell::vanilla_relu:
      each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
        const V zero = hn::Zero(D());
        store(hn::IfThenElseZero(hn::Gt(load(s.gates[0], i), zero), diff_of_h(s, i)), s.diff[0], i);
        store(zero, s.arriving, i);
      });
      return;
    case RnnCell::vanilla_tanh:
      each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
        store(hn::Mul(diff_of_h(s, i), slope_of_tanh(load(s.gates[0], i))), s.diff[0], i);
        store(hn::Zero(D()), s.arriving, i);
      });
      return;
    case RnnCell::lstm:
      backward_lstm(s);
      return;
    case RnnCell::gru:
    case RnnCell::gru_lbr:
      backward_gru(s, cell == RnnCell::gru_lbr);
      return;
  }
}

void finish_backward(const RnnBackStep& s) {
  each(s.count, [&](std::ptrdiff_t i) HWY_ATTR {
    const V reset = load(s.gates[1], i), product = load(s.product, i);
    store(hn::Mul(hn::Mul(product, load(s.h, i)), slope_of_logistic(reset)), s.diff[1], i);
    store(hn::MulAdd(product, reset, load(s.arriving, i)), s.arriving, i);
  });
}

}  // namespace

const RnnTable* rnn_table_here() {
  static const RnnTable table{&forward, &finish, &backward, &finish_backward};
  return &table;
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(rnn_table_here);
const RnnTable& rnn_table() { return *HWY_DYNAMIC_DISPATCH(rnn_table_here)(); }
}  // namespace assay::native
#endif
