#include "core/measure/verifier.hpp"
#include "core/base/clock.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// A later set is checked by a share of the first set's sample, of at least this many elements.
constexpr std::size_t least_of_later_sets = 8;

/// Standard deviations of the checksum's rounding error. Weights have random signs, so the squares
/// of errors add up. More than for a Gaussian, since products of weights have long tails.
constexpr double checksum_deviations = 8;

/// Rounding error of the fp64 sums that the oracle exchanges, over the root of the sum of squares:
/// 2^-53 times the root of the number of additions, generously.
constexpr double checksum_roundoff = 1e-10;

class Ones final : public StoredValues {
 public:
  explicit Ones(DataType type) : type_(type) {}
  DataType type() const override { return type_; }
  void fill(std::int64_t, std::span<double> out) const override { std::ranges::fill(out, 1.0); }

 private:
  DataType type_;
};

/// An unrelated seed for each use (splitmix64's finalizer, Steele et al. 2014).
std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t use) {
  std::uint64_t z = seed + use * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return use == 0 ? seed : z ^ (z >> 31);
}

}  // namespace

Verifier::Verifier(const BufferSets& buffers, const Oracle& oracle,
                   std::function<Execution()> execution, const VerifierSetup& setup)
    : buffers_(buffers),
      oracle_(oracle),
      execution_(std::move(execution)),
      setup_(setup),
      states_(buffers.count()),
      timed_(buffers.count()) {}

bool Verifier::begin(bool exact) {
  if (exact) {
    const int magnitude = oracle_.exact_magnitude(execution_());
    if (magnitude <= 0) return false;
    magnitude_ = magnitude;
  }
  samples_.clear();
  states_.assign(buffers_.count(), {});
  return true;
}

Values Verifier::whole_values(std::size_t set, const TensorSpec& spec, Draw draw) const {
  if (draw.constant) return Values(std::make_shared<const Ones>(spec.type));
  // Every set has different data, so that binding a wrong set is noticed.
  std::string stream = spec.name;
  if (set > 0) stream += fmt::format("#{}", set);
  if (draw.number > 0) stream += fmt::format("@{}", draw.number);
  const auto make = [&](Values::Kind kind, int magnitude) {
    return Values(kind, setup_.seed, stream, spec.type, magnitude)
        .of_rank(setup_.rank)
        .in_groups(oracle_.groups(execution_()));
  };
  if (draw.exact) return make(Values::Kind::integer, magnitude_);
  if (const int bits = oracle_.fixed_bits(spec, execution_()); bits > 0)
    return make(Values::Kind::fixed, bits);
  Values full = make(Values::Kind::mantissa, oracle_.full_magnitude(spec));
  if (oracle_.nonnegative(spec)) full = full.magnitudes();
  if (const int exponent = oracle_.scale_exponent(spec); exponent != 0)
    full = full.scaled(exponent);
  return full;
}

std::uint64_t Verifier::make_seed(Draw draw) const {
  return mix_seed(setup_.seed, static_cast<std::uint64_t>(draw.number));
}

std::optional<Values> Verifier::make_part(const Values& whole, const TensorSpec& spec,
                                          Draw draw) const {
  if (draw.exact || draw.number == 0) return std::nullopt;
  return oracle_.of_later_draw(spec, whole, setup_.reference_budget, make_seed(draw));
}

Values Verifier::values(std::size_t set, const TensorSpec& spec, Draw draw) const {
  Values whole = whole_values(set, spec, draw);
  return make_part(whole, spec, draw).value_or(std::move(whole));
}

void Verifier::fill(std::size_t set, Draw draw, double budget_part) {
  if (budget_part > 0) timed_[set] = std::move(states_[set]);
  states_[set] = {draw, budget_part, std::nullopt};
  const auto start = Clock::now();
  Device& device = buffers_.device();
  const double reordered = device.reorder_seconds();
  write(set, is_input);
  if (fill_seconds_ > 0) return;
  reorder_seconds_ = device.reorder_seconds() - reordered;
  fill_seconds_ = seconds_since(start) - reorder_seconds_;
}

