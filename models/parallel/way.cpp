#include "models/parallel/way.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/name_table.hpp"
#include "core/base/numbers.hpp"

namespace assay {
namespace {

constexpr std::uint64_t most_of_way = 1 << 20;

const NameTable<WayKind>& ways() {
  static const NameTable<WayKind> table({"sync", "stale", "async", "server", "pipeline", "split"});
  return table;
}

const NameTable<PipelineSchedule>& schedules() {
  static const NameTable<PipelineSchedule> table({"1f1b", "fill-drain"},
                                                 "schedule of --parallel pipeline");
  return table;
}

}  // namespace

Parallel parse_parallel(const std::string& text) {
  const std::string in_groups = "*sync";
  if (text.ends_with(in_groups)) {
    Parallel way = parse_parallel(text.substr(0, text.size() - in_groups.size()));
    if (way.replicated || (way.kind != WayKind::pipeline && way.kind != WayKind::split))
      throw InputError("--parallel " + text + ": *sync is for groups of pipeline:P or split:K.");
    way.replicated = true;
    return way;
  }
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  Parallel way;
  if (const auto kind = ways().find(name))
    way.kind = *kind;
  else
    throw InputError(explain_unknown_name("--parallel", name, ways().names()) +
                     " Use sync, stale:S, async, server:K, pipeline:P[:SCHEDULE] or split:K, and "
                     "*sync after the last two.");
  if (way.kind == WayKind::sync || way.kind == WayKind::async) {
    if (colon != std::string::npos)
      throw InputError("--parallel " + text + ": " + name + " has no number. Leave it out.");
    return way;
  }
  if (way.kind == WayKind::stale && rest == "0")
    throw InputError("--parallel stale:0 waits for all gradients in each step. Use sync.");
  if (const std::size_t second = rest.find(':');
      way.kind == WayKind::pipeline && second != std::string::npos) {
    way.schedule = schedules().at(rest.substr(second + 1));
    rest.resize(second);
  }
  const std::uint64_t least = way.kind == WayKind::pipeline || way.kind == WayKind::split ? 2 : 1;
  if (rest.empty())
    throw InputError(
        fmt::format("--parallel {0} needs a number. Give one like {0}:{1}.", name, least));
  way.number =
      static_cast<std::int64_t>(whole_number("--parallel " + name + ":", rest, least, most_of_way));
  return way;
}

std::string to_text(const Parallel& way) {
  std::string text = ways()[way.kind];
  if (way.number > 0) text += ":" + std::to_string(way.number);
  if (way.schedule != PipelineSchedule::one_forward_one_backward)
    text += ":" + schedules()[way.schedule];
  if (way.replicated) text += "*sync";
  return text;
}

std::int64_t replicas(const Parallel& way, std::int64_t ranks) {
  std::int64_t all = ranks;
  if (way.kind == WayKind::server) all = ranks - way.number;
  if (way.kind == WayKind::pipeline || way.kind == WayKind::split) all = ranks / way.number;
  return std::max<std::int64_t>(all, 1);
}

std::int64_t steps_of_run(const Parallel& way) {
  const bool waits =
      way.kind == WayKind::sync || way.kind == WayKind::pipeline || way.kind == WayKind::split;
  return waits ? 1 : 8;
}

}  // namespace assay
