#pragma once
// The slots of an allocation in which members of an ensemble run at the same time: so many cores of
// a node for each.

#include <filesystem>
#include <string>
#include <vector>

#include "core/program/command.hpp"

namespace assay {

struct Slot {
  std::string host{};
  int number = 0;                       ///< of the host's
  std::vector<std::string> launcher{};  ///< words that start a process on the host; empty: this one
};

/// The slots of this host, or of the nodes of --launcher, for members of `threads` threads.
/// InputError if a node has fewer cores, or the launcher cannot choose nodes. CaseError if no node
/// answers. `log`: folder for the launcher's output. `what`: needs slots, for messages.
std::vector<Slot> make_slots(const Arguments& arguments, int threads,
                             const std::filesystem::path& log,
                             const std::string& what = "--ensemble");

/// Binds this process, and those that it will start, to the cores of a slot: "2/4" is the third
/// four cores of those that it may use; "2/4/gpu": and to the third GPU of those that it may use
/// (CUDA_VISIBLE_DEVICES, or all). CaseError if there are fewer.
void bind_to_slot(const std::string& slot);

}  // namespace assay
