#include <iostream>

#include "cli/commands.hpp"
#include "runner/launch/preflight.hpp"

namespace assay {

namespace {

int placement(const Arguments& arguments) {
  constexpr std::uint64_t most = 100'000;
  const auto threads =
      static_cast<int>(read_whole_number(arguments, "threads", 0, most).value_or(0));
  std::cout << make_line(locate_process(threads, read_value(arguments, "device").value_or("")))
            << std::flush;  // a single write: ranks share a pipe
  return 0;
}

}  // namespace

Command placement_command() {
  return {"placement",
          "Print host, rank, cores and threads of this process.\n`assay run` starts it to check "
          "the launcher.",
          {{"--threads", "OpenMP threads to try", "N", "none"},
           {"--device", "text in the name of a device that a backend must have", "TEXT", "none"}},
          &placement,
          {{"assay placement --threads 1", "prints what this process may use"}},
          "",
          internal_group};
}

}  // namespace assay
