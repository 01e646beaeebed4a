#pragma once
// The items (item.hpp, warp.hpp) of softmax cross-entropy (kernels/loss/problem.hpp). The lanes of
// a warp share the classes of a sample. The largest logit is subtracted before exponentials are
// computed, so that none overflows.

#include <cmath>

#include "kernels/cuda/warp.hpp"

namespace assay::cuda {

/// Number of samples whose gradients a thread computes, for one class.
inline constexpr std::int64_t loss_rows = 8;

template <class Value>
struct LossSoftmax {
  Value largest, sum;  ///< largest logit; sum of exp(logit - largest)
};

template <class Stored>
struct LossOfSample {
  using Value = ValueOf<Stored>;
  const Stored* logits;
  const Value* bias;  ///< nullptr: none
  const std::int32_t* labels;
  std::int64_t classes;
  double smoothing;
  Value* losses;
  std::int32_t* correct;
  LossSoftmax<Value>* softmax;

  ASSAY_ITEM Value logit(std::int64_t sample, std::int64_t c) const {
    const Value x = widen(logits[sample * classes + c]);
    return bias == nullptr ? x : x + bias[c];
  }
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t sample = warp.number;
    const Best best = find_best(warp, sample);
    Lanes<Totals> totals = {};
    warp.each([&](int lane) {
      Value sum = 0;
      each(sample, lane, [&](std::int64_t, Value x) {
        sum += std::exp(x - best.largest);
        totals[lane].logits += static_cast<double>(x);
      });
      totals[lane].sum = static_cast<double>(sum);
    });
    warp.add_up(totals);
    warp.each([&](int lane) {
      if (lane == 0) write(sample, best, totals[lane]);
    });
  }

 private:
  struct Best {
    Value largest;
    std::int32_t position;  ///< the first class with the largest logit
  };
  struct Totals {
    double sum, logits;
    ASSAY_ITEM Totals operator+(const Totals& other) const {
      return {sum + other.sum, logits + other.logits};
    }
  };

  /// act(c, logit) for the classes of a lane.
  template <class Act>
  ASSAY_ITEM void each(std::int64_t sample, int lane, const Act& act) const {
    const std::int64_t first = sample * classes;
    each_pack<widest<Stored>>(first, first + classes, lane, [&](std::int64_t at, auto width) {
      constexpr int count = decltype(width)::value;
      Value x[count];
      load<count>(logits + at, x);
      for (int j = 0; j < count; ++j) {
        const std::int64_t c = at - first + j;
        act(c, bias == nullptr ? x[j] : x[j] + bias[c]);
      }
    });
  }

  ASSAY_ITEM Best find_best(const Warp& warp, std::int64_t sample) const {
    Lanes<Best> best;
    warp.each([&](int lane) {
      Best& own = best[lane];
      own = {logit(sample, 0), 0};  // a lane may have no class
      each(sample, lane, [&](std::int64_t c, Value x) {
        if (x > own.largest) own = {x, static_cast<std::int32_t>(c)};
      });
    });
    warp.join(best, [](const Best& a, const Best& b) {
      return a.largest > b.largest || (a.largest == b.largest && a.position < b.position) ? a : b;
    });
    return best.values[0];
  }

  ASSAY_ITEM void write(std::int64_t sample, const Best& best, const Totals& totals) const {
    const std::int32_t label = labels[sample];
    losses[sample] =
        static_cast<Value>(static_cast<double>(best.largest) + std::log(totals.sum) -
                           (1 - smoothing) * static_cast<double>(logit(sample, label)) -
                           smoothing * totals.logits / static_cast<double>(classes));
    correct[sample] = best.position == label ? 1 : 0;
    softmax[sample] = {best.largest, static_cast<Value>(totals.sum)};
  }
};

/// The gradients of `width` classes in some samples, and their sums before they are rounded.
template <class Stored, int width>
struct LossGradients {
  using Value = ValueOf<Stored>;
  LossOfSample<Stored> loss;
  const Value* scale;
  std::int64_t samples;
  Stored* to;
  double* sums;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t classes = loss.classes, part = i / (classes / width),
                       c = (i - part * (classes / width)) * width, first = part * loss_rows,
                       last = first + loss_rows < samples ? first + loss_rows : samples;
    const auto by = static_cast<Value>(static_cast<double>(*scale) / static_cast<double>(samples)),
               each = static_cast<Value>(loss.smoothing / static_cast<double>(classes)),
               more = static_cast<Value>(1 - loss.smoothing);
    double own[width] = {};
    for (std::int64_t sample = first; sample < last; ++sample) {
      const LossSoftmax<Value> softmax = loss.softmax[sample];
      const std::int32_t label = loss.labels[sample];
      Value x[width], g[width];
      load<width>(loss.logits + sample * classes + c, x);
      for (int j = 0; j < width; ++j) {
        if (loss.bias != nullptr) x[j] += loss.bias[c + j];
        const Value p = std::exp(x[j] - softmax.largest) / softmax.sum,
                    q = label == c + j ? more + each : each;
        g[j] = by * (p - q);
        own[j] += static_cast<double>(g[j]);
      }
      store<width>(g, to + sample * classes + c);
    }
    for (int j = 0; j < width; ++j) sums[part * classes + c + j] = own[j];
  }
};

}  // namespace assay::cuda
