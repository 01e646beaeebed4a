#pragma once
// Shared by the tests of references that the GPU computes: a fake GPU runs our kernels' threads on
// the host.

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "assay/test_paths.hpp"
#include "core/api/layout.hpp"
#include "core/api/prover.hpp"
#include "core/api/tensor_values.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"
#include "core/program/plugins.hpp"

namespace assay::prover_trial {

inline Device& gpu() {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static Device* const device =
      std::get<Device*>(std::get<Backend*>(plugins.open("cuda"))->device(Options{}));
  return *device;
}

/// Bytes that the fake runtime has copied between GPU and host.
inline std::size_t crossed() {
  void* const count = dlsym(RTLD_DEFAULT, "fake_gpu_crossed");  // null on a real GPU
  return count == nullptr ? 0 : reinterpret_cast<std::size_t (*)()>(count)();
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
    if (there) made.formula = oracle->formula(output, *inputs, Executed{}, false);
    made.block = [this, &output](std::int64_t first, std::span<Expected> expected) {
      expect_block(*oracle, output, *inputs, Executed{}, false, first, expected);
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

}  // namespace assay::prover_trial
