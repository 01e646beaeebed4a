#include "models/network/reference_pass.hpp"

#include <algorithm>
#include <cmath>

#include "core/api/random.hpp"
#include "core/base/place.hpp"

namespace assay {
namespace {

constexpr double normalization_epsilon = 1e-5;  // PyTorch's default

}  // namespace

ReferencePass::ReferencePass(const ReferenceNetwork& network, const ReferenceStart& start,
                             double smoothing, const ReferenceBatch& batch,
                             ReferenceParameters& parameters, const ReferenceMoment& moment)
    : start_(start),
      smoothing_(smoothing),
      batch_(batch),
      parameters_(parameters),
      moment_(moment) {
  const auto& [channels, height, width] = network.input;
  const Node images =
      activation(std::ssize(batch.images) / network.input.elements(), height, width, channels);
  std::copy(batch.images.begin(), batch.images.end(), images->values.begin());
  network.forward(*this, images);
  while (!tape_.empty()) {
    tape_.back()();
    tape_.pop_back();
  }
}

ReferencePass::Node ReferencePass::activation(std::int64_t images, std::int64_t height,
                                              std::int64_t width, std::int64_t channels) {
  const auto created =
      std::make_shared<ReferenceActivation>(ReferenceActivation{images, height, width, channels});
  created->values.resize(place(created->pixels() * channels));
  created->gradients.resize(created->values.size());
  return created;
}

/// Initial values follow the definition of the random data (core/api/random.hpp): element i of the
/// stream with the parameter's name, times `bound`, in fp32.
const std::vector<double>& ReferencePass::parameter(const std::string& name, std::int64_t elements,
                                                    const Initial& initial) {
  const auto [at, added] = parameters_.try_emplace(name);
  gradients[name].resize(place(elements));
  ReferenceParameter& parameter = at->second;
  if (!added) return parameter.values;
  parameter.decays = initial.decays;
  const Values stream(Values::Kind::mantissa, start_.seed, name, DataType::fp32, 0);
  for (std::int64_t i = 0; i < elements; ++i)
    parameter.initial.push_back(
        round_to(DataType::fp32, initial.bound > 0 ? stream(i) * initial.bound : initial.constant) *
        initial.factor);
  parameter.values = parameter.initial;
  parameter.velocity.assign(place(elements), 0);
  return parameter.values;
}

/// The function with batch statistics: y = weight (x - mean) / sqrt(variance + epsilon) + bias.
ReferencePass::Node ReferencePass::norm(const std::string& layer, const Node& from,
                                        double initial) {
  const std::int64_t channels = from->channels;
  const auto m = static_cast<double>(from->pixels());
  const Node to = like(from);
  const std::vector<double>&weight = parameter(layer + ".weight", channels, {.constant = initial}),
        &bias = parameter(layer + ".bias", channels, {});
  ReferenceStatistics batch_statistics{std::vector<double>(place(channels)),
                                       std::vector<double>(place(channels)), m};
  std::vector<double> normalized(from->values.size()), inverse(place(channels));
  for (std::size_t c = 0; c < inverse.size(); ++c) {
    const std::size_t step = inverse.size(), end = from->values.size();
    double sum = 0, squares = 0;
    for (std::size_t i = c; i < end; i += step) sum += from->values[i];
    const double mean = sum / m;
    for (std::size_t i = c; i < end; i += step)
      squares += (from->values[i] - mean) * (from->values[i] - mean);
    batch_statistics.mean[c] = mean;
    batch_statistics.variance[c] = squares / m;
    inverse[c] = 1 / std::sqrt(squares / m + normalization_epsilon);
    for (std::size_t i = c; i < end; i += step) {
      normalized[i] = (from->values[i] - mean) * inverse[c];
      to->values[i] = weight[c] * normalized[i] + bias[c];
    }
  }
  statistics[layer] = std::move(batch_statistics);
  tape_.emplace_back([=, this, &weight, normalized = std::move(normalized)] {
    for (std::size_t c = 0; c < inverse.size(); ++c) {
      const std::size_t step = inverse.size(), end = normalized.size();
      double of_bias = 0, of_weight = 0;
      for (std::size_t i = c; i < end; i += step) {
        of_bias += to->gradients[i];
        of_weight += to->gradients[i] * normalized[i];
      }
      gradients.at(layer + ".bias")[c] += of_bias;
      gradients.at(layer + ".weight")[c] += of_weight;
      for (std::size_t i = c; i < end; i += step)
        from->gradients[i] += weight[c] * inverse[c] *
                              (to->gradients[i] - of_bias / m - normalized[i] * of_weight / m);
    }
  });
  return to;
}

ReferencePass::Node ReferencePass::pointwise(const Node& from, double (*function)(double),
                                             double (*slope)(double x, double y)) {
  const Node to = like(from);
  for (std::size_t i = 0; i < to->values.size(); ++i) to->values[i] = function(from->values[i]);
  tape_.emplace_back([=] {
    for (std::size_t i = 0; i < to->values.size(); ++i)
      from->gradients[i] += to->gradients[i] * slope(from->values[i], to->values[i]);
  });
  return to;
}

ReferencePass::Node ReferencePass::relu(const Node& from) {
  return pointwise(
      from, [](double x) { return std::max(x, 0.0); },
      [](double x, double) { return x > 0 ? 1.0 : 0.0; });
}

ReferencePass::Node ReferencePass::sigmoid(const Node& from) {
  return pointwise(
      from, [](double x) { return 1 / (1 + std::exp(-x)); },
      [](double, double y) { return y * (1 - y); });
}

ReferencePass::Node ReferencePass::log_sigmoid(const Node& from) {
  return pointwise(
      from, [](double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); },
      [](double x, double) { return 1 / (1 + std::exp(x)); });
}