bool Verifier::restore(std::size_t set) {
  std::optional<SetState> timed = std::exchange(timed_[set], std::nullopt);
  const Draw draw = states_[set].draw;
  const auto in_part = [&](const TensorSpec& spec) {
    return is_input(spec) && make_part(whole_values(set, spec, draw), spec, draw);
  };
  if (!timed || std::ranges::none_of(buffers_.specs(), in_part)) return false;
  states_[set] = std::move(*timed);
  write(set, is_input);
  return true;
}

void Verifier::refill(std::size_t set, Role role) const {
  write(set, [role](const TensorSpec& spec) { return spec.role == role; });
}

void Verifier::write(std::size_t set, const std::function<bool(const TensorSpec&)>& chosen) const {
  for (std::size_t i = 0; i < buffers_.specs().size(); ++i) {
    const TensorSpec& spec = buffers_.specs()[i];
    if (!chosen(spec)) continue;
    buffers_.device().fill(buffers_.tensor(set, i), values(set, spec, states_[set].draw));
  }
}

/// The first set gets the oracle's whole sample; it is divided evenly among the later sets.
std::vector<std::int64_t> Verifier::sample(std::size_t set, std::size_t output) {
  const SetState& state = states_[set];
  const std::uint64_t seed = make_seed(state.draw);
  const TensorSpec& spec = buffers_.specs()[output];
  if (state.budget_part > 0)
    return oracle_.sample(spec, setup_.reference_budget * state.budget_part, seed);
  std::vector<std::int64_t>& all = samples_[output];
  if (all.empty()) all = oracle_.sample(spec, setup_.reference_budget, seed);
  if (set == 0) return all;
  const std::size_t later = buffers_.count() - 1;
  const std::size_t count =
      std::min(all.size(), std::max(least_of_later_sets, (all.size() + later - 1) / later));
  std::vector<std::int64_t> part;
  for (std::size_t i = 0; i < count; ++i)
    part.push_back(all[(i * later + set - 1) * all.size() / (count * later)]);
  part.erase(std::unique(part.begin(), part.end()), part.end());
  return part;
}

Inputs Verifier::inputs(std::size_t set) const {
  Inputs inputs;
  for (const TensorSpec& spec : buffers_.specs())
    if (is_input(spec) || (!oracle_.is_judged_by_relations(spec) && oracle_.whole(spec)))
      inputs.emplace(spec.name, values(set, spec, states_[set].draw));
  return inputs;
}

std::uint64_t Verifier::make_seed(std::size_t set, std::size_t output) const {
  const auto draw = static_cast<std::uint64_t>(states_[set].draw.number);
  return mix_seed(setup_.seed, draw * 1000003 + set * 101 + output + 1);
}

std::vector<Expectation> Verifier::expect(std::size_t set) {
  const std::vector<TensorSpec>& specs = buffers_.specs();
  const Inputs data = inputs(set);
  std::vector<Expectation> all;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (is_output(specs[i])) all.push_back(expect(set, i, data));
  return all;
}

Expectation Verifier::expect(std::size_t set, std::size_t output, const Inputs& inputs) {
  const TensorSpec& spec = buffers_.specs()[output];
  const Draw draw = states_[set].draw;
  Expectation expectation;
  if (oracle_.is_judged_by_relations(spec)) return expectation;  // not by elements
  expectation.whole = oracle_.whole(spec);
  if (expectation.whole) {
    const auto kept = std::make_shared<const Inputs>(inputs);
    expectation.formula = oracle_.formula(spec, inputs, execution_(), draw.exact);
    expectation.inputs = kept;
    expectation.block = [this, &spec, kept, ran = execution_(), exact = draw.exact](
                            std::int64_t first, std::span<Expected> expected) {
      expect_block(oracle_, spec, *kept, ran, exact, first, expected);
    };
    return expectation;
  }
  expectation.indices = sample(set, output);
  expectation.expected.resize(expectation.indices.size());
  oracle_.expect(spec, inputs, execution_(), draw.exact, expectation.indices, expectation.expected);
  add_checksum(expectation, spec, inputs, draw.exact, make_seed(set, output));
  return expectation;
}

