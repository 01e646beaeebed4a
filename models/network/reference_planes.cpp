// Layers of planes: convolutions, pooling, resizing, concatenation, dropout.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/place.hpp"
#include "models/network/claimed_mask.hpp"
#include "models/network/reference_pass.hpp"

namespace assay {
namespace {

/// Calls body(at, tap, to) for each pair of pixels of src [images, height, width, channels] and dst
/// that a tap connects; `at` and `to` are their first elements. Leaves out taps outside src.
struct Window {
  std::int64_t images, height, width, channels, out_height, out_width, out_channels, taps, stride,
      padding, dilation = 1;

  template <class Body>
  void for_each_tap(const Body& body) const {
    for (std::int64_t image = 0; image < images; ++image)
      for (std::int64_t y = 0; y < out_height; ++y)
        for (std::int64_t x = 0; x < out_width; ++x)
          for (std::int64_t i = 0; i < taps; ++i)
            for (std::int64_t j = 0; j < taps; ++j) {
              const std::int64_t row = y * stride + i * dilation - padding,
                                 column = x * stride + j * dilation - padding;
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              body(((image * height + row) * width + column) * channels, i * taps + j,
                   ((image * out_height + y) * out_width + x) * out_channels);
            }
  }
};

Window window(const ReferenceActivation& from, std::int64_t out_channels, std::int64_t taps,
              std::int64_t stride, std::int64_t dilation = 1) {
  const std::int64_t padding = dilation * (taps / 2), reach = dilation * (taps - 1);
  const auto out = [&](std::int64_t extent) {
    return (extent + 2 * padding - reach - 1) / stride + 1;
  };
  return {from.images,  from.height, from.width, from.channels, out(from.height), out(from.width),
          out_channels, taps,        stride,     padding,       dilation};
}

/// Filters [first, second, taps] in the order [taps, first, second], so that inner loops are over
/// adjacent numbers.
class SortedFilters {
 public:
  SortedFilters(std::int64_t first, std::int64_t second, std::int64_t taps)
      : first_(first), second_(second), taps_(taps), values_(place(first * second * taps)) {}
  SortedFilters(const std::vector<double>& filters, std::int64_t first, std::int64_t second,
                std::int64_t taps)
      : SortedFilters(first, second, taps) {
    for_each([&](double& here, std::size_t there) { here = filters[there]; });
  }
  const double* row(std::int64_t tap, std::int64_t first) const {
    return values_.data() + (tap * first_ + first) * second_;
  }
  double* row(std::int64_t tap, std::int64_t first) {
    return values_.data() + (tap * first_ + first) * second_;
  }
  void add_to(std::vector<double>& filters) {
    for_each([&](double here, std::size_t there) { filters[there] += here; });
  }

