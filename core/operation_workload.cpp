#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "core/checker.hpp"
#include "core/error.hpp"
#include "core/workload.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double most_sets =
    65536;  // of a cold rotation: more would time page tables, not the operation

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_output(const TensorSpec& spec) {
  return spec.role == Role::output || spec.role == Role::inout || spec.role == Role::kept;
}
bool is_input(const TensorSpec& spec) {
  return spec.role == Role::input || spec.role == Role::inout || spec.role == Role::kept;
}

double plain_bytes(const TensorSpec& spec) {
  double bytes = static_cast<double>(size_of(spec.type));
  for (const std::int64_t extent : spec.dims) bytes *= static_cast<double>(extent);
  return bytes;
}

std::string gib(double bytes) {
  if (bytes < 1024.0 * 1024 * 1024) return fmt::format("{:.1f} MiB", bytes / (1024.0 * 1024));
  return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024 * 1024));
}

/// Bytes of one set of arguments, of what all sets share, and of the plain copy that put and get
/// may make.
struct Need {
  double set = 0, workspace = 0, staging = 0;
};

Need need_of(const std::vector<TensorSpec>& specs) {
  Need need;
  for (const TensorSpec& spec : specs) {
    if (spec.role == Role::workspace) {
      need.workspace += static_cast<double>(spec.bytes);
      continue;
    }
    need.set += std::max(static_cast<double>(spec.bytes), plain_bytes(spec));
    need.staging = std::max(need.staging, plain_bytes(spec));
  }
  return need;
}

/// Sets of buffers for a cold rotation: together more than twice the largest cache, so that
/// whatever its replacement policy, a set has left it before its turn comes again.
std::size_t sets_needed(const Need& need, std::size_t cache) {
  if (cache == 0) {
    throw CaseError(
        "cannot run cold (the size of the largest cache of this device is unknown). Use --cache "
        "hot.");
  }
  const double sets =
      std::max(2.0, std::floor(2 * static_cast<double>(cache) / std::max(need.set, 1.0)) + 1);
  if (sets > most_sets) {
    throw CaseError(
        fmt::format("cannot run cold ({:.0f} sets of buffers of {:.0f} bytes would be needed to "
                    "exceed twice the "
                    "cache of {}). Use --cache hot or a larger problem.",
                    sets, need.set, gib(static_cast<double>(cache))));
  }
  return static_cast<std::size_t>(sets);
}

class OperationWorkload final : public Workload {
 public:
  OperationWorkload(const Problem& problem, std::unique_ptr<Operation> operation, Device& device,
                    std::unique_ptr<Oracle> oracle, double create_seconds,
                    const OperationSetup& setup)
      : device_(device),
        oracle_(std::move(oracle)),
        setup_(setup),
        work_(problem.amounts()),
        specs_(operation->arguments()),
        operation_(std::move(operation)) {
    if (problem.flops() > 0) work_["flops_per_s"] = problem.flops();
    // A collective's bytes have a name of their own already.
    if (problem.bytes() > 0 && !work_.contains("algbw")) work_["bytes_per_s"] = problem.bytes();
    seconds_ = {
        {"create", create_seconds}, {"allocate", 0}, {"fill", 0}, {"reorder", 0}, {"verify", 0}};
    allocate();
  }

  Stream& stream() override { return device_.stream(); }

  void reset() override {
    if (sets_.size() > 1) {
      current_ = (current_ + 1) % sets_.size();
      operation_->bind(sets_[current_]);
    }
    if (has_inout_)
      fill(current_, false, [](const TensorSpec& spec) { return spec.role == Role::inout; });
  }

  void run(Stream& stream) override {
    ran_[current_] = true;
    operation_->run(stream);
  }

  bool batchable() const override { return sets_.size() == 1 && !has_inout_; }

  Verification verify_before() override {
    const auto start = Clock::now();
    Verification result;
    result.passed = true;
    seconds_["fill"] = seconds_["reorder"] = 0;
    magnitude_ = oracle_->exact_magnitude(executed());
    if (magnitude_ > 0) check_pass(true, "before timing", result);
    check_pass(false, "before timing", result);
    // Poisoned again: what verify_after sees was written by the timed runs.
    for (std::size_t set = 0; set < sets_.size(); ++set) poison_outputs(set);
    std::fill(ran_.begin(), ran_.end(), false);
    current_ = sets_.size() - 1;  // the first reset binds the first set
    seconds_["verify"] += since(start) - seconds_["fill"] - seconds_["reorder"];
    return result;
  }

  Verification verify_after() override {
    const auto start = Clock::now();
    Verification result;
    result.passed = true;
    const std::string when = "as the last timed run left it";
    if (full_.size() != sets_.size())
      throw std::logic_error("verify_after without a passed verify_before (nothing is expected).");
    for (std::size_t set = 0; set < sets_.size() && result.passed; ++set) {
      if (ran_[set]) check_set(set, full_[set], false, when, result);
    }
    check_pass(magnitude_ > 0, "after timing", result);
    seconds_["verify"] += since(start);
    return result;
  }