ReferencePass::Node ReferencePass::tanh(const Node& from) {
  return pointwise(
      from, [](double x) { return std::tanh(x); }, [](double, double y) { return 1 - y * y; });
}

ReferencePass::Node ReferencePass::gelu(const Node& from) {
  return pointwise(
      from, [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; },
      [](double x, double) {
        constexpr double density_at_0 = 0.39894228040143267794;  // 1 / sqrt(2 pi)
        return std::erfc(-x / std::sqrt(2.0)) / 2 + x * density_at_0 * std::exp(-x * x / 2);
      });
}

ReferencePass::Node ReferencePass::add(const Node& first, const Node& other) {
  const Node to = like(first);
  for (std::size_t i = 0; i < to->values.size(); ++i)
    to->values[i] = first->values[i] + other->values[i];
  tape_.emplace_back([=] {
    for (std::size_t i = 0; i < to->values.size(); ++i) {
      first->gradients[i] += to->gradients[i];
      other->gradients[i] += to->gradients[i];
    }
  });
  return to;
}

ReferencePass::Node ReferencePass::dense(const std::string& layer, const Node& from,
                                         std::int64_t features, bool glorot) {
  const Node to = activation(from->images, 1, 1, features);
  const std::size_t inputs = place(from->channels), outputs = place(features);
  const double of_inputs = 1 / std::sqrt(static_cast<double>(inputs)),
               of_both = std::sqrt(6 / static_cast<double>(inputs + outputs));
  const std::vector<double>&weights =
            parameter(layer + ".weight", features * from->channels,
                      {.bound = glorot ? of_both : of_inputs, .decays = true}),
        &bias = parameter(layer + ".bias", features, {.bound = glorot ? 0 : of_inputs});
  const std::size_t images = place(from->images);
  for (std::size_t n = 0; n < images; ++n)
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < inputs; ++i)
        sum += weights[o * inputs + i] * from->values[n * inputs + i];
      to->values[n * outputs + o] = sum;
    }
  tape_.emplace_back([=, this, &weights] {
    std::vector<double>&of_weights = gradients.at(layer + ".weight"),
    &of_bias = gradients.at(layer + ".bias");
    for (std::size_t n = 0; n < images; ++n)
      for (std::size_t o = 0; o < outputs; ++o) {
        const double g = to->gradients[n * outputs + o];
        of_bias[o] += g;
        for (std::size_t i = 0; i < inputs; ++i) {
          of_weights[o * inputs + i] += g * from->values[n * inputs + i];
          from->gradients[n * inputs + i] += g * weights[o * inputs + i];
        }
      }
  });
  return to;
}

/// The cross-entropy between the softmax of the logits and q = (1 - smoothing) [class = label] +
/// smoothing / classes.
void ReferencePass::cross_entropy(const Node& logits) {
  const std::size_t classes = place(logits->channels);
  const auto images = static_cast<double>(batch_.labels.size());
  for (std::size_t n = 0; n < batch_.labels.size(); ++n) {
    const double* const x = logits->values.data() + n * classes;
    const double largest = *std::max_element(x, x + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
    for (std::size_t c = 0; c < classes; ++c) {
      const double log_p = x[c] - largest - std::log(sum),
                   q = smoothing_ / static_cast<double>(classes) +
                       (c == place(batch_.labels[n]) ? 1 - smoothing_ : 0);
      loss -= q * log_p / images;
      logits->gradients[n * classes + c] += (std::exp(log_p) - q) / images;
    }
  }
}

/// Subtracts the largest logit first, as above. Labels have different weights.
void ReferencePass::pixel_cross_entropy(const Node& logits,
                                        const std::vector<double>& class_weights, double factor) {
  const std::size_t classes = place(logits->channels), pixels = place(logits->pixels());
  const auto images = static_cast<double>(logits->images);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const double* const x = logits->values.data() + pixel * classes;
    const std::size_t label = place(batch_.labels[pixel]);
    const double largest = *std::max_element(x, x + classes),
                 counts = factor * class_weights[label] / images;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
    loss += counts * (std::log(sum) + largest - x[label]);
    for (std::size_t c = 0; c < classes; ++c)
      logits->gradients[pixel * classes + c] +=
          counts * (std::exp(x[c] - largest) / sum - (c == label ? 1 : 0));
  }
}

void ReferencePass::squared_error(const Node& outputs) {
  const auto elements = static_cast<double>(outputs->values.size());
  for (std::size_t i = 0; i < outputs->values.size(); ++i) {
    const double apart = outputs->values[i] - static_cast<double>(batch_.images[i]);
    loss += apart * apart / elements;
    outputs->gradients[i] += 2 * apart / elements;
  }
}

}  // namespace assay
