#pragma once
// Groups of ranks that share a network, and, across groups, the ranks with the same part of it.

#include <memory>
#include <string>

#include "core/api/communicator.hpp"
#include "models/parallel/way.hpp"

namespace assay {

class Grid {
 public:
  /// Makes groups of `size` consecutive ranks; `size` must divide the number of ranks. `all` must
  /// outlive the grid. Collective.
  Grid(Communicator& all, int size);

  Communicator& group() const { return group_ ? *group_ : all_; }
  /// The ranks with the same part as this one, in the order of the groups; null: there is one
  /// group.
  Communicator* replicas() const { return replicas_.get(); }
  int groups() const { return all_.size() / size_; }
  /// Index of this rank's group.
  int index() const { return all_.rank() / size_; }

 private:
  Communicator& all_;
  const int size_;
  std::unique_ptr<Communicator> group_, replicas_;
};

/// Why these ranks cannot form such groups; "" if they can. `part`: "stage".
std::string why_no_grid(const Parallel& way, int ranks, const std::string& part);

}  // namespace assay
