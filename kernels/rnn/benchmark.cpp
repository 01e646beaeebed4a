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
    return {make_dimension("direction", "pass to time; bwd: data and weights together",
                           list_names<RnnDirection>(), {"forward_inference"}),
            dimension::precision({"fp32", "tf32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("rnn", {"onednn"}),
            dimension::algorithm({"auto", "standard", "persist_static", "persist_dynamic"}),
            dimension::problem({"coral2/lstm"}),
            make_dimension("input",
                           "linear: the first layer multiplies its input; skip: adds it to each "
                           "gate (cuDNN, DeepBench)",
                           list_names<RnnInput>(), {"linear"}),
            dimension::cache(),
            dimension::threads(),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_rnn(descriptor));
  }

  std::unique_ptr<Problem> make_problem(Settings& settings, int&) const override {
    return std::make_unique<RnnProblem>(
        parse_rnn(settings.at("problem")), parse_name<RnnInput>(settings.at("input")),
        parse_name<RnnDirection>(settings.at("direction")), precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return make_rnn_oracle(problem_cast<RnnProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& rnn_benchmark() {
  static const RnnBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
