#pragma once
// Copies of bytes from one memory of the machine to another: every path that data take outside of
// kernels. A memory is a NUMA node ("numa0"), a socket ("socket0"), a GPU ("gpu0"), or the host's
// memory as a GPU sees it: "pinned" (page-locked) or "pageable".
//
// bytes is the size of one buffer. bytes_per_s counts each byte that is read and each that is
// written, as STREAM's copy does; copy_bw counts each copied byte once, as links are rated. A small
// copy measures latency.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/problem_version/copy.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

inline constexpr const char* every_place = "every";

struct CopyShape {
  std::int64_t bytes = 0;  ///< of one buffer; a multiple of 8
  /// Names of memories. If both are every_place: from every NUMA node to every other one, at once.
  std::string from, to;
  bool both = false;  ///< there and back, at once
};

class CopyProblem final : public ProblemOf<CopyProblem> {
 public:
  static constexpr const char* kind_name = "copy";
  static constexpr const char* kind_version = problem_version::copy;
  /// `nodes`: the NUMA nodes that every_place denotes. InputError for an impossible size.
  CopyProblem(const CopyShape& shape, const std::vector<std::string>& nodes);
  /// "b65536": the bytes of a buffer.
  std::string canonical() const override { return "b" + std::to_string(shape_.bytes); }
  nlohmann::json json() const override;
  double flops() const override { return 0; }
  double bytes() const override { return 2 * copied_bytes(); }
  std::map<std::string, double> amounts() const override;

  const CopyShape& shape() const { return shape_; }
  /// The copies of one run: from, to.
  using Paths = std::vector<std::pair<std::string, std::string>>;
  const Paths& paths() const { return paths_; }
  /// Bytes that arrive in one run.
  double copied_bytes() const {
    return static_cast<double>(shape_.bytes) * static_cast<double>(paths_.size());
  }
  /// For each path its source (an input) and its destination (an output), in the order of paths().
  /// The data of all sources differ, so that bytes from a wrong path are detected.
  std::vector<TensorSpec> tensors() const;

 private:
  CopyShape shape_;
  Paths paths_;
};

/// The threads of a place, and the paths that they copy one after the other.
struct CopyTeam {
  std::string place;
  std::vector<std::size_t> paths;
};
/// One team for each place that copies: with `pulls` the destinations, else the sources. Each team
/// begins with the path to the place after its own, so that the teams do not all access one place
/// at a time.
std::vector<CopyTeam> copy_teams(const CopyProblem& problem, bool pulls);

/// Compares every byte of every destination.
std::unique_ptr<Oracle> make_copy_oracle(const CopyProblem& problem);

}  // namespace assay
