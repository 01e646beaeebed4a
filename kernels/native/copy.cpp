// Copies between NUMA nodes or sockets, by the threads of one of the two.

#include "kernels/copy/problem.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"
#include "core/machine/placement.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/stream.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::native {
namespace {

class Copying final : public BoundOperation {
 public:
  Copying(const CopyProblem& problem, std::vector<CopyTeam> teams, int threads, bool nontemporal)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        teams_(std::move(teams)),
        threads_(threads),
        nontemporal_(nontemporal) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      arguments_[i].memory = [place = find_place(i)](std::size_t bytes) {
        return memory_at(place, bytes);
      };
    execution_.algorithm = nontemporal ? "nontemporal" : "regular";
    execution_.implementation = fmt::format("highway {}", memory_instructions());
    execution_.storage = execution_.compute = execution_.accumulate =
        std::string(name(arguments_[0].type));
    execution_.layout = "any";
    execution_.evidence = "numerical";
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    for (std::size_t i = 0; i < data_.size(); ++i) bound_.emplace(data_[i], i);
  }

  void run(Stream&) override {
    const std::size_t each = static_cast<std::size_t>(threads_) / teams_.size();
    const auto lines = static_cast<std::size_t>((arguments_[0].elements() + line - 1) / line);
#pragma omp parallel num_threads(threads_)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      const std::size_t begin = lines * (thread % each) / each * line,
                        end = std::min(lines * (thread % each + 1) / each * line,
                                       static_cast<std::size_t>(arguments_[0].elements()));
      for (const std::size_t path : teams_[thread / each].paths)
        if (begin < end)
          move(StreamKernel::copy, nontemporal_, data<const double>(2 * path) + begin, nullptr,
               data<double>(2 * path + 1) + begin, end - begin);
    }
    ran_ = true;
  }

  /// After runs, checks the location of all memory.
  Execution execution() const override {
    if (std::exchange(ran_, false))
      for (const auto& [memory, argument] : bound_)
        if (std::string why = why_not_at(find_place(argument), memory, arguments_[argument].bytes);
            !why.empty())
          throw CaseError(std::move(why) + ": a copy of it is not what was asked for.");
    return execution_;
  }

 private:
  static constexpr std::int64_t line = 8;  ///< elements of a cache line
  const std::string& find_place(std::size_t argument) const {
    const auto& [from, to] = problem_.paths()[argument / 2];
    return argument % 2 == 0 ? from : to;
  }

  CopyProblem problem_;
  std::vector<CopyTeam> teams_;
  int threads_;
  bool nontemporal_;
  std::set<std::pair<void*, std::size_t>> bound_;  ///< memory, and the index of its argument
  mutable bool ran_ = false;
};

Result<std::unique_ptr<Operation>> make_copy(Device&, const Problem& what, const Options& options,
                                             Communicator&) {
  const CopyProblem& problem = problem_cast<CopyProblem>(what);
  const std::vector<std::string> known = list_memory_places();
  for (const auto& [from, to] : problem.paths())
    for (const std::string& place : {from, to})
      if (std::find(known.begin(), known.end(), place) == known.end())
        return Unsupported{fmt::format(
            "native copies between memories of the host that this process may use ({}, not {}).",
            fmt::join(known, ", "), place)};
  const std::string algorithm = options.get("algorithm", "auto");
  if (auto why = refuse_algorithm(options, "native", {"regular", "nontemporal"}, "copies",
                                  "it has regular and nontemporal"))
    return std::move(*why);
  if (problem.paths().empty()) return Unsupported{"the NUMA nodes of this machine are unknown."};
  std::vector<CopyTeam> teams = copy_teams(problem, options.get("copied_by", "to") == "to");
  const auto count = static_cast<int>(teams.size());
  if (options.threads % count != 0)
    return Unsupported{fmt::format(
        "{} places copy at once, to which {} threads cannot be divided evenly. Use --threads {}.",
        count, options.threads, (options.threads / count + 1) * count)};
  std::vector<std::string> places;
  for (const CopyTeam& team : teams)
    places.insert(places.end(), static_cast<std::size_t>(options.threads / count), team.place);
  if (auto why = why_not_spread(places)) return Unsupported{std::move(*why)};
  return std::make_unique<Copying>(problem, std::move(teams), options.threads,
                                   algorithm == "nontemporal");
}

const Maker add_copy{makers(), problem_kind<CopyProblem>(), &make_copy, {"regular", "nontemporal"}};

}  // namespace
}  // namespace assay::native