  Executed executed() const override {
    Executed ran = operation_->executed();
    if (setup_.threads > 0) ran.numbers["threads"] = setup_.threads;
    return ran;
  }

  std::map<std::string, double> work() const override { return work_; }

  std::map<std::string, double> setup() const override { return seconds_; }

 private:
  void allocate() {
    const Need need = need_of(specs_);
    const std::size_t count = setup_.cold ? sets_needed(need, device_.cache_bytes()) : 1;
    const double tensors = need.set * static_cast<double>(count);
    const double total = tensors + need.staging + need.workspace;
    // Ranks of one host ask at the same time, each for the same: what there is, is for all of them.
    const double available = static_cast<double>(device_.memory_available()) / setup_.ranks_here;
    if (total > available) {
      throw CaseError(fmt::format(
          "needs {} ({} tensors in {} {}, {} for one plain copy, {} workspace) but {} are "
          "available. Use a "
          "smaller problem{}.",
          gib(total), gib(tensors), count, count == 1 ? "set" : "sets", gib(need.staging),
          gib(need.workspace), gib(available), setup_.cold ? " or --cache hot" : ""));
    }
    const auto start = Clock::now();
    sets_.resize(count);
    for (const TensorSpec& spec : specs_) has_inout_ |= spec.role == Role::inout;
    for (std::size_t set = 0; set < count; ++set) {
      for (std::size_t i = 0; i < specs_.size(); ++i) {
        // Scratch memory is shared by all sets, as it is in an application.
        if (specs_[i].role == Role::workspace && set > 0) {
          sets_[set].push_back(sets_[0][i]);
          continue;
        }
        tensors_.push_back(device_.allocate(specs_[i]));
        sets_[set].push_back(tensors_.back().get());
      }
    }
    ran_.assign(count, false);
    operation_->bind(sets_[0]);
    seconds_["allocate"] = since(start);
  }

  /// Every set has data of its own, so that a set bound by mistake shows.
  Values values(std::size_t set, const TensorSpec& spec, bool exact) const {
    const std::string stream = set == 0 ? spec.name : spec.name + "#" + std::to_string(set);
    const int bits = exact ? 0 : oracle_->fixed_bits(spec, executed());
    return (exact      ? Values(Values::Kind::integer, setup_.seed, stream, spec.type, magnitude_)
            : bits > 0 ? Values(Values::Kind::fixed, setup_.seed, stream, spec.type, bits)
                       : Values(Values::Kind::mantissa, setup_.seed, stream, spec.type,
                                oracle_->full_magnitude(spec)))
        .of_rank(setup_.rank)
        .in_groups(oracle_->groups(executed()));
  }

