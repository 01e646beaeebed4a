#include "core/communicator.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "core/error.hpp"

namespace assay {

namespace {

class Done final : public Request {
 public:
  void wait() override {}
  bool done() override { return true; }
};

std::size_t bytes(const Buffer& buffer) {
  return static_cast<std::size_t>(buffer.count) * size_of(buffer.type);
}

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
  std::unique_ptr<Communicator> split(int, int) override { return serial_communicator(); }

  /// Sending is buffered, so that a rank may send to itself before it receives.
  Requests send(Buffer data, int to, int tag, Stream&) override {
    check_peer(to);
    const char* from = static_cast<const char*>(data.data);
    sent_.emplace(tag, std::vector<char>(from, from + bytes(data)));
    return std::make_unique<Done>();
  }
  Requests receive(Buffer data, int from, int tag, Stream&) override {
    check_peer(from);
    const auto message = sent_.find(tag);
    if (message == sent_.end())
      throw CaseError("receive from oneself would wait for ever (nothing was sent with tag " +
                      std::to_string(tag) + ")");
    if (message->second.size() != bytes(data))
      throw CaseError("received " + std::to_string(message->second.size()) + " bytes where " +
                      std::to_string(bytes(data)) + " were expected");
    std::memcpy(data.data, message->second.data(), message->second.size());
    sent_.erase(message);
    return std::make_unique<Done>();
  }
  Requests allreduce(Buffer send, Buffer receive, ReduceOp, Stream&) override {
    return copy(send, receive);
  }
  Requests reduce(Buffer send, Buffer receive, ReduceOp, int root, Stream&) override {
    check_peer(root);
    return copy(send, receive);
  }
  Requests reduce_scatter(Buffer send, Buffer receive, ReduceOp, Stream&) override {
    return copy(send, receive);
  }
  Requests allgather(Buffer send, Buffer receive, Stream&) override { return copy(send, receive); }
  Requests broadcast(Buffer, int root, Stream&) override {
    check_peer(root);
    return std::make_unique<Done>();
  }
  Requests alltoall(Buffer send, Buffer receive, Stream&) override { return copy(send, receive); }
  void barrier() override {}
  void abort(const std::string& why) override {
    std::cerr << "assay: aborted: " << why << std::endl;
    std::_Exit(static_cast<int>(ExitCode::failed));
  }
  void maximum(std::span<double>) override {}
  double agree(double value) override { return value; }
  std::vector<std::string> gather(const std::string& text) override { return {text}; }

 private:
  static void check_peer(int peer) {
    if (peer != 0)
      throw CaseError("no rank " + std::to_string(peer) +
                      " (the serial communicator has rank 0 alone)");
  }
  static Requests copy(Buffer from, Buffer to) {
    if (from.type != to.type || from.count != to.count)
      throw CaseError("buffers of one rank differ in type or count");
    if (from.data != to.data) std::memmove(to.data, from.data, bytes(from));
    return std::make_unique<Done>();
  }
  std::multimap<int, std::vector<char>> sent_;
};

}  // namespace

std::unique_ptr<Communicator> serial_communicator() { return std::make_unique<Serial>(); }

}  // namespace assay
