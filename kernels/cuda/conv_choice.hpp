#pragma once
// The ways in which cuDNN can compute a convolution, and the choice among them.

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"
#include "kernels/cuda/conv_form.hpp"

namespace assay::cuda {

struct ConvRequest {
  CudnnDevice& place;
  const ConvProblem& problem;
  const ConvForm& form;
  std::string algorithm, what;  ///< the requested algorithm, and the rest of the request
  Communicator& ranks;
  bool timed = false;  ///< times the operation, by events if its kernels cannot be recorded
  std::string text() const { return algorithm + ' ' + what; }
};

using OperationResult = Result<std::unique_ptr<Operation>>;

/// An operation of this algorithm of the older interface that has run once; or why there is none.
OperationResult by_algorithm(const ConvRequest& conv_request, int algorithm);

/// The best operation among the first algorithm of the older interface (if `older`) and the first
/// plans of each of `graphs`. This is a collective: all ranks call it and choose the same
/// operation, by the longest durations over the ranks. Durations are those of recorded kernels, or
/// else of events. Execution::numbers tells how many operations were compared ("chosen_by_trace",
/// "chosen_by_events"). Equal requests of a process get the choice of the first one; a request for
/// one of its `graphs` alone gets the best plan of this graph.
OperationResult choose_best(const ConvRequest& conv_request, bool older,
                            const std::vector<std::string>& graphs);

/// The result of `make` if it succeeds on all ranks. If it is Unsupported or throws on one rank, it
/// does so on all: otherwise the ranks with a result would continue, and wait for the others in
/// their next collective.
template <class Make>
auto on_all(Communicator& ranks, const Make& make) -> decltype(make()) {
  decltype(make()) result = Unsupported{};
  std::exception_ptr failure;
  double state = 1;  // 2: it throws, 1: Unsupported, 0: made
  std::string why;
  try {
    result = make();
    if (const auto* const refusal = std::get_if<Unsupported>(&result))
      why = refusal->reason;
    else
      state = 0;
  } catch (const std::exception& error) {
    failure = std::current_exception();
    state = 2;
    why = error.what();
  }
  double worst = state;
  ranks.allreduce_max(std::span(&worst, 1));
  if (worst == 0) return result;
  const std::vector<std::string> all = ranks.allgather(state == worst ? why : "");
  if (failure) std::rethrow_exception(failure);
  if (state < worst) {
    const auto first_failure =
        std::ranges::find_if(all, [](const std::string& reason) { return !reason.empty(); });
    why = fmt::format("rank {}: {}", first_failure - all.begin(),
                      first_failure == all.end() ? "failed" : *first_failure);
  }
  if (worst == 2) throw CaseError(why);
  return Unsupported{std::move(why)};
}

}  // namespace assay::cuda