  template <class Which>
  void fill(std::size_t set, bool exact, const Which& which) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!which(specs_[i])) continue;
      const Values data = values(set, specs_[i], exact);
      device_.put(*sets_[set][i],
                  [&data](std::int64_t first, std::span<double> out) { data.fill(first, out); });
    }
  }

  void poison_outputs(std::size_t set) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].role != Role::output) continue;
      const double value = poison(specs_[i].type);
      device_.put(*sets_[set][i], [value](std::int64_t, std::span<double> out) {
        std::fill(out.begin(), out.end(), value);
      });
    }
  }

  /// The sample of the first set is the oracle's; later sets share one more sample between them,
  /// evenly spread.
  std::vector<std::int64_t> indices(std::size_t set, std::size_t output) {
    std::vector<std::int64_t>& all = samples_[output];
    if (all.empty()) all = oracle_->sample(specs_[output], setup_.reference_budget, setup_.seed);
    if (set == 0) return all;
    const std::size_t later = sets_.size() - 1;
    const std::size_t count =
        std::min(all.size(), std::max<std::size_t>(8, (all.size() + later - 1) / later));
    std::vector<std::int64_t> part;
    for (std::size_t i = 0; i < count; ++i)
      part.push_back(all[(i * later + set - 1) * all.size() / (count * later)]);
    part.erase(std::unique(part.begin(), part.end()), part.end());
    return part;
  }

  std::vector<Expectation> expect(std::size_t set, bool exact) {
    Inputs inputs;
    for (const TensorSpec& spec : specs_)
      if (is_input(spec) || oracle_->whole(spec))
        inputs.emplace(spec.name, values(set, spec, exact));
    std::vector<Expectation> all;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!is_output(specs_[i])) continue;
      Expectation one;
      one.whole = oracle_->whole(specs_[i]);
      if (one.whole) {
        one.block = [this, spec = &specs_[i], inputs, ran = executed(), exact](
                        std::int64_t first, std::span<Expected> expected) {
          block_.resize(expected.size());
          std::iota(block_.begin(), block_.end(), first);
          oracle_->expect(*spec, inputs, ran, exact, block_, expected);
        };
        all.push_back(std::move(one));
        continue;
      }
      one.indices = indices(set, i);
      one.expected.resize(one.indices.size());
      oracle_->expect(specs_[i], inputs, executed(), exact, one.indices, one.expected);
      if (exact) one.checksum = oracle_->checksum(specs_[i], inputs);
      all.push_back(std::move(one));
    }
    return all;
  }

  /// Fills, poisons, runs and checks every set. Runs happen even after a failure: in a collective
  /// each rank has its own verdict, and all must make the same calls.
  void check_pass(bool exact, const std::string& when, Verification& result) {
    if (!exact) full_.clear();
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      const auto start = Clock::now();
      const double before = device_.reorder_seconds();
      fill(set, exact, is_input);
      if (!exact && set == 0 && seconds_["fill"] == 0) {
        seconds_["reorder"] = device_.reorder_seconds() - before;
        seconds_["fill"] = since(start) - seconds_["reorder"];
      }
      poison_outputs(set);
    }
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      operation_->bind(sets_[set]);
      operation_->run(device_.stream());
    }
    device_.stream().wait();
    for (std::size_t set = 0; set < sets_.size() && !result.wrong(); ++set) {
      std::vector<Expectation> expectations = expect(set, exact);
      if (exact) {
        check_set(set, expectations, exact, when, result);
      } else {
        full_.push_back(std::move(expectations));  // verify_after asks for the same
        check_set(set, full_.back(), exact, when, result);
      }
    }
    result.exact |= exact;
  }

  void check_set(std::size_t set, const std::vector<Expectation>& expectations, bool exact,
                 const std::string& when, Verification& result) {
    std::size_t next = 0;
    std::int64_t checked = 0, outputs = 0;
    bool summed = false;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!is_output(specs_[i])) continue;
      const Expectation& expectation = expectations[next++];
      const OutputCheck check = check_output(device_, *sets_[set][i], expectation);
      checked += expectation.checked();
      outputs += specs_[i].elements();
      summed |= check.checksum_exact;
      if (!exact) merge(check, result);
      // What is wrong counts more than what cannot be decided.
      if (check.failure.empty() || (check.undecided && !result.passed)) continue;
      result.passed = false;
      result.undecided = check.undecided;
      result.reason = fmt::format(
          "{}; {} inputs, {}{}", check.failure, exact ? "integer" : "full-significand", when,
          sets_.size() > 1 ? fmt::format(", buffer set {} of {}", set + 1, sets_.size()) : "");
      if (result.wrong()) break;
    }
    if (set == 0) {
      result.checked = std::max(result.checked, checked);
      result.outputs = std::max(result.outputs, outputs);
    }
    if (exact && set == 0)
      integers_ =
          summed ? "integer inputs exact with checksum of all outputs" : "integer inputs exact";
    describe(result);
  }

  static void merge(const OutputCheck& check, Verification& result) {
    // Relative to the RMS of the reference: an element of a sum that happens to cancel has no
    // relative error of its own.
    const double rms = check.reference_rms > 0 ? check.reference_rms : 1;
    const double norm = check.reference_norm > 0 ? check.reference_norm : 1;
    const double error_norm = check.error_norm / norm;
    if (std::isfinite(error_norm)) result.norm_error = std::max(result.norm_error, error_norm);
    result.norm_bound = std::max(result.norm_bound, check.bound_norm / norm);
    result.max_error = std::max(result.max_error, check.max_error / rms);
    if (check.error_over_bound >= result.error_over_bound) {
      result.error_over_bound = check.error_over_bound;
      result.bound = check.bound_there / rms;
    }
  }

  void describe(Verification& result) const {
    result.reference = fmt::format("fp64, {} of {} outputs", result.checked, result.outputs);
    if (magnitude_ > 0 && !integers_.empty()) result.reference += ", " + integers_;
    if (sets_.size() > 1) {
      const std::int64_t later = full_.size() > 1 && !full_[1].empty() ? full_[1][0].checked() : 0;
      result.reference += fmt::format(", {} buffer sets", sets_.size());
      if (later > 0)
        result.reference += fmt::format(" ({} outputs of each after the first)", later);
    }
  }

  Device& device_;
  std::unique_ptr<Oracle> oracle_;
  OperationSetup setup_;
  std::map<std::string, double> work_;
  std::vector<TensorSpec> specs_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::vector<Tensor*>> sets_;
  std::unique_ptr<Operation> operation_;  // after the tensors: gone before them
  std::vector<bool> ran_;                 // by set, since verify_before
  std::map<std::size_t, std::vector<std::int64_t>> samples_;
  std::vector<std::int64_t> block_;  // indices of a block that is checked whole
  std::vector<std::vector<Expectation>>
      full_;  // by set: what the full-significand inputs must give
  std::map<std::string, double> seconds_;
  std::string integers_;
  std::size_t current_ = 0;
  int magnitude_ = 0;
  bool has_inout_ = false;
};

}  // namespace

std::unique_ptr<Workload> operation_workload(const Problem& problem,
                                             std::unique_ptr<Operation> operation, Device& device,
                                             std::unique_ptr<Oracle> oracle, double create_seconds,
                                             const OperationSetup& setup) {
  return std::make_unique<OperationWorkload>(problem, std::move(operation), device,
                                             std::move(oracle), create_seconds, setup);
}

}  // namespace assay
