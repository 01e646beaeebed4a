#pragma once
// Shared by the tests of references that the GPU computes: a fake GPU runs our kernels' threads on
// the host.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "assay/test_paths.hpp"
#include "core/api/layout.hpp"
#include "core/api/prover.hpp"
#include "core/api/tensor_values.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"
#include "core/program/plugins.hpp"
#include "fake_gpu.hpp"

namespace assay::prover_trial {

using fake_gpu::crossed;

inline Device& gpu() {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static Device* const device =
      std::get<Device*>(std::get<Backend*>(plugins.open("cuda"))->device(Options{}));
  return *device;
}

/// An operation's reference with inputs.
struct Trial {
  std::shared_ptr<Oracle> oracle;
  std::vector<TensorSpec> specs;
  std::shared_ptr<Inputs> inputs = std::make_shared<Inputs>();

  /// `stored`: inputs are tensors, as in a network.
  Trial(std::unique_ptr<Oracle> of, std::vector<TensorSpec> arguments, bool nhwc,
        bool stored = false, std::uint64_t seed = 5)
      : oracle(std::move(of)), specs(std::move(arguments)) {
    oracle->use(*gpu().prover());
    for (TensorSpec& spec : specs) {
      if (nhwc && spec.dims.size() == 4)
        spec.layout = std::make_shared<const Layout>(channel_blocks(spec.dims, spec.dims[1]));
      if (!is_input(spec)) continue;
      Values values(Values::Kind::mantissa, seed, spec.name, spec.type,
                    oracle->full_magnitude(spec));
      if (oracle->nonnegative(spec)) values = values.magnitudes();
      if (stored) {
        const auto tensor = gpu().allocate(spec);
        gpu().fill(*tensor, values);
        values = Values(std::make_shared<const TensorValues>(gpu(), *tensor));
        gpu().fill(*tensor, 3);  // which does not change them
      }
      inputs->emplace(spec.name, values);
    }
  }

  Expectation expectation(const TensorSpec& output, bool there) const {
    Expectation made;
    made.whole = oracle->whole(output);
    made.inputs = inputs;
    if (there) made.formula = oracle->formula(output, *inputs, Execution{}, false);
    made.block = [this, &output](std::int64_t first, std::span<Expected> expected) {
      expect_block(*oracle, output, *inputs, Execution{}, false, first, expected);
    };
    return made;
  }

  /// An output that holds what is expected but for `fault`, which is added to element `at`.
  std::unique_ptr<Tensor> output(const TensorSpec& spec, std::int64_t at, double fault) const {
    auto tensor = gpu().allocate(spec);
    const Expectation right = expectation(spec, false);
    gpu().put(*tensor, [&](std::int64_t first, std::span<double> out) {
      std::vector<Expected> expected(out.size());
      right.block(first, expected);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = round_to(spec.type, expected[i].value);
        if (first + static_cast<std::int64_t>(i) == at)
          out[i] = fault == 0 ? std::numeric_limits<double>::quiet_NaN()
                              : round_to(spec.type, out[i] + fault);
      }
    });
    return tensor;
  }
};

/// The threads of an item that begin a launch do nothing meanwhile.
struct LostThreads {
  explicit LostThreads(const char* item) {
    setenv("FAKE_GPU_LOSES", "1", 1);
    setenv("FAKE_GPU_LOSES_OF", item, 1);
  }
  ~LostThreads() {
    unsetenv("FAKE_GPU_LOSES");
    unsetenv("FAKE_GPU_LOSES_OF");
  }
};

/// `size`: of the values that are the operands. A real GPU fuses multiplications with additions, so
/// its fp64 is not that of the host.
inline void expect_near(double a, double b, double size) {
  const double rounding = fake_gpu::counter == nullptr ? 1e-13 * size : 0;
  EXPECT_LE(std::abs(a - b), 1e-9 * (std::abs(a) + std::abs(b)) + rounding) << a << " " << b;
}

