#pragma once
// Gloo's collectives and messages as a Communicator. Gloo has no nonblocking collectives: start()
// completes the call. Gloo allocates memory in each call, which is part of its measured time.

#include <gloo/transport/unbound_buffer.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "comm/gloo/mesh.hpp"
#include "comm/known_ranks.hpp"
#include "comm/slots.hpp"

namespace assay::gloo_transport {

/// The version of Gloo: "0.5.0".
std::string version();

class GlooCommunicator final : public KnownRanks {
 public:
  /// Collective. Throws CaseError.
  GlooCommunicator(Ranks ranks, std::string interface);

  std::unique_ptr<Communicator> split(int color, int key) override;
  std::string why_not(const Call& call) const override;
  void prepare(const Call& call) override;
  std::size_t scratch_bytes() const override;
  void describe(const Call& call, Execution& execution) const override;
  std::string tuning_settings() const override;
  void run(const Call& call, Stream& stream) override;
  Request start(const Call& call, Stream& stream) override;
  Request send(Buffer data, int to, int tag, Stream& stream) override;
  Request receive(Buffer data, int from, int tag, Stream& stream) override;
  void wait(Request& request) override;
  /// Gloo cannot test a message: the first call for a request starts a thread that waits for it.
  bool done(Request& request) override;

 private:
  using Message = gloo::transport::UnboundBuffer;
  struct Transfer {
    std::unique_ptr<Message> message;
    bool sending = false;
    std::future<void> waiting;  ///< result of the thread that done() started
    void wait();
  };
  Message& message(std::uintptr_t slot, Buffer data, bool sending);
  void check_peer(int peer) const;
  /// Sets the tag and the timeout of a collective of Gloo, and runs it.
  template <class Options, class Collective>
  void finish(Options& options, const Collective& collective);
  /// The collective itself; an average is summed.
  void call_library(const Call& call);
  void reduce(const Call& call);
  void reduce_scatter(const Call& call);

  std::string interface_;
  std::shared_ptr<Mesh> mesh_;
  std::uint32_t calls_ = 0;    ///< the tag of a collective; overlapping ones need different tags
  std::vector<char> ignored_;  ///< output of a reduce on ranks that are not its root
  Slots<Transfer> transfers_;
};

}  // namespace assay::gloo_transport
