// Collectives, by the definitions of nccl-tests (doc/PERFORMANCE.md) and of DeepBench's sheets; and
// the input pipeline; and copies.
#include <algorithm>
#include <cmath>

#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

/// The traffic of the busiest rank (sent to other ranks or received) over the elements of one rank.
/// Rank r gets the elements between the sums of 1 / k^zipf over k = 1 … r and k = 1 … r + 1, as
/// fractions of the whole sum.
double busiest(double ranks, double elements, const Claims& claims) {
  const double exponent = claims.number("/parameters/zipf").value_or(0);
  double whole = 0, sum = 0, most = 0, below = 0;
  for (double k = 1; k <= ranks; ++k) whole += std::pow(k, -exponent);
  for (double k = 1; k <= ranks; ++k) {
    sum += std::pow(k, -exponent);
    const double end = k == ranks ? elements : std::floor(elements * (sum / whole)),
                 own = end - below;
    most = std::max({most, elements - own, (ranks - 1) * own});
    below = end;
  }
  return most / elements;
}

void check_collective(const Claims& claims) {
  const std::string collective = claims.parameter("collective"),
                    precision = claims.parameter("precision");
  const auto bytes = claims.number("/problem/bytes");
  auto ranks = claims.number("/parameters/ranks");
  if (const double group = claims.number("/parameters/groups").value_or(0); group > 0)
    ranks = group;  // the ranks that make the call together
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
  if (collective == "bisection") factor = 2 * claims.number("/parameters/rounds").value_or(0);
  if (collective == "alltoallv") factor = busiest(*ranks, *bytes / element, claims);
  if (collective == "reduce_scatter" || collective == "allgather" || collective == "alltoall")
    factor = others;
  const std::string origin =
      collective + " of " + std::to_string(static_cast<int>(*ranks)) + " ranks";
  claims.expect("/problem/busbw_factor", factor, origin);
  claims.expect("/problem/amounts/algbw", *bytes, "/problem/bytes");
  claims.expect("/problem/amounts/busbw", *bytes * factor, origin);
  claims.expect("/problem/amounts/deepbench_bw", *bytes * *ranks, origin);
}

void check_input(const Claims& claims) {
  const Fields size = parse_fields(claims.text("/problem/descriptor"));
  if (!size.contains("n") || !size.contains("mb")) return;
  claims.expect("/problem/amounts/images_per_s", size.at("n"), "the images of the descriptor");
  const double batches =
      size.at("n") / size.at("mb") / claims.number("/parameters/ranks").value_or(1);
  claims.require(batches == static_cast<double>(static_cast<long long>(batches)),
                 "/problem/descriptor", "whole batches on each rank", "n, mb and ranks");
}

/// Each path copies every byte of a buffer once: one read and one write.
void check_copy(const Claims& claims) {
  const Fields size = parse_fields(claims.text("/problem/descriptor"));
  const auto paths = claims.number("/problem/paths");
  if (!size.contains("b") || !paths) return;
  const double buffer = size.at("b");
  if (claims.parameter("from") != "every")
    claims.expect("/problem/paths", claims.parameter("direction") == "both" ? 2 : 1,
                  "the direction");
  claims.expect("/problem/buffer_bytes", buffer, "the descriptor");
  claims.expect("/problem/bytes", 2 * buffer * *paths, "2 x descriptor x /problem/paths");
  claims.expect("/problem/amounts/copy_bw", buffer * *paths, "descriptor x /problem/paths");
  // Each path uses one direction of the link alone.
  if (const auto link = claims.number("/executed/link_bw"))
    claims.require(claims.number("/rates/copy_bw").value_or(0) <= 1.05 * *link * *paths,
                   "/rates/copy_bw", "at most 1.05 x link_bw of each path", "/executed/link_bw");
}

const BenchmarkFormula of_collectives("collectives", check_collective),
    of_input("input", check_input), of_copy("copy", check_copy);

}  // namespace
}  // namespace assay::formula
