#pragma once
// The items (item.hpp) of softmax cross-entropy (kernels/loss/problem.hpp). 32 threads, the lanes
// of a sample, share its classes: lane i has the classes i, i + lanes, … The largest logit, of the
// lane and then of the sample, is subtracted before exponentials are computed, so that none
// overflows.

#include <cmath>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

inline constexpr std::int64_t loss_lanes = 32;
/// Number of samples whose gradients a thread computes, for one class.
inline constexpr std::int64_t loss_rows = 8;

template <class Value>
struct LossPart {
  Value largest, sum;     ///< largest logit; sum of exp(logit - largest)
  double total;           ///< sum of logits
  std::int64_t position;  ///< the first class with the largest logit
};

template <class Stored>
struct LossOfLane {
  using Value = ValueOf<Stored>;
  const Stored* logits;
  const Value* bias;
  std::int64_t classes, lanes;  ///< lanes: number of lanes that have classes
  LossPart<Value>* to;
  ASSAY_ITEM Value logit(std::int64_t sample, std::int64_t c) const {
    return widen(logits[sample * classes + c]) + bias[c];
  }
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t sample = i / lanes, lane = i % lanes;
    LossPart<Value> part{logit(sample, lane), 0, 0, lane};
    for (std::int64_t c = lane + lanes; c < classes; c += lanes)
      if (const Value x = logit(sample, c); x > part.largest) {
        part.largest = x;
        part.position = c;
      }
    for (std::int64_t c = lane; c < classes; c += lanes) {
      const Value x = logit(sample, c);
      part.sum += std::exp(x - part.largest);
      part.total += static_cast<double>(x);
    }
    to[i] = part;
  }
};

template <class Value>
struct LossSoftmax {
  Value largest, sum;
};

template <class Stored>
struct LossOfSample {
  using Value = ValueOf<Stored>;
  LossOfLane<Stored> of;
  const std::int32_t* labels;
  double smoothing;
  Value* losses;
  std::int32_t* correct;
  LossSoftmax<Value>* softmax;
  ASSAY_ITEM void operator()(std::int64_t sample) const {
    const LossPart<Value>* const parts = of.to + sample * of.lanes;
    LossPart<Value> best = parts[0];
    for (std::int64_t lane = 1; lane < of.lanes; ++lane)
      if (const LossPart<Value>& part = parts[lane];
          part.largest > best.largest ||
          (part.largest == best.largest && part.position < best.position))
        best = part;
    const auto largest = static_cast<double>(best.largest);
    double sum = 0, total = 0;
    for (std::int64_t lane = 0; lane < of.lanes; ++lane) {
      sum += static_cast<double>(parts[lane].sum) *
             std::exp(static_cast<double>(parts[lane].largest) - largest);
      total += parts[lane].total;
    }
    const std::int32_t label = labels[sample];
    losses[sample] = static_cast<Value>(
        largest + std::log(sum) - (1 - smoothing) * static_cast<double>(of.logit(sample, label)) -
        smoothing * total / static_cast<double>(of.classes));
    correct[sample] = best.position == label ? 1 : 0;
    softmax[sample] = {best.largest, static_cast<Value>(sum)};
  }
};

/// The gradients of a class in some samples, and their sum before they are rounded.
template <class Stored>
struct LossGradients {
  using Value = ValueOf<Stored>;
  LossOfSample<Stored> of;
  const Value* scale;
  std::int64_t samples;
  Stored* to;
  double* sums;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t classes = of.of.classes, c = i % classes, first = i / classes * loss_rows,
                       last = first + loss_rows < samples ? first + loss_rows : samples;
    const auto by = static_cast<Value>(static_cast<double>(*scale) / static_cast<double>(samples)),
               each = static_cast<Value>(of.smoothing / static_cast<double>(classes)),
               more = static_cast<Value>(1 - of.smoothing);
    double sum = 0;
    for (std::int64_t sample = first; sample < last; ++sample) {
      const LossSoftmax<Value> softmax = of.softmax[sample];
      const Value p = std::exp(of.of.logit(sample, c) - softmax.largest) / softmax.sum,
                  q = of.labels[sample] == c ? more + each : each, g = by * (p - q);
      sum += static_cast<double>(g);
      to[sample * classes + c] = narrow<Stored>(g);
    }
    sums[i] = sum;
  }
};

}  // namespace assay::cuda
