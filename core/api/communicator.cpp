#include "core/api/communicator.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "core/base/error.hpp"

namespace assay {

namespace {

class Serial final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int node() const override { return 0; }
  int nodes() const override { return 1; }
  std::string host() const override {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
  }
  std::unique_ptr<Communicator> split(int, int) override { return make_serial_communicator(); }

  std::string why_not(const Call& call) const override {
    if (call.root != 0) return "no rank " + std::to_string(call.root) + " (there is rank 0 alone)";
    return why_not_counts(call, 1);
  }
  void prepare(const Call&) override {}
  void run(const Call& call, Stream&) override {
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    if (call.what == Collective::broadcast || call.what == Collective::barrier) return;
    if (call.send.data != call.receive.data)
      std::memmove(call.receive.data, call.send.data, call.send.bytes());
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

  /// Sending is buffered, so that a rank may send to itself before it receives.
  Request send(Buffer data, int to, int tag, Stream&) override {
    check_peer(to);
    const char* from = static_cast<const char*>(data.data);
    sent_.emplace(tag, std::vector<char>(from, from + data.bytes()));
    return {};
  }
  Request receive(Buffer data, int from, int tag, Stream&) override {
    check_peer(from);
    const auto message = sent_.find(tag);
    if (message == sent_.end())
      throw CaseError("receive from oneself would wait for ever (nothing was sent with tag " +
                      std::to_string(tag) + ")");
    if (message->second.size() != data.bytes())
      throw CaseError("received " + std::to_string(message->second.size()) + " bytes where " +
                      std::to_string(data.bytes()) + " were expected");
    std::memcpy(data.data, message->second.data(), message->second.size());
    sent_.erase(message);
    return {};
  }
  void wait(Request&) override {}
  bool done(Request&) override { return true; }
  void barrier() override {}
  void abort(const std::string& why, ExitCode code) override {
    std::cerr << "assay: aborted: " << why << std::endl;
    std::_Exit(static_cast<int>(code));
  }
  void allreduce_max(std::span<double>) override {}
  double broadcast(double value) override { return value; }
  std::vector<std::string> allgather(const std::string& text) override { return {text}; }

 private:
  static void check_peer(int peer) {
    if (peer != 0)
      throw CaseError("no rank " + std::to_string(peer) +
                      " (the serial communicator has rank 0 alone)");
  }
  std::multimap<int, std::vector<char>> sent_;
};

}  // namespace

std::string_view name(ReduceOp op) {
  constexpr std::string_view names[] = {"sum", "min", "max", "average"};
  return names[static_cast<int>(op)];
}

std::string_view name(Collective what) {
  constexpr std::string_view names[] = {"allreduce", "reduce",   "reduce_scatter", "allgather",
                                        "broadcast", "alltoall", "barrier"};
  return names[static_cast<int>(what)];
}

std::string why_not_counts(const Call& call, int ranks) {
  const Buffer &send = call.send, &receive = call.receive;
  if (call.what == Collective::barrier || call.what == Collective::broadcast) return "";
  if (send.type != receive.type)
    return "send has " + std::string(name(send.type)) + ", receive " +
           std::string(name(receive.type)) + " (a collective converts nothing)";
  const std::int64_t sent = send.count * (call.what == Collective::allgather ? ranks : 1);
  const std::int64_t received =
      receive.count * (call.what == Collective::reduce_scatter ? ranks : 1);
  if (sent != received)
    return std::string(name(call.what)) + " of " + std::to_string(send.count) + " into " +
           std::to_string(receive.count) + " elements on " + std::to_string(ranks) + " ranks";
  if (call.what == Collective::alltoall && send.count % ranks != 0)
    return "alltoall of " + std::to_string(send.count) + " elements is not divisible by " +
           std::to_string(ranks) + " ranks";
  return "";
}

std::unique_ptr<Communicator> make_serial_communicator() { return std::make_unique<Serial>(); }

}  // namespace assay
