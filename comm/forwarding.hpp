#pragma once
// The base of communicators that lie over another one (algorithms, wire compression, fusion): every
// function that a derived class does not override is forwarded to the communicator below.

#include <cstdlib>

#include "core/api/communicator.hpp"

namespace assay {

class ForwardingCommunicator : public Communicator {
 public:
  /// `under` must outlive this.
  explicit ForwardingCommunicator(Communicator& under) : under_(under) {}

  int rank() const override { return under_.rank(); }
  int size() const override { return under_.size(); }
  int node() const override { return under_.node(); }
  int nodes() const override { return under_.nodes(); }
  std::string host() const override { return under_.host(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return under_.split(color, key);
  }
  std::string why_not(const Call& call) const override { return under_.why_not(call); }
  void prepare(const Call& call) override { under_.prepare(call); }
  std::shared_ptr<void> allocate(std::size_t bytes) override { return under_.allocate(bytes); }
  std::size_t scratch_bytes() const override { return under_.scratch_bytes(); }
  void describe(const Call& call, Execution& execution) const override {
    under_.describe(call, execution);
  }
  std::string tuning_settings() const override { return under_.tuning_settings(); }
  void run(const Call& call, Stream& stream) override { under_.run(call, stream); }
  Request start(const Call& call, Stream& stream) override { return under_.start(call, stream); }
  bool has_tags() const override { return under_.has_tags(); }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    return under_.send(data, to, tag, stream);
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    return under_.receive(data, from, tag, stream);
  }
  void wait(Request& request) override { under_.wait(request); }
  bool done(Request& request) override { return under_.done(request); }
  [[noreturn]] void abort(const std::string& why, ExitCode code) override {
    under_.abort(why, code);
    std::abort();  // the compiler does not rely on [[noreturn]] of a virtual function
  }
  void barrier() override { under_.barrier(); }
  void allreduce_max(std::span<double> values) override { under_.allreduce_max(values); }
  double broadcast(double value) override { return under_.broadcast(value); }
  std::vector<std::string> allgather(const std::string& text) override {
    return under_.allgather(text);
  }

 protected:
  /// Requests that a layer creates itself have a mark in the upper 16 bits, a pattern that no
  /// address of a process, no index and no sign-extended integer has. So a layer tells its own
  /// requests from those of the communicator below.
  static Request own_request(std::uint64_t number) { return {mark | number}; }
  static bool is_own(const Request& request) { return (request.handle & mask) == mark; }
  static std::uint64_t decode_number(const Request& request) { return request.handle & ~mask; }

  Communicator& under() const { return under_; }

 private:
  static constexpr std::uint64_t mask = std::uint64_t{0xffff} << 48;
  static constexpr std::uint64_t mark = std::uint64_t{0x8a5a} << 48;
  Communicator& under_;
};

}  // namespace assay
