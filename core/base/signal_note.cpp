#include "core/base/signal_note.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <span>

#include "core/base/temporary.hpp"

namespace assay {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
// Signals of crashes are not included, because Open MPI warns if they already have a handler.
constexpr int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2};
// The text is formatted before the signal, because a handler may neither allocate nor format.
char note[4096];
std::size_t note_size = 0;

void act_last(int number) {
  if (std::find(std::begin(signals), std::end(signals), number) != std::end(signals)) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, note, note_size);
  }
  remove_temporaries();
  raise(number);  // its default action is in force again (SA_RESETHAND)
}

/// Handles the signals that would end the process.
void handle(std::span<const int> numbers) {
  for (const int number : numbers) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = act_last;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

SignalNote::SignalNote(const std::string& text) {
  note_size = std::min(text.size(), sizeof note);
  std::copy_n(text.data(), note_size, note);
  handle(signals);
}

SignalNote::~SignalNote() { note_size = 0; }

void remove_temporaries_by_signals() { handle(ending); }

}  // namespace assay
