#pragma once
// A block of shared memory for each rank of a node.

#include <memory>
#include <string>

#include "comm/algorithms/shared_object.hpp"
#include "core/api/backend.hpp"
#include "core/base/error.hpp"

namespace assay {

class SharedSegment {
 public:
  /// Collective: allocates `bytes_of_rank` zeroed bytes for each rank. Unsupported, with the same
  /// reason on all ranks, where a rank cannot allocate its block or map another's.
  static Result<std::unique_ptr<SharedSegment>> make(Communicator& ranks,
                                                     std::size_t bytes_of_rank) {
    std::vector<std::shared_ptr<SharedObject>> mine;
    std::string problem;
    try {
      mine.push_back(std::make_shared<SharedObject>(bytes_of_rank));
    } catch (const CaseError& error) {
      problem = error.what();
    }
    auto segment = std::make_unique<SharedSegment>();
    if (std::string reason = show(ranks, mine, problem, segment->all_); !reason.empty())
      return Unsupported{"no shared segment (" + reason + ")"};
    return segment;
  }

  std::byte* of_rank(int rank) const { return all_[static_cast<std::size_t>(rank)][0]->data(); }
  std::size_t bytes_of_rank() const { return all_[0][0]->bytes(); }

 private:
  SharedObjects all_;
};

}  // namespace assay
