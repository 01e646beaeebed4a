#pragma once
// oneCCL's collectives and messages as a Communicator, on host memory.

#include <memory>
#include <oneapi/ccl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "comm/known_ranks.hpp"
#include "comm/slots.hpp"

namespace assay::oneccl {

class OneCclCommunicator final : public KnownRanks {
 public:
  /// Collective: rank 0 opens the store through which the library's ranks find each other, and
  /// tells its address through the ranks that are known. Throws CaseError with the library's words.
  explicit OneCclCommunicator(Ranks ranks);

  std::unique_ptr<Communicator> split(int color, int key) override;
  std::string why_not(const Call& call) const override;
  void prepare(const Call&) override {}  // the library caches what it makes for a call, by its size
  void describe(const Call& call, Executed& executed) const override;
  std::string tuning_settings() const override;
  void run(const Call& call, Stream& stream) override;
  Request start(const Call& call, Stream& stream) override;
  /// The library has no tags, and confuses two messages of one pair that are under way at a time.
  /// So each waits here for the one before it, and they are received in the order of their sending.
  bool has_tags() const override { return false; }
  Request send(Buffer data, int to, int tag, Stream& stream) override;
  Request receive(Buffer data, int from, int tag, Stream& stream) override;
  void wait(Request& request) override;
  bool done(Request& request) override;

 private:
  struct Transfer {
    ccl::event event;
    Buffer average;  ///< a sum that is still to be divided, once it is there
    Buffer message;  ///< of a message that waits for the one before it
    std::size_t line = 0;
    enum class State { waits, under_way, ended } state = State::under_way;
  };
  Request queue(Buffer data, int peer, bool sending);
  void begin(Transfer& transfer);
  /// Whether it has ended; begins what waited for it.
  bool ended(Transfer& transfer);
  void progress();
  ccl::event enqueue(const Call& call);
  Request remember(ccl::event event);
  void check_peer(int peer) const;

  bool sleeps_ = false;                    ///< waiting threads leave their processor to others
  ccl::shared_ptr_class<ccl::kvs> store_;  ///< rank 0 serves it as long as the communicator lives
  std::unique_ptr<ccl::communicator> library_;
  Slots<Transfer> transfers_;
  /// Messages to each rank, then from each rank: the first is under way. (A deque would allocate.)
  std::vector<std::vector<std::uintptr_t>> lines_;
};

/// "2021.13.1".
std::string version();
/// The library's own words of an error.
std::string words(const ccl::exception& error);

}  // namespace assay::oneccl
