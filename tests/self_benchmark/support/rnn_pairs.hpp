#pragma once
// A recurrent network by native, in fp32 unless said otherwise, beside oneDNN, PyTorch, or the
// measured peak. `problem` is a descriptor, which gives the other side's extents, too; its input is
// linear.

#include "kernels/rnn/benchmark.hpp"
#include "kernels/rnn/problem.hpp"
#include "kernels/stream/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"
#include "tests/self_benchmark/support/peer.hpp"

namespace assay::self_benchmark {

inline Settings rnn_settings(const std::string& problem, const std::string& direction) {
  return {{"problem", problem}, {"direction", direction}, {"input", "linear"}};
}

inline TimedOperation native_inference(const std::string& problem) {
  return {rnn_benchmark(), rnn_settings(problem, "forward_inference"), "native/auto"};
}

/// main() of a ratio: oneDNN's time over native's.
inline int onednn_over_native(int argc, char** argv, const std::string& problem,
                              const std::string& direction, const std::string& precision = "fp32") {
  return print([&] {
    Settings settings = rnn_settings(problem, direction);
    settings["precision"] = precision;
    OperationPair pair(rnn_benchmark(), settings, "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}

/// main() of a ratio: PyTorch's time over native's, forward inference, `samples` of each in a pair.
inline int pytorch_over_native(int argc, char** argv, const std::string& problem, int samples) {
  return print([&] {
    const RnnShape shape = parse_rnn(problem);
    TimedOperation native = native_inference(problem);
    return peer_ratio({"torch-rnn", "--cell", name(shape.cell), "--hidden",
                       std::to_string(shape.hidden), "--batch", std::to_string(shape.batch),
                       "--steps", std::to_string(shape.steps), "--threads", pair_threads},
                      native, pairs_from(argc, argv), samples);
  });
}

/// main() of a ratio: native's rate, forward inference, over the measured peak.
inline int native_over_peak(int argc, char** argv, const std::string& problem) {
  return print([&] {
    TimedOperation native = native_inference(problem);
    TimedOperation fma(stream_benchmark(), {{"problem", "fma"}}, "native/auto");
    return rate_ratio(native, fma, pairs_from(argc, argv));
  });
}

}  // namespace assay::self_benchmark
