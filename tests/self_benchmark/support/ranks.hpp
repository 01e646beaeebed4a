#pragma once
// Ratios of several ranks: the program starts itself again under mpirun.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/machine/launched.hpp"

namespace assay::self_benchmark {

/// The machine's own limits are for those who share it; this program knows how many it starts.
inline void allow_root() {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

/// If no launcher has started this program, becomes mpirun with `ranks` of it. Returns only under a
/// launcher; where there is no mpirun, prints why the ratio is unavailable and ends.
inline void on_ranks(int ranks, int argc, char** argv) {
  if (read_launch_info().size > 1) return;
  allow_root();
  std::vector<std::string> words{"mpirun", "-n", std::to_string(ranks), "/proc/self/exe"};
  char self[4096] = "";
  if (const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1); length > 0)
    words.back() = std::string(self, static_cast<std::size_t>(length));
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::cout << nlohmann::json{{"skip", "there is no mpirun in PATH"}} << '\n';
  std::exit(0);
}

}  // namespace assay::self_benchmark
