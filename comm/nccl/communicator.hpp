#pragma once
// NCCL's collectives and messages as a Communicator, on device memory, ordered on a CUDA stream.

#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/known_ranks.hpp"
#include "comm/slots.hpp"
#include "comm/stream_order.hpp"

// The loaded library may lack these functions, whatever the plugin was built with: they are null
// then.
extern "C" {
[[gnu::weak]] const char* ncclGetLastError(ncclComm_t);  // since 2.13
[[gnu::weak]] ncclResult_t ncclAlltoAll(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t,
                                        cudaStream_t);  // since 2.28
}

namespace assay::nccl {

/// The first version with every call that has no substitute here, and with ncclAvg (2.10).
constexpr int oldest = NCCL_VERSION(2, 13, 0);

/// Throws CaseError where `result` is an error: "<what> failed (NCCL: …)", with the library's last
/// error message.
void check(ncclResult_t result, const std::string& what, ncclComm_t communicator = nullptr);

/// The version as text ("2.28.9"): from a number of ncclGetVersion(), and of the loaded library.
std::string format_version(int code);
std::string version();

class NcclCommunicator final : public KnownRanks, public StreamOrder {
 public:
  /// Collective, on the current device of each rank. Throws CaseError.
  explicit NcclCommunicator(Ranks ranks);
  ~NcclCommunicator() override;

  std::unique_ptr<Communicator> split(int color, int key) override;
  std::string why_not(const Call& call) const override;
  /// The library connects ranks and allocates buffers in the first call of a kind. A call here
  /// would write to the caller's buffers, so the verification before timing is that first call.
  void prepare(const Call&) override {}
  void describe(const Call& call, Execution& execution) const override;
  void run(const Call& call, Stream& stream) override;
  /// The call runs on a separate stream after the work already submitted to `stream`, so it
  /// overlaps with work submitted to `stream` later.
  Request start(const Call& call, Stream& stream) override;
  /// The library requires a send and a receive that depend on each other to be in one group, so
  /// messages are submitted together at the next wait(), done() or collective. It has no tags:
  /// messages of one pair arrive in the order of sending.
  bool has_tags() const override { return false; }
  Request send(Buffer data, int to, int tag, Stream& stream) override;
  Request receive(Buffer data, int from, int tag, Stream& stream) override;
  void wait(Request& request) override;
  bool done(Request& request) override;
  bool order(const Request& request, Stream& stream) override;

 private:
  /// A CUDA event, recorded after the work of a request.
  struct Mark {
    Mark();
    ~Mark();
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    cudaEvent_t event = nullptr;
  };
  struct Message {
    Buffer data;
    int peer = 0;
    bool sending = false;
    cudaStream_t stream = nullptr;
    std::uintptr_t mark = 0;
  };
  void enqueue(const Call& call, cudaStream_t stream);
  void submit_messages();
  Request add(Buffer data, int peer, bool sending, Stream& stream);
  void check_async();

  ncclComm_t library_ = nullptr;
  cudaStream_t beside_ = nullptr;  ///< of start()
  Slots<Mark> marks_;
  std::vector<Message> waiting_;  ///< started, not yet submitted
};

}  // namespace assay::nccl
