#include "runner/run/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <utility>

#include "core/base/standard_streams.hpp"
#include "core/base/units.hpp"
#include "core/program/terminal.hpp"

namespace assay {

using std::chrono::steady_clock;

Progress::Progress(int done, int total, std::string label, Verbosity talk)
    : done_(done),
      total_(total),
      label_(std::move(label)),
      talk_(talk),
      terminal_(isatty(STDERR_FILENO) != 0),
      colour_(colour_wanted(STDERR_FILENO)),
      start_(steady_clock::now()) {}

std::string format_rough_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, std::round(seconds)));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string time_left(double seconds_so_far, int done, int remaining) {
  if (done < 1 || remaining < 1) return "";
  return "~" + format_rough_time(seconds_so_far / done * remaining) + " left";
}

std::string format_spread(double percent) {
  // Beyond that, half the width of the interval is no useful error of the median.
  constexpr double most = 100;
  if (percent > most) return " (not steady)";
  return fmt::format(" (±{:.1f} %)", percent);
}

void Progress::row(const Row& row) {
  ++done_;
  ++here_;
  const auto now = steady_clock::now();
  const bool wrong = !row.is_ok() && row.status != "unsupported";
  if (talk_ == Verbosity::quiet && !wrong) return;
  const bool first_or_last = here_ == 1 || done_ >= total_;
  if (talk_ == Verbosity::normal && !terminal_ && !wrong && !first_or_last &&
      now - shown_at_ < std::chrono::seconds(10))
    return;
  shown_at_ = now;
  std::string what, word;
  if (row.is_ok()) {
    const double median = row.median();
    what = format_seconds(median) + choose_mark(row);
    if (const auto& ci = row.time_s->ci95; ci && median > 0)
      what += format_spread(50 * (ci->high - ci->low) / median);
    else
      what += fmt::format(" (n={}, no interval)", row.time_s->n.value_or(0));
  } else {
    word = row.status;
    if (!row.reason.empty()) what = ": " + row.reason;
  }
  const double spent = std::chrono::duration<double>(now - start_).count();
  const std::string left = time_left(spent, here_, total_ - done_);
  // std::cerr escapes control characters, and colours with them; so text from files is escaped here
  // instead.
  std::clog << escape_controls(fmt::format("[{}{}/{}] {}  ", label_, done_, total_, row.id))
            << (word.empty() ? "" : add_colour(word, colour_))
            << escape_controls(fmt::format("{}{}{}\n", what, left.empty() ? "" : "  ", left))
            << std::flush;
}

void Progress::detail(const std::string& text) {
  if (talk_ == Verbosity::verbose) note(text);
}

void Progress::note(const std::string& text) { std::cerr << "assay run: " << text << std::endl; }

}  // namespace assay
