#include "analysis/run/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <utility>

#include "analysis/units.hpp"
#include "core/result/result.hpp"

namespace assay {

using std::chrono::steady_clock;

Progress::Progress(int done, int total, std::string label)
    : done_(done),
      total_(total),
      label_(std::move(label)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(steady_clock::now()) {}

std::string time_left(double seconds_so_far, int done, int remaining) {
  if (done < 1 || remaining < 1) return "";
  const double left = seconds_so_far / done * remaining;
  if (left < 90) return fmt::format("~{:.0f} s left", std::max(1.0, std::round(left)));
  if (left < 5400) return fmt::format("~{:.0f} min left", left / 60);
  return fmt::format("~{:.1f} h left", left / 3600);
}

void Progress::row(const nlohmann::json& row) {
  ++done_;
  ++here_;
  const auto now = steady_clock::now();
  const std::string status = row.value("status", "?");
  const bool quiet = status == "ok" || status == "unsupported";
  const bool first_or_last = here_ == 1 || done_ >= total_;
  if (!terminal_ && quiet && !first_or_last && now - told_ < std::chrono::seconds(10)) return;
  told_ = now;
  std::string what = status;
  if (status == "ok") {
    const auto& time = row.at("time_s");
    const double median = time.at("median");
    const auto ci = time.value("ci95", nlohmann::json());
    what = human_seconds(median) + (was_shared(row) ? "!" : was_oversubscribed(row) ? "~" : "");
    if (ci.is_array() && median > 0)
      what += fmt::format(" ({:.1f} %)",
                          50 * (ci.at(1).get<double>() - ci.at(0).get<double>()) / median);
    else
      what += fmt::format(" (n={}, no interval)", time.at("n").get<int>());
  } else if (row.contains("reason") && row["reason"].is_string()) {
    what += ": " + row["reason"].get<std::string>();
  }
  const double spent = std::chrono::duration<double>(now - start_).count();
  const std::string left = time_left(spent, here_, total_ - done_);
  std::cerr << fmt::format("[{}{}/{}] {}  {}{}{}\n", label_, done_, total_, row.value("id", "?"),
                           what, left.empty() ? "" : "  ", left)
            << std::flush;
}

void Progress::note(const std::string& text) { std::cerr << "assay run: " << text << std::endl; }

}  // namespace assay