/// If bounds are not zero, the sum may differ by the rounding errors of all elements, whose mean
/// square comes from the sample. A sum that could not show an error of one root mean square is not
/// computed.
void Verifier::add_checksum(Expectation& expectation, const TensorSpec& spec, const Inputs& inputs,
                            bool exact, std::uint64_t seed) const {
  double values = 0, bounds = 0;
  const double u = unit_roundoff(spec.type);  // even with a bound of 0 the result is rounded
  for (const Expected& expected : expectation.expected) {
    values += expected.value * expected.value;
    const double bound = std::max(expected.rms_bound, u * std::abs(expected.value));
    bounds += bound * bound;
  }
  ChecksumWeights weights(spec.dims, seed);
  double tolerance = 0;
  if (!exact && !is_integer(spec.type)) {
    const double count = static_cast<double>(std::max<std::size_t>(expectation.expected.size(), 1));
    const double spread =
        std::sqrt(weights.mean_square() * static_cast<double>(spec.elements()) / count);
    tolerance =
        spread * (checksum_deviations * std::sqrt(bounds) + checksum_roundoff * std::sqrt(values));
    if (tolerance > std::sqrt(weights.mean_square() * values / count)) return;
  }
  const std::optional<double> sum = oracle_.checksum(spec, inputs, weights);
  if (sum) expectation.checksum = Checksum{*sum, tolerance, std::move(weights)};
}

void Verifier::check(std::size_t set, const std::string& when, Verification& result) {
  if (const auto reason = oracle_.why_unjudgeable(execution_())) {
    if (!result.passed) return;
    result.passed = false;
    result.undecided = true;
    result.reason = *reason;
    return;
  }
  SetState& state = states_[set];
  if (!state.expected) state.expected = expect(set);
  const std::string where = fmt::format(
      "{} inputs, {}{}", state.draw.exact ? "integer" : "full-significand", when,
      buffers_.count() > 1 ? fmt::format(", buffer set {} of {}", set + 1, buffers_.count()) : "");
  std::size_t next = 0;
  std::int64_t checked = 0, outputs = 0;
  bool summed = false;
  Outputs together;
  for (std::size_t i = 0; i < buffers_.specs().size() && !result.wrong(); ++i) {
    const TensorSpec& spec = buffers_.specs()[i];
    if (!is_output(spec)) continue;
    const Expectation& expectation = (*state.expected)[next++];
    const bool by_relations = oracle_.is_judged_by_relations(spec);
    const OutputCheck check = check_output(buffers_.device(), buffers_.tensor(set, i), expectation,
                                           by_relations ? &together[spec.name] : nullptr);
    checked += by_relations ? spec.elements() : expectation.checked();
    outputs += spec.elements();
    summed |= check.checksum_exact;
    judge(check, spec.name, state.draw, where, result);
  }
  if (!together.empty() && !result.wrong()) judge_relations(set, together, where, result);
  if (set == 0 && state.budget_part == 0) {
    result.checked = std::max(result.checked, checked);
    result.outputs = std::max(result.outputs, outputs);
  }
  result.exact |= state.draw.exact;
  if (state.draw.exact && set == 0)
    exact_text_ =
        summed ? "integer inputs exact with checksum of all outputs" : "integer inputs exact";
  describe(result);
}

std::int64_t Verifier::wrong_elements(std::size_t set, std::size_t output,
                                      std::vector<std::int64_t> indices) const {
  const TensorSpec& spec = buffers_.specs()[output];
  Expectation expectation;
  expectation.indices = std::move(indices);
  expectation.expected.resize(expectation.indices.size());
  oracle_.expect(spec, inputs(set), execution_(), states_[set].draw.exact, expectation.indices,
                 expectation.expected);
  return check_output(buffers_.device(), buffers_.tensor(set, output), expectation).wrong_elements;
}

