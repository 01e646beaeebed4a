#pragma once
// The marks of times that something disturbed, and what they mean.

#include <string>

#include "core/result/row.hpp"

namespace assay {

/// A row's time is doubtful if more than this part of one processor was missing while it was timed,
/// or if the clock of its device was held down for more than this part of the time.
inline constexpr double shared_above = 0.05;
/// True if other work used the processors while the row was timed: a hypervisor took time
/// (time_s.stolen), the quota of a cgroup was used up (.throttled), threads waited for a processor
/// (.waiting) while there was foreign work (.foreign; if unknown, it is assumed), or the only
/// thread of a row that has nothing to wait for did not run (.own). Never for a row of one rank
/// whose time is only that of a held device (.held).
bool was_shared(const Row& row);
/// True if power or heat held the clock of the row's device down while it was timed
/// (device_state.throttled_s).
bool was_throttled(const Row& row);
/// True if the time was shared or throttled.
bool was_disturbed(const Row& row);
/// True if threads waited for other threads or ranks of the same job, because the job has more of
/// them than processors. Without foreign work a repetition gives the same time.
bool was_oversubscribed(const Row& row);

/// They are in the order of their severity.
inline constexpr const char *shared_mark = "!", *throttled_mark = "\u00b0",
                            *oversubscribed_mark = "~";
/// The mark of every number that comes from the row's time; "" if it has none.
std::string choose_mark(const Row& row);
/// The more severe mark.
std::string worse_mark(const std::string& a, const std::string& b);
/// The mark of a number with these properties.
std::string choose_mark(bool shared, bool throttled);

inline constexpr const char* shared_note =
    "! Timed while other processes or a quota took processors away: the time is an upper limit "
    "(time_s.stolen, time_s.throttled, or time_s.waiting and time_s.foreign, above 5 % of a "
    "processor, or time_s.own of one thread below 95 %). Repeat on a quiet machine.";
inline constexpr const char* throttled_note =
    "\u00b0 Throttled: power or heat held the clock of the device down for more than 5 % of the "
    "time (device_state.throttled_s). With more power or better cooling it is faster.";
inline constexpr const char* oversubscribed_note =
    "~ Oversubscribed: threads waited for other threads or ranks of the same job (time_s.waiting "
    "above 5 % of a processor, time_s.foreign below). A repetition does not change it.";
/// The note of a mark; "" of none.
const char* explain_mark(const std::string& mark);

}  // namespace assay