 private:
  template <class Body>
  void for_each(const Body& body) {
    for (std::int64_t tap = 0; tap < taps_; ++tap)
      for (std::int64_t i = 0; i < first_; ++i)
        for (std::int64_t j = 0; j < second_; ++j)
          body(row(tap, i)[j], place((i * second_ + j) * taps_ + tap));
  }
  std::int64_t first_, second_, taps_;
  std::vector<double> values_;
};

/// The two inputs along an axis from which an output is interpolated, and the weight of the second
/// one.
struct Between {
  std::int64_t first, second;
  double weight;
};

std::vector<Between> between(std::int64_t inputs, std::int64_t outputs) {
  std::vector<Between> all;
  for (std::int64_t o = 0; o < outputs; ++o) {
    const double centre = (static_cast<double>(o) + 0.5) * static_cast<double>(inputs) /
                              static_cast<double>(outputs) -
                          0.5,
                 at = std::clamp(centre, 0.0, static_cast<double>(inputs - 1));
    const auto first = static_cast<std::int64_t>(std::floor(at));
    all.push_back({first, std::min(first + 1, inputs - 1), at - static_cast<double>(first)});
  }
  return all;
}

}  // namespace

ReferencePass::Node ReferencePass::conv(const std::string& layer, const Node& from,
                                        std::int64_t channels, std::int64_t taps,
                                        std::int64_t stride, std::int64_t dilation, bool bias,
                                        double start) {
  const Window w = window(*from, channels, taps, stride, dilation);
  const Node to = activation(from->images, w.out_height, w.out_width, channels);
  const std::string name = layer + ".weight";
  const std::int64_t inputs = from->channels;
  const bool by_inputs = bias || start > 0;
  const std::int64_t summed = (by_inputs ? inputs : channels) * taps * taps;
  const SortedFilters weights(
      parameter(name, channels * inputs * taps * taps,
                {.bound = (start > 0 ? start : 1) * std::sqrt(6 / static_cast<double>(summed)),
                 .factor = bias ? 1 : start_.filter_factor,
                 .decays = true}),
      channels, inputs, taps * taps);
  w.for_each_tap([&](std::int64_t src, std::int64_t tap, std::int64_t dst) {
    const double* const in = from->values.data() + src;
    for (std::int64_t output = 0; output < channels; ++output) {
      const double* const weight = weights.row(tap, output);
      double sum = 0;
      for (std::int64_t input = 0; input < inputs; ++input) sum += in[input] * weight[input];
      to->values[place(dst + output)] += sum;
    }
  });
  tape_.emplace_back([=, this] {
    SortedFilters of_weights(channels, inputs, taps * taps);
    w.for_each_tap([&](std::int64_t src, std::int64_t tap, std::int64_t dst) {
      const double* const in = from->values.data() + src;
      double* const of_in = from->gradients.data() + src;
      for (std::int64_t output = 0; output < channels; ++output) {
        const double g = to->gradients[place(dst + output)];
        const double* const weight = weights.row(tap, output);
        double* const of_weight = of_weights.row(tap, output);
        for (std::int64_t input = 0; input < inputs; ++input) {
          of_in[input] += g * weight[input];
          of_weight[input] += g * in[input];
        }
      }
    });
    of_weights.add_to(gradients.at(name));
  });
  if (bias) add_bias(layer, to);
  return to;
}

ReferencePass::Node ReferencePass::deconv(const std::string& layer, const Node& from,
                                          std::int64_t channels, std::int64_t taps,
                                          std::int64_t stride, std::int64_t padding,
                                          std::int64_t height, std::int64_t width, double start) {
  const std::int64_t inputs = from->channels;
  const Window w{from->images, height, width, channels, from->height,
                 from->width,  inputs, taps,  stride,   padding};
  const Node to = activation(from->images, height, width, channels);
  const std::string name = layer + ".weight";
  const SortedFilters weights(
      parameter(name, inputs * channels * taps * taps,
                {.bound = start * static_cast<double>(stride) *
                          std::sqrt(6 / static_cast<double>(inputs * taps * taps)),
                 .factor = start_.filter_factor,
                 .decays = true}),
      inputs, channels, taps * taps);
  w.for_each_tap([&](std::int64_t large, std::int64_t tap, std::int64_t small) {
    double* const out = to->values.data() + large;
    for (std::int64_t input = 0; input < inputs; ++input) {
      const double in = from->values[place(small + input)];
      for (std::int64_t output = 0; output < channels; ++output)
        out[output] += in * weights.row(tap, input)[output];
    }
  });
  tape_.emplace_back([=, this] {
    SortedFilters of_weights(inputs, channels, taps * taps);
    w.for_each_tap([&](std::int64_t large, std::int64_t tap, std::int64_t small) {
      const double* const g = to->gradients.data() + large;
      for (std::int64_t input = 0; input < inputs; ++input) {
        const double in = from->values[place(small + input)];
        double of_in = 0;
        for (std::int64_t output = 0; output < channels; ++output) {
          of_in += g[output] * weights.row(tap, input)[output];
          of_weights.row(tap, input)[output] += g[output] * in;
        }
        from->gradients[place(small + input)] += of_in;
      }
    });
    of_weights.add_to(gradients.at(name));
  });
  return to;
}

/// Works in place: the operation that made `to` does not read its values again.
void ReferencePass::add_bias(const std::string& layer, const Node& to) {
  const std::string name = layer + ".bias";
  const std::size_t channels = place(to->channels);
  const std::vector<double>& bias = parameter(name, to->channels, {});
  for (std::size_t i = 0; i < to->values.size(); ++i) to->values[i] += bias[i % channels];
  tape_.emplace_back([=, this] {
    std::vector<double>& of_bias = gradients.at(name);
    for (std::size_t i = 0; i < to->gradients.size(); ++i)
      of_bias[i % channels] += to->gradients[i];
  });
}

/// The first of equally large elements receives the gradient.
ReferencePass::Node ReferencePass::max_pool(const Node& from, std::int64_t taps) {
  const std::int64_t channels = from->channels;
  const Window w = window(*from, channels, taps, 2);
  const Node to = activation(from->images, w.out_height, w.out_width, channels);
  std::vector<std::int64_t> largest(to->values.size(), -1);
  w.for_each_tap([&](std::int64_t src, std::int64_t, std::int64_t dst) {
    for (std::int64_t c = 0; c < channels; ++c) {
      std::int64_t& best = largest[place(dst + c)];
      if (best < 0 || from->values[place(src + c)] > from->values[place(best)]) best = src + c;
    }
  });
  for (std::size_t i = 0; i < largest.size(); ++i) to->values[i] = from->values[place(largest[i])];
  tape_.emplace_back([=] {
    for (std::size_t i = 0; i < largest.size(); ++i)
      from->gradients[place(largest[i])] += to->gradients[i];
  });
  return to;
}

/// The mean of each plane.
ReferencePass::Node ReferencePass::mean(const Node& from) {
  const Node to = activation(from->images, 1, 1, from->channels);
  const std::int64_t plane = from->height * from->width, channels = from->channels;
  const auto target = [=](std::size_t i) {  // of element i of `from`
    const auto at = static_cast<std::int64_t>(i);
    return place(at / (plane * channels) * channels + at % channels);
  };
  for (std::size_t i = 0; i < from->values.size(); ++i)
    to->values[target(i)] += from->values[i] / static_cast<double>(plane);
  tape_.emplace_back([=] {
    for (std::size_t i = 0; i < from->values.size(); ++i)
      from->gradients[i] += to->gradients[target(i)] / static_cast<double>(plane);
  });
  return to;
}

ReferencePass::Node ReferencePass::concat(const std::vector<Node>& from) {
  std::int64_t channels = 0;
  for (const Node& input : from) channels += input->channels;
  const Node to = activation(from[0]->images, from[0]->height, from[0]->width, channels);
  std::int64_t before = 0;
  for (const Node& input : from) {
    const auto target = [=, own_channels = input->channels](std::size_t i) {
      const auto at = static_cast<std::int64_t>(i);
      return place(at / own_channels * channels + before + at % own_channels);
    };
    for (std::size_t i = 0; i < input->values.size(); ++i) to->values[target(i)] = input->values[i];
    tape_.emplace_back([=] {
      for (std::size_t i = 0; i < input->values.size(); ++i)
        input->gradients[i] += to->gradients[target(i)];
    });
    before += input->channels;
  }
  return to;
}

ReferencePass::Node ReferencePass::resize(const Node& from, std::int64_t height,
                                          std::int64_t width) {
  const Node to = activation(from->images, height, width, from->channels);
  const std::int64_t channels = from->channels;
  const std::vector<Between> rows = between(from->height, height),
                             columns = between(from->width, width);
  // Calls body(element of `from`, element of `to`, weight).
  const auto for_each = [=](const auto& body) {
    for (std::int64_t image = 0; image < to->images; ++image)
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
          const Between &row = rows[place(y)], &column = columns[place(x)];
          for (const auto& [i, of_row] :
               {std::pair{row.first, 1 - row.weight}, std::pair{row.second, row.weight}})
            for (const auto& [j, of_column] : {std::pair{column.first, 1 - column.weight},
                                               std::pair{column.second, column.weight}})
              for (std::int64_t c = 0; c < channels; ++c)
                body(place(((image * from->height + i) * from->width + j) * channels + c),
                     place(((image * height + y) * width + x) * channels + c), of_row * of_column);
        }
  };
  for_each([&](std::size_t in, std::size_t out, double weight) {
    to->values[out] += weight * from->values[in];
  });
  tape_.emplace_back([=] {
    for_each([&](std::size_t in, std::size_t out, double weight) {
      from->gradients[in] += weight * to->gradients[out];
    });
  });
  return to;
}

ReferencePass::Node ReferencePass::dropout(const std::string& layer, const Node& from, double p) {
  depends_on_moment = true;
  const ClaimedMask mask(layer, start_.seed, moment_.rank);
  const Node to = like(from);
  std::vector<double> factors(from->values.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (mask.keeps(moment_.passes, static_cast<std::int64_t>(i), p)) factors[i] = 1 / (1 - p);
    to->values[i] = factors[i] * from->values[i];
  }
  tape_.emplace_back([=] {
    for (std::size_t i = 0; i < factors.size(); ++i)
      from->gradients[i] += factors[i] * to->gradients[i];
  });
  return to;
}

}  // namespace assay
