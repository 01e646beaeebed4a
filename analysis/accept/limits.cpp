#include "analysis/accept/limits.hpp"

#include <algorithm>
#include <array>

namespace assay {

namespace {
constexpr std::array environment_parts{"hardware", "software", "threads"};
}  // namespace

LimitCounts::LimitCounts(const Criteria& criteria) {
  const auto list = [&](const std::string& criterion, const char* unit) {
    if (places_.try_emplace(criterion, limits_.size()).second) limits_.push_back({criterion, unit});
  };
  list(present_text, "row");
  for (const char* part : environment_parts) list(std::string(part) + as_on_most, "node");
  for (const RelativeRule& rule : criteria.relative) list(rule.text, "row");
  for (const SpreadRule& rule : criteria.spread) list(rule.text, "node");
  for (const AbsoluteRule& rule : criteria.absolute) list(rule.text, "row");
  for (const HealthRule& rule : criteria.health)
    for (const StateLimit& limit : rule.limits) list(limit.criterion, "node");
  for (const DeviceRule& rule : criteria.devices) list(rule.text, "node");
}

void LimitCounts::add(const Check& check) {
  Acceptance::Limit& limit = limits_.at(places_.at(check.criterion));
  ++limit.judged;
  limit.met += check.verdict == NodeVerdict::pass ? 1 : 0;
  limit.unknown += check.verdict == NodeVerdict::unknown ? 1 : 0;
}

void LimitCounts::add(const std::vector<Check>& checks) {
  for (const Check& check : checks) add(check);
}

void LimitCounts::add_missing_rows(std::size_t rows) {
  limits_.at(places_.at(present_text)).judged += rows;
}

void LimitCounts::add_environment(const std::vector<Check>& differences) {
  for (const char* part : environment_parts) {
    Check check{std::string(part) + as_on_most};
    for (const Check& difference : differences)
      if (difference.criterion.starts_with(check.criterion))
        check.verdict = check.verdict == NodeVerdict::pass
                            ? difference.verdict
                            : std::max(check.verdict, difference.verdict);
    add(check);
  }
}

}  // namespace assay
