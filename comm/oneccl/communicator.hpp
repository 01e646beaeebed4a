#pragma once
// oneCCL's collectives and messages as a Communicator, on host memory.

#include <memory>
#include <oneapi/ccl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "comm/known_ranks.hpp"

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
  void run(const Call& call, Stream& stream) override;
  Request start(const Call& call, Stream& stream) override;
  /// The library has no tags: messages of one pair arrive in the order of their sending, and two
  /// that are under way at a time must be received in that order.
  Request send(Buffer data, int to, int tag, Stream& stream) override;
  Request receive(Buffer data, int from, int tag, Stream& stream) override;
  void wait(Request& request) override;
  bool done(Request& request) override;

 private:
  struct Transfer {
    ccl::event event;
    Buffer average;  ///< a sum that is still to be divided, once it is there
  };
  void finish(Request& request);
  ccl::event enqueue(const Call& call);
  Request remember(ccl::event event);
  void check_peer(int peer) const;

  ccl::shared_ptr_class<ccl::kvs> store_;  ///< rank 0 serves it as long as the communicator lives
  std::unique_ptr<ccl::communicator> library_;
  Slots<Transfer> transfers_;
};

/// "2021.13.1".
std::string version();
/// The library's own words of an error.
std::string words(const ccl::exception& error);

}  // namespace assay::oneccl
