#include "core/base/signal_note.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace assay {

namespace {

constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP};
// Result before the signal: a handler may neither allocate nor format.
char note[4096];
std::size_t note_size = 0;

void tell(int number) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, note, note_size);
  raise(number);  // its default action is in force again (SA_RESETHAND)
}

}  // namespace

SignalNote::SignalNote(const std::string& text) {
  note_size = std::min(text.size(), sizeof note);
  std::copy_n(text.data(), note_size, note);
  for (const int number : numbers) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = tell;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

SignalNote::~SignalNote() {
  for (const int number : numbers) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == tell) signal(number, SIG_DFL);
  }
}

}  // namespace assay
