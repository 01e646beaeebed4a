// A transport that does another one's work (ASSAY_FAULT_INNER, by default `mpi`) until the fault
// ASSAY_FAULT strikes rank ASSAY_FAULT_RANK (1) in its call number ASSAY_FAULT_AFTER (8):
//   kill     SIGKILL, as the kernel's when memory is short
//   stop     SIGSTOP: there, and never answers
//   throw    the call fails on this rank alone
//   exit     the process ends by itself
//   wrong    one element of the result is wrong on this rank (collectives alone)
//   unequal  this rank gives fewer elements
// and two that strike earlier: `load` (the plugin cannot be opened) and `connect` (it refuses).
// Calls are collectives and messages: an algorithm of ours makes none but messages, and is struck
// in its midst. One that makes neither (shared_memory) is struck ASSAY_FAULT_LATER milliseconds
// after it has first asked where the other ranks' memory is, by kill or stop. ASSAY_FAULT_OFF=1
// takes all back. It belongs to the test tree alone.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "comm/forwarding.hpp"
#include "core/api/backend_entry.hpp"
#include "core/base/error.hpp"
#include "core/program/plugins.hpp"

namespace faulty_ranks {

using namespace assay;

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string wanted_fault() {
  return environment("ASSAY_FAULT_OFF", "") == "1" ? "" : environment("ASSAY_FAULT", "");
}

/// It reads what the launchers tell, before there is a communicator.
bool struck_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return rank == environment("ASSAY_FAULT_RANK", "1");
  return false;
}

class FaultyCommunicator final : public ForwardingCommunicator {
 public:
  explicit FaultyCommunicator(std::unique_ptr<Communicator> inner)
      : ForwardingCommunicator(*inner),
        inner_(std::move(inner)),
        fault_(wanted_fault()),
        struck_(std::to_string(inner_->rank()) == environment("ASSAY_FAULT_RANK", "1")),
        after_(std::stol(environment("ASSAY_FAULT_AFTER", "8"))) {}

  void run(const Call& call, Stream& stream) override {
    if (!now()) return under().run(call, stream);
    Call mine = call;
    strike(mine);
    under().run(mine, stream);
    spoil(call);
  }
  Request start(const Call& call, Stream& stream) override {
    if (!now()) return under().start(call, stream);
    Call mine = call;
    strike(mine);
    return under().start(mine, stream);
  }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    return under().send(now() ? struck(data) : data, to, tag, stream);
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    return under().receive(now() ? struck(data) : data, from, tag, stream);
  }
  std::vector<std::string> allgather(const std::string& text) override {
    const std::string later = environment("ASSAY_FAULT_LATER", "");
    if (struck_ && !later.empty() && !later_.joinable())
      later_ = std::thread([this, wait = std::chrono::milliseconds(std::stol(later))] {
        std::this_thread::sleep_for(wait);
        Call none;
        strike(none);
      });
    return under().allgather(text);
  }
  ~FaultyCommunicator() override {
    if (later_.joinable()) later_.detach();
  }

 private:
  Buffer struck(Buffer data) const {
    Call call;
    call.send = data;
    strike(call);
    return call.send;
  }
  bool now() { return struck_ && calls_++ >= after_; }
  void strike(Call& call) const {
    if (fault_ == "kill") std::raise(SIGKILL);
    if (fault_ == "stop") std::raise(SIGSTOP);
    if (fault_ == "exit") std::_Exit(3);
    if (fault_ == "throw") throw CaseError("the network is down (injected)");
    if (fault_ == "unequal") {
      call.send.count -= call.send.count > 1 ? 1 : 0;
      call.receive.count -= call.receive.count > 1 ? 1 : 0;
    }
  }
  void spoil(const Call& call) const {
    const double wrong = 4711;
    if (fault_ == "wrong" && call.receive.count > 0)
      encode(call.receive.type, std::span(&wrong, 1), call.receive.data);
  }

  std::unique_ptr<Communicator> inner_;
  std::string fault_;
  bool struck_;
  long after_, calls_ = 0;
  std::thread later_;
};

class FaultyBackend final : public Backend {
 public:
  FaultyBackend() {
    const Result<Backend*> inner = plugins_.open(environment("ASSAY_FAULT_INNER", "mpi"));
    if (const auto* refusal = std::get_if<Unsupported>(&inner))
      throw std::runtime_error(refusal->reason);
    inner_ = std::get<Backend*>(inner);
  }
  std::string name() const override { return "faultyranks"; }
  nlohmann::json software() const override { return inner_->software(); }
  Result<Device*> device(const Options& options) override { return inner_->device(options); }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator& ranks) override {
    return inner_->make(problem, options, ranks);
  }
  std::vector<std::string> algorithms(const std::string& kind) const override {
    return inner_->algorithms(kind);
  }
  Result<std::unique_ptr<Communicator>> connect(const Options& options,
                                                Communicator& known) override {
    Result<std::unique_ptr<Communicator>> made = inner_->connect(options, known);
    if (wanted_fault() == "connect" && struck_by_launcher())
      return Unsupported{"no card in this node (injected)"};
    if (auto* refusal = std::get_if<Unsupported>(&made)) return *refusal;
    return std::make_unique<FaultyCommunicator>(
        std::move(std::get<std::unique_ptr<Communicator>>(made)));
  }

 private:
  Plugins plugins_;
  Backend* inner_ = nullptr;
};

Backend* create(std::string& reason) {
  if (wanted_fault() == "load" && struck_by_launcher()) {
    reason = "libfabric.so.1: cannot open shared object file (injected)";
    return nullptr;
  }
  return new FaultyBackend;
}

}  // namespace
}  // namespace faulty_ranks

ASSAY_BACKEND(&faulty_ranks::create)
