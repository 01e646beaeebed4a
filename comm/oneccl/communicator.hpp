#pragma once
// oneCCL's collectives and messages as a Communicator, on host memory.

#include <memory>
#include <oneapi/ccl.hpp>
#include <string>
#include <vector>

#include "comm/known_ranks.hpp"
#include "comm/slots.hpp"

namespace assay::oneccl {

class OneCclCommunicator final : public KnownRanks {
 public:
  /// Collective: rank 0 opens the store through which the library's ranks find each other, and
  /// sends its address to them through `ranks`. Throws CaseError with the library's message.
  explicit OneCclCommunicator(Ranks ranks);

  std::unique_ptr<Communicator> split(int color, int key) override;
  std::string why_not(const Call& call) const override;
  void prepare(const Call&) override {}  // the library caches its resources for a call by its size
  void describe(const Call& call, Execution& execution) const override;
  std::string tuning_settings() const override;
  void run(const Call& call, Stream& stream) override;
  Request start(const Call& call, Stream& stream) override;
  /// The library has no tags, and mixes up two messages of one pair that are in flight at the same
  /// time. So each message waits here for the previous one, and they arrive in the order of
  /// sending.
  bool has_tags() const override { return false; }
  Request send(Buffer data, int to, int tag, Stream& stream) override;
  Request receive(Buffer data, int from, int tag, Stream& stream) override;
  void wait(Request& request) override;
  bool done(Request& request) override;

 private:
  struct Transfer {
    ccl::event event;
    Buffer average;  ///< a sum that is divided when the call has ended
    Buffer message;  ///< data of a message that waits for the previous one
    std::size_t line = 0;
    enum class State { waits, under_way, ended } state = State::under_way;
  };
  Request queue(Buffer data, int peer, bool sending);
  void begin(Transfer& transfer);
  /// True if the transfer has ended. Then begins the message that waited for it.
  bool poll_end(Transfer& transfer);
  void progress();
  ccl::event enqueue(const Call& call);
  Request remember(ccl::event event);
  void check_peer(int peer) const;

  bool sleeps_ = false;                    ///< waiting threads yield their processor
  ccl::shared_ptr_class<ccl::kvs> store_;  ///< served by rank 0 during the life of the communicator
  std::unique_ptr<ccl::communicator> library_;
  Slots<Transfer> transfers_;
  /// Messages to each rank, then from each rank; the first is in flight. (A deque would allocate.)
  std::vector<std::vector<std::uintptr_t>> lines_;
};

/// The version of the loaded library: "2021.13.1".
std::string version();
/// The library's message for an error.
std::string words(const ccl::exception& error);

}  // namespace assay::oneccl
