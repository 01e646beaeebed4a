#pragma once
// A collective call as a problem: what every rank gives and gets, and how to know that it is right.
//
// bytes is that of the whole vector of a rank, as in nccl-tests: what allreduce, reduce, broadcast
// and sendrecv move from each rank, what reduce_scatter and alltoall take from each rank, and what
// allgather gives to each. With n ranks a part is its nth.
//
//   algbw        = bytes / time
//   busbw        = algbw * factor: 2 (n-1)/n for allreduce, (n-1)/n for reduce_scatter, allgather
//                  and alltoall, 1 for broadcast, reduce and sendrecv (NVIDIA nccl-tests,
//                  doc/PERFORMANCE.md): the bandwidth of the slowest link, whatever n is
//   deepbench_bw = n * bytes / time, of allreduce: what the sheets of DeepBench call Gigabytes/sec

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// The calls of core/api/communicator.hpp, and sendrecv: each rank sends to the next one and
/// receives from the one before it, at the same time.
enum class Pattern {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  alltoall,
  barrier,
  sendrecv
};
/// Names in the enumeration's order.
const std::vector<std::string>& pattern_names();

struct CollectiveShape {
  Pattern pattern = Pattern::allreduce;
  DataType type = DataType::fp32;
  ReduceOp op = ReduceOp::sum;  ///< of the patterns that reduce
  std::int64_t bytes = 0;
  int ranks = 1;
  bool in_place = false;
  int root = 0;  ///< of broadcast and reduce
};

bool reduces(Pattern pattern);
bool has_root(Pattern pattern);
/// Whether every rank has a part of its own of the vector, so that ranks must divide it.
bool has_parts(Pattern pattern);

class CollectiveProblem final : public Problem {
 public:
  static constexpr const char* kind_name = "collective";
  /// InputError where the bytes are no whole elements, or parts.
  explicit CollectiveProblem(const CollectiveShape& shape);
  std::string kind() const override { return kind_name; }
  std::string canonical() const override { return std::to_string(shape_.bytes); }
  nlohmann::json json() const override;
  double flops() const override { return 0; }  ///< additions are not what it is about
  double bytes() const override { return static_cast<double>(shape_.bytes); }
  std::map<std::string, double> amounts() const override;

  const CollectiveShape& shape() const { return shape_; }
  std::int64_t elements() const;  ///< of the whole vector
  std::int64_t part() const { return elements() / shape_.ranks; }
  double busbw_factor() const;
  /// What rank `rank` has: "send" and "receive", or "data" where there is one buffer alone.
  std::vector<TensorSpec> tensors(int rank) const;
  /// The call of a rank on these tensors' memory (sendrecv is none).
  Call call(int rank, void* const* data) const;

 private:
  CollectiveShape shape_;
};

/// Why no rank can do it, whatever the transport (sendrecv in place); empty where one may.
std::string why_not_problem(const CollectiveShape& shape);

/// Every element of every output of rank `rank` is checked, bit for bit; averages within 2 units in
/// the last place. A transport that compresses says so in Executed::wire_bits, and sums
/// too long to be exact have a bound instead (docs/method.md).
std::unique_ptr<Oracle> collective_oracle(const CollectiveProblem& problem, int rank);

}  // namespace assay
