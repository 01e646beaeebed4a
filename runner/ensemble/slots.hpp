#pragma once
// The slots of an allocation, in which members of an ensemble run at the same time. Each slot has a
// number of cores of a node.

#include <filesystem>
#include <string>
#include <vector>

#include "core/program/command.hpp"

namespace assay {

struct Slot {
  std::string host{};
  int number = 0;                       ///< of the host's
  std::vector<std::string> launcher{};  ///< words that start a process on the host; empty: this
                                        ///< host
};

/// The slots of this host, or of the nodes of --launcher, for members of `threads` threads.
/// InputError if a node has fewer cores, or the launcher cannot choose nodes. CaseError if no node
/// answers. `log`: folder for the launcher's output. `what`: the feature that needs slots, for
/// messages.
std::vector<Slot> make_slots(const Arguments& arguments, int threads,
                             const std::filesystem::path& log,
                             const std::string& what = "--ensemble");

/// Binds this process, and those that it will start, to the cores of a slot. "2/4": the third group
/// of four cores out of those that it may use. "2/4/gpu": also the third GPU of those that it may
/// use (CUDA_VISIBLE_DEVICES, or all). CaseError if there are fewer.
void bind_to_slot(const std::string& slot);

}  // namespace assay
