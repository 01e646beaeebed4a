#include "core/result/marks.hpp"

#include "core/measure/device_watch.hpp"

namespace assay {

namespace {

/// False for a published row that does not state its number of ranks.
bool has_one_rank(const Row& row) {
  return !row.parameters.contains("ranks") || row.number("ranks") == 1;
}

bool exceeds(const std::optional<double>& part) { return part.value_or(0) > shared_above; }

/// True if something kept the only thread of a row from running. Other rows may wait for good
/// reasons: a team for untimed serial work between samples, ranks for each other, a process for its
/// accelerator, readers of files for their disk.
bool was_kept_from_running(const Row& row) {
  if (!row.time_s || row.time_s->own.value_or(1) >= 1 - shared_above) return false;
  const auto has = [&](const char* name) { return row.parameters.contains(name); };
  return has("backend") && row.number("threads") == 1 && has_one_rank(row) &&
         (!has("device") || row.parameter("device") == "cpu") && !has("page_cache");
}

/// A device that was held while its work was submitted does not wait for processors. With several
/// ranks it may wait for processors that move data between ranks.
bool was_held(const Row& row) { return row.time_s && row.time_s->held && has_one_rank(row); }

}  // namespace

bool was_shared(const Row& row) {
  if (!row.time_s || was_held(row)) return false;
  const RowTime& time = *row.time_s;
  return exceeds(time.stolen) || exceeds(time.throttled) || was_kept_from_running(row) ||
         (exceeds(time.waiting) && time.foreign.value_or(1) > shared_above);
}

bool was_throttled(const Row& row) {
  return row.device_state && row.device_state->throttled_s &&
         compute_throttled_part(row.device_state->seconds, *row.device_state->throttled_s) >
             shared_above;
}

bool was_disturbed(const Row& row) { return was_shared(row) || was_throttled(row); }

bool was_oversubscribed(const Row& row) {
  return row.time_s && exceeds(row.time_s->waiting) && !was_shared(row) && !was_held(row);
}

std::string choose_mark(bool shared, bool throttled) {
  return shared ? shared_mark : throttled ? throttled_mark : "";
}

std::string choose_mark(const Row& row) {
  const std::string mark = choose_mark(was_shared(row), was_throttled(row));
  return mark.empty() && was_oversubscribed(row) ? oversubscribed_mark : mark;
}

std::string worse_mark(const std::string& a, const std::string& b) {
  for (const char* mark : {shared_mark, throttled_mark, oversubscribed_mark})
    if (a == mark || b == mark) return mark;
  return "";
}

const char* explain_mark(const std::string& mark) {
  return mark == shared_mark           ? shared_note
         : mark == throttled_mark      ? throttled_note
         : mark == oversubscribed_mark ? oversubscribed_note
                                       : "";
}

}  // namespace assay
