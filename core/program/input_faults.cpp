#include "core/program/input_faults.hpp"

#include <fmt/format.h>

#include <iostream>
#include <thread>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"

namespace assay {

void InputFaults::tell(const std::string& program, const std::string& fault,
                       std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  HostStream stream;
  Call meeting;
  meeting.what = Collective::barrier;
  Request request = beside_->start(meeting, stream);
  const auto end = Clock::now() + patience;
  while (!beside_->done(request)) {
    if (Clock::now() >= end)
      ranks_.abort(
          fmt::format("{}: rank {} on {}: {}", program, ranks_.rank(), ranks_.host(), fault),
          ExitCode::usage);
    std::this_thread::yield();
  }
  const std::vector<std::string> faults = beside_->allgather(fault);
  if (ranks_.rank() != 0) return;
  std::string text = fmt::format("{}: {}\n", program, faults.front());
  for (std::size_t rank = 1; rank < faults.size(); ++rank)
    if (faults[rank] != faults.front())
      text += fmt::format("{}: rank {}: {}\n", program, rank, faults[rank]);
  std::cerr << text << std::flush;
}

}  // namespace assay
