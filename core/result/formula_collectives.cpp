// Collectives, by the definitions of nccl-tests (doc/PERFORMANCE.md) and of DeepBench's sheets; and
// the input pipeline.
#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

void check_collective(const Claims& claims) {
  const std::string collective = claims.parameter("collective"),
                    precision = claims.parameter("precision");
  const auto bytes = claims.number("/problem/bytes"), ranks = claims.number("/parameters/ranks");
  if (collective.empty() || collective == "barrier" || !bytes || !ranks) return;
  claims.expect("/problem/bytes", claims.number("/problem/descriptor").value_or(*bytes),
                "the descriptor");
  const double element = precision == "int32" ? 4 : element_bytes(precision).input;
  if (element > 0)
    claims.expect("/problem/elements", *bytes / element, "/problem/bytes in " + precision);
  // A rank has to send at least this part of the message.
  const double others = (*ranks - 1) / *ranks;
  double factor = 1;  // broadcast, reduce, sendrecv
  if (collective == "allreduce") factor = 2 * others;
  if (collective == "reduce_scatter" || collective == "allgather" || collective == "alltoall")
    factor = others;
  const std::string origin = collective + " of " + claims.parameter("ranks") + " ranks";
  claims.expect("/problem/busbw_factor", factor, origin);
  claims.expect("/problem/amounts/algbw", *bytes, "/problem/bytes");
  claims.expect("/problem/amounts/busbw", *bytes * factor, origin);
  claims.expect("/problem/amounts/deepbench_bw", *bytes * *ranks, origin);
}

void check_input(const Claims& claims) {
  const Fields size = fields_of(claims.text("/problem/descriptor"));
  if (!size.contains("n") || !size.contains("mb")) return;
  claims.expect("/problem/amounts/images_per_s", size.at("n"), "the images of the descriptor");
  const double batches =
      size.at("n") / size.at("mb") / claims.number("/parameters/ranks").value_or(1);
  claims.require(batches == static_cast<double>(static_cast<long long>(batches)),
                 "/problem/descriptor", "whole batches on each rank", "n, mb and ranks");
}

const OfBenchmark of_collectives("collectives", check_collective), of_input("input", check_input);

}  // namespace
}  // namespace assay::formula
