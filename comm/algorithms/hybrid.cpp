#include "comm/algorithms/hybrid.hpp"

#include <utility>

#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/shared_memory.hpp"
#include "comm/forwarding.hpp"
#include "comm/reduce.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

class HybridCommunicator final : public ForwardingCommunicator {
 public:
  HybridCommunicator(Communicator& transport, std::unique_ptr<Hybrid> hybrid, bool host)
      : ForwardingCommunicator(transport), hybrid_(std::move(hybrid)), host_(host) {}

  std::string why_not(const Call& call) const override {
    if (std::string reason = why_not_itself(call); !reason.empty()) return reason;
    std::string reason;
    hybrid_->steps(call, [&](const HybridStep& step) {
      if (step.over && reason.empty()) reason = step.over->why_not(step.call);
    });
    return reason;
  }
  void prepare(const Call& call) override {
    hybrid_->steps(call, [](const HybridStep& step) {
      if (step.over) step.over->prepare(step.call);
    });
  }
  /// Lists the implementations of the steps in order, each once.
  void describe(const Call& call, Execution& execution) const override {
    describe_own(hybrid_->name(), call, execution);
    std::string implementations, tuning;
    hybrid_->steps(call, [&](const HybridStep& step) {
      if (step.over == nullptr) return;
      Execution its;
      step.over->describe(step.call, its);
      if (its.implementation.empty()) its.implementation = name(step.call.what);
      if (implementations.find(its.implementation) == std::string::npos)
        implementations += (implementations.empty() ? ": " : ", ") + its.implementation;
      const std::string settings = step.over->tuning_settings();
      if (!settings.empty() && tuning.find(settings) == std::string::npos)
        tuning += ", " + settings;
    });
    execution.implementation += implementations + tuning;
  }
  std::string tuning_settings() const override { return ""; }  // describe() has those of all steps
  void run(const Call& call, Stream& stream) override {
    if (const std::string reason = why_not_itself(call); !reason.empty()) throw CaseError(reason);
    // A device's library only enqueues its call: wait before another library continues.
    hybrid_->steps(call, [&](const HybridStep& step) {
      if (step.over == nullptr) {
        stream.wait();
        return scale(step.call.receive, size());
      }
      if (step.over != last_) stream.wait();
      last_ = step.over;
      step.over->run(step.call, stream);
    });
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

 private:
  std::string why_not_itself(const Call& call) const {
    if (call.what != Collective::allreduce)
      return hybrid_->name() + " does not implement " + std::string(name(call.what)) +
             " (only allreduce)";
    if (std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
    if (std::string reason = why_not_reduce(call.receive.type, call.op); !reason.empty())
      return reason;
    if (call.op == ReduceOp::average && !host_)
      return hybrid_->name() + " cannot average device buffers (it divides in host memory)";
    return "";
  }

  std::unique_ptr<Hybrid> hybrid_;
  bool host_;
  Communicator* last_ = nullptr;
};

}  // namespace

Result<IntraNode> IntraNode::make(Communicator& all, const Options& options) {
  IntraNode intra_node;
  intra_node.node_ = all.split(all.node(), all.rank());
  if (options.get("inside", "") == "shared_memory") {
    auto over = shared_memory(*intra_node.node_);
    // If one node cannot use shared memory, all nodes refuse.
    const auto* refusal = std::get_if<Unsupported>(&over);
    for (const std::string& reason : all.allgather(refusal ? refusal->reason : ""))
      if (!reason.empty()) return Unsupported{reason};
    intra_node.over_ = std::move(std::get<std::unique_ptr<Communicator>>(over));
  }
  return intra_node;
}

std::unique_ptr<Communicator> make_hybrid_communicator(Communicator& transport,
                                                       std::unique_ptr<Hybrid> hybrid,
                                                       const std::string& device) {
  return std::make_unique<HybridCommunicator>(transport, std::move(hybrid), device == "cpu");
}

}  // namespace assay
