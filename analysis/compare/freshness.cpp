#include "analysis/compare/freshness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/compare/verdict.hpp"
#include "core/base/error.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// From the first start to the last end of a side's runs. RFC 3339 times in UTC sort as text.
struct Period {
  std::string start, end;
  bool known() const { return !start.empty(); }
};

/// Empty where a run does not tell its times.
Period period_of(const Side& side) {
  Period period;
  for (const NamedResult& named : side.results()) {
    const json& run = named.result.at("run");
    const std::string started = text_of(run, "started"), finished = text_of(run, "finished");
    if (started.empty() || finished.empty()) return {};
    if (!period.known() || started < period.start) period.start = started;
    period.end = std::max(period.end, finished);
  }
  return period;
}

void note_order(const Side& first, const Side& second, const std::string& what,
                std::vector<std::string>& notes) {
  const Period a = period_of(first), b = period_of(second);
  if (!a.known() || !b.known() || (a.end >= b.start && b.end >= a.start)) return;
  notes.push_back(
      fmt::format("{} were not interleaved: a change of the machine between them looks like a "
                  "difference (assay "
                  "run --against interleaves two builds)",
                  what));
}

/// `why` and `suggestion` are for the message.
void refuse_same_run(const Side& first, const Side& second, const std::string& why,
                     const std::string& suggestion) {
  for (const NamedResult& a : first.results())
    for (const NamedResult& b : second.results()) {
      const json &run = a.result.at("run"), &other = b.result.at("run");
      if (run.at("id") == other.at("id") && run.at("started") == other.at("started"))
        throw InputError(fmt::format("{} is the same run as {}: {} ({}). {}", second.name(),
                                     first.name(), run.at("id").get<std::string>(), why,
                                     suggestion));
    }
}

/// By each side's own clock. Earlier launches may be of another state of the build, and may have
/// been chosen for their outcome.
void refuse_early(const Side& screen, const Side& fresh, const std::string& suggestion) {
  const Period before = period_of(screen), after = period_of(fresh);
  if (before.known() && after.known() && after.start < before.end)
    throw InputError(fmt::format(
        "{} began at {}, before the screen {} ended at {} (so its launches are not fresh). {}",
        fresh.name(), after.start, screen.name(), before.end, suggestion));
}

}  // namespace

std::vector<std::string> check_runs(const Side& base, const Side& updated, const Side* fresh_base,
                                    const Side* fresh_new, const std::string& vary) {
  constexpr const char *own_twin = "a run always equals itself", *two_runs = "Give two runs.";
  std::vector<std::string> notes;
  // One run may hold both precisions, or both backends.
  const bool by_id = varied_parameters(vary).empty();
  if (by_id) refuse_same_run(base, updated, own_twin, two_runs);
  if (vary != "hardware") note_order(base, updated, "the launches of base and new", notes);
  if (fresh_base == nullptr) return notes;
  if (by_id) refuse_same_run(*fresh_base, *fresh_new, own_twin, two_runs);
  if (vary != "hardware")
    note_order(*fresh_base, *fresh_new, "the fresh launches of base and new", notes);
  const std::string suggestion = fmt::format(
      "Make fresh launches with `assay run --launches {} --cases FILE`.", fresh_launches);
  for (const Side* screen : {&base, &updated})
    for (const Side* fresh : {fresh_base, fresh_new})
      refuse_same_run(*screen, *fresh,
                      "its rows were flagged because they looked changed, so the same launches "
                      "would always confirm them",
                      suggestion);
  refuse_early(base, *fresh_base, suggestion);
  refuse_early(updated, *fresh_new, suggestion);
  return notes;
}

}  // namespace assay
