#include "models/network/stop_request.hpp"

namespace assay {
namespace {

volatile std::sig_atomic_t was_asked = 0;

void note(int) { was_asked = 1; }

}  // namespace

StopRequest::StopRequest() {
  was_asked = 0;
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &before_);
}

StopRequest::~StopRequest() {
  sigaction(SIGTERM, &before_, nullptr);
  if (is_requested()) std::raise(SIGTERM);
}

bool StopRequest::is_requested() const { return was_asked != 0; }

}  // namespace assay
