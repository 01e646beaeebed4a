#pragma once
// A collective call as a problem: the buffers of each rank, the rates, and how to verify it.
//
// bytes is the message size, as in nccl-tests: what each rank contributes to allreduce, reduce,
// broadcast and sendrecv, the whole send buffer of reduce_scatter and alltoall, the whole receive
// buffer of allgather. A part is 1/n of it, with n ranks.
//
//   algbw        = bytes / time
//   busbw        = algbw * factor: 2 (n-1)/n for allreduce, (n-1)/n for reduce_scatter, allgather
//                  and alltoall, 1 for broadcast, reduce and sendrecv (NVIDIA nccl-tests,
//                  doc/PERFORMANCE.md): comparable with the bandwidth of a link, whatever n is.
//                  bisection: 2 * permutations (one message there, one back); alltoallv: the part
//                  of bytes that the busiest rank sends to other ranks or receives
//   deepbench_bw = n * bytes / time, for allreduce: "Gigabytes/sec" of the DeepBench result sheets

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// The calls of core/api/communicator.hpp, and exchanges of messages. sendrecv: each rank sends to
/// the next rank while it receives from the previous one. bisection: half of the ranks send to
/// the other half, then back, in several permutations (comm/bisection.hpp). alltoallv: each rank
/// sends parts of a Zipf distribution, so that rank 0 receives most (of_rank below). The calls come
/// first, in the order of Collective.
enum class Pattern {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  alltoall,
  barrier,
  sendrecv,
  bisection,
  alltoallv
};
std::string_view name(Pattern pattern);
/// The pattern, or the reduction operator, of that name. InputError for an unknown name.
Pattern find_pattern(const std::string& name);
ReduceOp reduce_op(const std::string& name);
/// They are in the order of the enumerations.
const std::vector<std::string>& list_pattern_names();
const std::vector<std::string>& list_reduce_op_names();

struct CollectiveShape {
  Pattern pattern = Pattern::allreduce;
  DataType type = DataType::fp32;
  ReduceOp op = ReduceOp::sum;  ///< for patterns that reduce
  std::int64_t bytes = 0;
  int ranks = 1;  ///< ranks that make the call together
  bool in_place = false;
  int root = 0;     ///< for broadcast and reduce
  int rounds = 1;   ///< permutations of bisection
  double zipf = 0;  ///< exponent of alltoallv; 0: equal parts
  /// Bytes of the alltoall that every second rank makes meanwhile (comm/beside.hpp); 0: none.
  std::int64_t beside = 0;
};

bool reduces(Pattern pattern);
bool has_root(Pattern pattern);
/// True if it consists of messages, and is not a call.
bool is_exchange(Pattern pattern);
/// True if each rank has its own part of the message, so that its length must be divisible by the
/// number of ranks.
bool has_parts(Pattern pattern);

class CollectiveProblem final : public Problem {
 public:
  static constexpr const char* kind_name = "collective";
  /// InputError where bytes is not a whole number of elements, or of elements for each part.
  explicit CollectiveProblem(const CollectiveShape& shape);
  std::string kind() const override { return kind_name; }
  std::string canonical() const override { return std::to_string(shape_.bytes); }
  nlohmann::json json() const override;
  double flops() const override { return 0; }  ///< additions are not counted
  double bytes() const override { return static_cast<double>(shape_.bytes); }
  /// Empty for a barrier (which moves no data), for one rank (which does not communicate), and with
  /// `beside` (whose metrics are latencies).
  std::map<std::string, double> amounts() const override;

  const CollectiveShape& shape() const { return shape_; }
  std::int64_t elements() const;  ///< of the whole message
  std::int64_t part() const { return elements() / shape_.ranks; }
  /// alltoallv: the elements of each rank's message that rank `to` gets. Their fraction is 1 / (to
  /// + 1)^zipf of the sum over all ranks; both ends are rounded down.
  ElementRange of_rank(int to) const;
  double busbw_factor() const;
  /// The buffers of rank `rank`: "send" and "receive", or "data" where there is only one.
  std::vector<TensorSpec> tensors(int rank) const;
  /// The call of rank `rank` with `data` as the memory of its tensors, in their order. An exchange
  /// is not a call: its send and receive are the buffers of the messages.
  Call call(int rank, void* const* data) const;

 private:
  CollectiveShape shape_;
};

/// Why no transport can run it (sendrecv in place), or empty.
std::string why_not_problem(const CollectiveShape& shape);

/// Checks every element of every output of rank `rank`: bit for bit, averages within 2 units in the
/// last place. With wire compression (Execution::wire_bits), and for sums over too many ranks to be
/// exact, an error bound replaces equality (docs/method.md). `members`: if the ranks are a group of
/// all ranks, the number of each among all ranks, from which its data follow; empty: the ranks' own
/// numbers.
std::unique_ptr<Oracle> make_collective_oracle(const CollectiveProblem& problem, int rank,
                                               std::vector<int> members = {});

}  // namespace assay