void Verifier::judge(const OutputCheck& check, const std::string& what, Draw draw,
                     const std::string& where, Verification& result) const {
  // Relative to the RMS of the reference, because the relative error of an element that happens to
  // cancel means nothing.
  const double rms = check.reference_rms > 0 ? check.reference_rms : 1;
  const double norm = check.reference_norm > 0 ? check.reference_norm : 1;
  const double error_norm = check.error_norm / norm, bound_norm = check.bound_norm / norm;
  if (!draw.exact) {
    if (std::isfinite(error_norm)) result.norm_error = std::max(result.norm_error, error_norm);
    result.norm_bound = std::max(result.norm_bound, bound_norm);
    result.max_error = std::max(result.max_error, check.max_error / rms);
    if (check.error_over_bound >= result.error_over_bound) {
      result.error_over_bound = check.error_over_bound;
      result.bound = check.bound_there / rms;
    }
  }
  result.wrong_elements += check.wrong_elements;
  std::string failure = check.failure;
  bool undecided = check.undecided;
  if (failure.empty() && bound_norm > oracle_.widest_norm_bound()) {
    undecided = true;
    failure = fmt::format(
        "{}: an error bound of {:.2g} (2-norm, relative) cannot tell this precision from a coarser "
        "arithmetic, whose error is about {:.2g}. Use an algorithm whose errors are smaller",
        what, bound_norm, oracle_.widest_norm_bound());
  }
  // An incorrect result counts more than an undecided one. Only the first draw decides if a case is
  // undecided: this depends a little on the data, and a row must not depend on the number of draws.
  if (failure.empty() || (undecided && (!result.passed || draw.number > 0))) return;
  result.passed = false;
  result.undecided = undecided;
  result.reason = fmt::format("{}; {}", failure, where);
}

void Verifier::judge_relations(std::size_t set, const Outputs& outputs, const std::string& where,
                               Verification& result) {
  std::vector<std::string> names;
  for (const Relation& relation :
       oracle_.relations(inputs(set), outputs, execution_(), make_seed(set, 0))) {
    names.push_back(relation.name);
    if (result.wrong()) continue;  // the first is the reason
    OutputCheck check;
    if (!(relation.error <= relation.bound))  // NaN is wrong, too
      check.failure = fmt::format(
          "{}: {} is {:.4g} ({})", relation.name, relation.formula, relation.error,
          relation.bound == 0 ? "it must be 0"
                              : fmt::format("at most {:.4g} is allowed", relation.bound));
    if (relation.bound > 0) check.bound_norm = check.bound_there = relation.bound;
    // The error of a relation is a ratio of norms, so it is both the largest error and the norm
    // error.
    if (relation.bound > 0 && std::isfinite(relation.error)) {
      check.error_norm = check.max_error = relation.error;
      check.error_over_bound = relation.error / relation.bound;
    }
    judge(check, relation.name, states_[set].draw, where, result);
  }
  if (names.empty())
    throw std::logic_error("an oracle judges outputs by relations, and states none");
  relations_text_ = join(names, ", ");
}

void Verifier::describe(Verification& result) const {
  result.reference = fmt::format("fp64, {} of {} outputs", result.checked, result.outputs);
  if (!relations_text_.empty()) result.reference += " by " + relations_text_;
  if (!exact_text_.empty()) result.reference += ", " + exact_text_;
  if (buffers_.count() < 2) return;
  result.reference += fmt::format(", {} buffer sets", buffers_.count());
  const auto& second = states_[1].expected;
  if (second && !second->empty() && second->front().checked() > 0)
    result.reference +=
        fmt::format(" ({} outputs of each after the first)", second->front().checked());
}

}  // namespace assay
