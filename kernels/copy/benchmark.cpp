#include "kernels/copy/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/place_processors.hpp"
#include "core/machine/placement.hpp"
#include "kernels/copy/problem.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 44;

std::vector<std::string> nodes_here() {
  std::vector<std::string> all = list_memory_places();
  std::erase_if(all, [](const std::string& place) { return !place.starts_with("numa"); });
  return all;
}

bool is_of_gpu(const std::string& place) {
  return place == "pinned" || place == "pageable" || place.starts_with("gpu");
}

/// InputError if no machine can have a place of that name.
void expect_place(const std::string& flag, const std::string& place) {
  if (place == every_place || place == "pinned" || place == "pageable") return;
  for (const std::string kind : {"numa", "socket", "gpu"})
    if (place.starts_with(kind) && parse_number<unsigned>(place.substr(kind.size()))) return;
  throw InputError(
      fmt::format("--{} '{}' is not a place of memory. Give numaN, socketN, gpuN, pinned, "
                  "pageable, {}, or all.",
                  flag, place, every_place));
}

Dimension place(const char* name, const char* what) {
  Dimension axis = make_dimension(
      name,
      fmt::format("memory that is {}: numaN, socketN, gpuN, pinned or pageable (of the host, for a "
                  "GPU); all: each of this machine's; {}: every NUMA node, at once",
                  what, every_place),
      {}, nodes_here());
  if (axis.defaults.empty()) axis.defaults = {"numa0"};
  axis.every = list_memory_places();
  axis.shown_default = "every NUMA node";
  return axis;
}

constexpr const char* all_processors = "auto";

/// The default number of threads: all copying places use equally many processors, and the teams of
/// one place share them. It is at least one for each team; if a place has fewer processors than
/// teams, the case is refused with a reason.
int default_threads(const CopyProblem& problem, bool pulls) {
  const std::vector<CopyTeam> teams = copy_teams(problem, pulls);
  const auto count = static_cast<int>(teams.size());
  int each = count == 0 ? 1 : processors() / count;
  for (const CopyTeam& team : teams)
    each = std::min(each, count_processors(team.place) / static_cast<int>(std::ranges::count(
                                                             teams, team.place, &CopyTeam::place)));
  return std::max(1, each) * std::max(1, count);
}

class CopyBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "copy"; }

  std::string description() const override {
    return "Copies between the memories of a machine: NUMA nodes, sockets, GPUs, page-locked or "
           "not.";
  }

  std::vector<Example> examples() const override {
    return {{"assay-copy --problem 64M", "copies between all NUMA nodes, each pair alone"},
            {"assay-copy --from every --to every", "all pairs of NUMA nodes at once"}};
  }

  std::vector<Dimension> dimensions() const override {
    Dimension algorithm = dimension::algorithm({"auto", "regular", "nontemporal"});
    algorithm.help = "kind of stores of a processor; auto is regular";
    Dimension bytes = dimension::problem({"65536", "67108864"});
    bytes.flags = {"problem", "bytes"};
    bytes.help =
        "bytes of one buffer (400000, 64K), a range FROM:TO:FACTOR (4K:64M:4), a list, or "
        "LIST/NAME; K, M and G are KiB, MiB and GiB";
    Dimension threads = dimension::threads();
    threads.defaults = {all_processors};
    threads.shown_default = "the processors of the places that copy";
    return {place("from", "read"),
            place("to", "written"),
            make_dimension("direction", "one: from there to there; both: also back, at once",
                           {"one", "both"}, {"one"}, "", "one"),
            dimension::backend("copy", {"native"}),
            algorithm,
            std::move(bytes),
            dimension::cache(),
            std::move(threads),
            make_dimension("copied_by", "the place whose processors copy", {"from", "to"}, {"to"},
                           "", "to"),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    const std::string size = descriptor.starts_with('b') ? descriptor.substr(1) : descriptor;
    return "b" + std::to_string(size_number("--problem", size, most_bytes));
  }

  std::vector<std::string> descriptors(const std::string& text) const override {
    if (text.find(':') == text.npos) return {text};
    std::vector<std::string> sizes;
    for (const std::int64_t size : size_range("--problem", text, most_bytes))
      sizes.push_back(std::to_string(size));
    return sizes;
  }

  std::unique_ptr<Problem> make_problem(Settings& settings, int& threads) const override {
    const std::string& from = settings.at("from");
    const std::string& to = settings.at("to");
    expect_place("from", from);
    expect_place("to", to);
    // Settings that have no effect get one value.
    if (from == every_place) settings["direction"] = "one";
    const bool on_gpu = is_of_gpu(from) || is_of_gpu(to);
    settings["device"] = on_gpu ? "gpu" : "cpu";
    if (on_gpu) {
      settings["threads"] = std::to_string(threads = 1);
      settings["copied_by"] = "to";
    }
    auto problem =
        std::make_unique<CopyProblem>(CopyShape{std::stoll(settings.at("problem").substr(1)), from,
                                                to, settings.at("direction") == "both"},
                                      nodes_here());
    if (threads == 0)
      settings["threads"] =
          std::to_string(threads = default_threads(*problem, settings.at("copied_by") == "to"));
    return problem;
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return make_copy_oracle(problem_cast<CopyProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& copy_benchmark() {
  static const CopyBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
