#pragma once
// An MPI communicator as a Communicator. Collectives are MPI's own. MPI counts elements in int:
// longer reductions and broadcasts are split into several calls, other collectives are refused.

#include <vector>

#include "comm/mpi/library.hpp"
#include "comm/slots.hpp"

namespace assay::mpi {

/// Most elements in one call of MPI: far below INT_MAX, since libraries compute bytes and offsets
/// in int, too.
inline constexpr std::int64_t longest_call = std::int64_t{1} << 28;

class MpiCommunicator final : public Communicator {
 public:
  /// Takes over `comm`. Collective. `node`: a number that the ranks of a node have in common.
  MpiCommunicator(MPI_Comm comm, int node);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node() const override { return node_; }
  int nodes() const override { return nodes_; }
  std::string host() const override;
  std::unique_ptr<Communicator> split(int color, int key) override;

  std::string why_not(const Call& call) const override;
  void prepare(const Call& call) override;
  std::shared_ptr<void> allocate(std::size_t bytes) override;
  std::size_t scratch_bytes() const override { return scratch_.capacity(); }
  void describe(const Call& call, Execution& execution) const override;
  void run(const Call& call, Stream& stream) override;
  Request start(const Call& call, Stream& stream) override;
  Request send(Buffer data, int to, int tag, Stream& stream) override;
  Request receive(Buffer data, int from, int tag, Stream& stream) override;
  void wait(Request& request) override;
  bool done(Request& request) override;
  [[noreturn]] void abort(const std::string& why, ExitCode code) override;

  void barrier() override;
  void allreduce_max(std::span<double> values) override;
  double broadcast(double value) override;
  std::vector<std::string> allgather(const std::string& text) override;

 private:
  /// A started transfer.
  struct Transfer {
    MPI_Request request = MPI_REQUEST_NULL;
    Buffer average;  ///< sums that finish() still has to divide
    Buffer message;  ///< the message that is received
    bool is_receive = false;
  };
  Request take();
  void finish(Request& request, const MPI_Status& status);
  /// Starts the nonblocking collective; an average is summed.
  void begin(const Call& call, MPI_Request* handle);
  bool in_pieces(const Call& call) const;
  bool through_scratch(const Call& call) const;
  void reduce(const Call& call);
  void reduce_scatter(const Call& call);
  void move(const Call& call);

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1, node_ = 0, nodes_ = 1;
  Call allowed_{
      Collective::barrier, {}, {}, ReduceOp::sum, -1};  ///< the last call that why_not() allowed
  std::vector<char> scratch_;
  Slots<Transfer> transfers_;
};

}  // namespace assay::mpi
