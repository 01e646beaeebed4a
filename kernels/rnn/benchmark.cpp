#include "kernels/rnn/benchmark.hpp"

#include "kernels/rnn/problem.hpp"

namespace assay {
namespace {

class RnnBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "rnn"; }

  std::string description() const override {
    return "Recurrent networks (vanilla, LSTM, GRU), forward and backward.";
  }

  std::vector<Dimension> dimensions() const override {
    Dimension direction;
    direction.name = "direction";
    direction.help = "pass to time; bwd: data and weights together";
    direction.values = rnn_direction_names();
    direction.defaults = {"forward_inference"};
    Dimension input;
    input.name = "input";
    input.help =
        "linear: the first layer multiplies its input; skip: adds it to each gate (cuDNN, "
        "DeepBench)";
    input.values = rnn_input_names();
    input.defaults = {"linear"};
    return {direction,
            dimension::precision({"fp32", "tf32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("rnn", {"onednn"}),
            dimension::algorithm({"auto", "standard", "persist_static", "persist_dynamic"}),
            dimension::problem({"coral2/lstm"}),
            input,
            dimension::cache(),
            dimension::threads(),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_rnn(descriptor));
  }

  std::unique_ptr<Problem> problem(const Settings& settings) const override {
    return std::make_unique<RnnProblem>(
        parse_rnn(settings.at("problem")), rnn_input(settings.at("input")),
        rnn_direction(settings.at("direction")), precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return rnn_oracle(problem_cast<RnnProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& rnn_benchmark() {
  static const RnnBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
