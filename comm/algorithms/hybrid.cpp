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
    hybrid_->calls(call, [&](const Below& one) {
      if (one.over && reason.empty()) reason = one.over->why_not(one.call);
    });
    return reason;
  }
  void prepare(const Call& call) override {
    hybrid_->calls(call, [](const Below& one) {
      if (one.over) one.over->prepare(one.call);
    });
  }
  /// The implementations below in the order of their calls, each once.
  void describe(const Call& call, Executed& executed) const override {
    describe_own(hybrid_->name(), call, executed);
    std::string below, remarks;
    hybrid_->calls(call, [&](const Below& one) {
      if (one.over == nullptr) return;
      Executed its;
      one.over->describe(one.call, its);
      if (its.implementation.empty()) its.implementation = name(one.call.what);
      if (below.find(its.implementation) == std::string::npos)
        below += (below.empty() ? ": " : ", ") + its.implementation;
      const std::string remark = one.over->tuning_settings();
      if (!remark.empty() && remarks.find(remark) == std::string::npos) remarks += ", " + remark;
    });
    executed.implementation += below + remarks;
  }
  std::string tuning_settings() const override { return ""; }  // those below say theirs
  void run(const Call& call, Stream& stream) override {
    if (const std::string reason = why_not_itself(call); !reason.empty()) throw CaseError(reason);
    // A device's library only enqueues: what follows on the host would overtake it.
    hybrid_->calls(call, [&](const Below& one) {
      if (one.over == nullptr) {
        stream.wait();
        return scale(one.call.receive, size());
      }
      if (one.over != last_) stream.wait();
      last_ = one.over;
      one.over->run(one.call, stream);
    });
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

 private:
  std::string why_not_itself(const Call& call) const {
    if (call.what != Collective::allreduce)
      return hybrid_->name() + " has no " + std::string(name(call.what)) + " (it has allreduce)";
    if (std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
    if (std::string reason = why_not_reduce(call.receive.type, call.op); !reason.empty())
      return reason;
    if (call.op == ReduceOp::average && !host_)
      return hybrid_->name() + " has no average of device buffers (it divides in host memory)";
    return "";
  }

  std::unique_ptr<Hybrid> hybrid_;
  bool host_;
  Communicator* last_ = nullptr;
};

}  // namespace

Result<Inside> Inside::make(Communicator& inside, const Options& options) {
  Inside made;
  made.node_ = inside.split(inside.node(), inside.rank());
  if (options.get("inside", "") == "shared_memory") {
    auto over = shared_memory(*made.node_);
    // A node where it cannot be had must stop the others, too.
    const auto* refusal = std::get_if<Unsupported>(&over);
    for (const std::string& reason : inside.allgather(refusal ? refusal->reason : ""))
      if (!reason.empty()) return Unsupported{reason};
    made.over_ = std::move(std::get<std::unique_ptr<Communicator>>(over));
  }
  return made;
}

std::unique_ptr<Communicator> hybrid_communicator(Communicator& transport,
                                                  std::unique_ptr<Hybrid> hybrid,
                                                  const std::string& device) {
  return std::make_unique<HybridCommunicator>(transport, std::move(hybrid), device == "cpu");
}

}  // namespace assay