/// The host and the GPU judge right outputs, a fault in each, and one that is not a number alike.
inline void expect_same_verdicts(std::unique_ptr<Oracle> oracle,
                                 const std::vector<TensorSpec>& specs, bool nhwc,
                                 bool stored = false) {
  const std::set<std::string> of_few{"mean",    "variance",  "diff_scale",  "diff_shift",
                                     "norms",   "counts",    "diff_bias",   "losses",
                                     "correct", "confusion", "correlations"};
  const Trial trial(std::move(oracle), specs, nhwc, stored);
  for (const TensorSpec& spec : trial.specs) {
    if (!is_output(spec)) continue;
    const Expectation there = trial.expectation(spec, true), here = trial.expectation(spec, false);
    ASSERT_EQ(there.formula.has_value(), !of_few.contains(spec.name)) << spec.name;
    if (spec.name == "counts") continue;  // most of which may be off by a few
    const std::int64_t n = spec.elements();
    for (const auto& [at, fault] : {std::pair{std::int64_t{-1}, 0.0}, std::pair{n / 3, 3.0},
                                    std::pair{n - 1, -3.0}, std::pair{n - 1, 0.0}}) {
      if (at >= 0 && fault == 0 && is_integer(spec.type)) continue;  // all of which are numbers
      const auto tensor = trial.output(spec, at, fault);
      check_output(gpu(), *tensor, there);  // the first believes
      const std::size_t before = crossed();
      const OutputCheck a = check_output(gpu(), *tensor, there);
      if (there.formula && fake_gpu::counter != nullptr) {
        EXPECT_LT(crossed() - before, 8192u + 8 * there.formula->table.size()) << spec.name;
      }
      const OutputCheck b = check_output(gpu(), *tensor, here);
      EXPECT_EQ(a.failure.empty(), at < 0) << spec.name << a.failure;
      if (fake_gpu::counter == nullptr) {
        EXPECT_EQ(a.failure.substr(0, a.failure.find(" (expected ")),
                  b.failure.substr(0, b.failure.find(" (expected ")));
      } else {
        EXPECT_EQ(a.failure, b.failure);
      }
      EXPECT_EQ(a.wrong_elements, b.wrong_elements);
      if (!b.failure.empty() && fault == 0) continue;
      expect_near(a.error_norm, b.error_norm, b.reference_norm);
      expect_near(a.bound_norm, b.bound_norm, b.reference_norm);
      expect_near(a.reference_norm, b.reference_norm, b.reference_norm);
      expect_near(a.max_error, b.max_error, b.reference_norm);
    }
  }
}

inline constexpr Precision precisions[] = {Precision::fp64, Precision::fp32, Precision::bf16,
                                           Precision::fp16};

/// `host` expects the same of all outputs without a GPU.
inline void expect_same_values(const Trial& trial, const Oracle& host, const Execution& execution,
                               bool exact = false) {
  for (const TensorSpec& spec : trial.specs) {
    if (!is_output(spec)) continue;
    std::vector<std::int64_t> indices(static_cast<std::size_t>(spec.elements()));
    std::iota(indices.begin(), indices.end(), std::int64_t{0});
    std::vector<Expected> here(indices.size()), there(indices.size());
    trial.oracle->expect(spec, *trial.inputs, execution, exact, indices, there);
    host.expect(spec, *trial.inputs, execution, exact, indices, here);
    for (std::size_t i = 0; i < here.size(); ++i) {
      // The reference of fp64 is rounded itself.
      ASSERT_NEAR(here[i].value, there[i].value, 0.25 * here[i].max_bound) << spec.name << i;
      ASSERT_NEAR(here[i].max_bound, there[i].max_bound, 1e-6 * here[i].max_bound)
          << spec.name << i;
      ASSERT_NEAR(here[i].rms_bound, there[i].rms_bound, 1e-6 * here[i].rms_bound)
          << spec.name << i;
    }
  }
}

}  // namespace assay::prover_trial
