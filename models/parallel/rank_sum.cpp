#include "models/parallel/rank_sum.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/measure/run_case.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/device_memory.hpp"
#include "models/ranks.hpp"

namespace assay {

void compare_sums(std::vector<double> terms, const std::vector<double>& sums, DataType type,
                  const std::string& what, Communicator& ranks, Verification& verification) {
  std::vector<double> magnitudes = terms;
  for (double& magnitude : magnitudes) magnitude = std::fabs(magnitude);
  RankCalls calls(ranks);
  calls.sum(terms);
  calls.sum(magnitudes);
  const double u = unit_roundoff(type) * ranks.size();
  verification.checked += std::ssize(sums);
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (!(std::fabs(sums[i] - terms[i]) <= u * magnitudes[i])) {
      ++verification.wrong_elements;
      verification.fail(
          fmt::format("element {} of the sum {} over the ranks is {} (expected {} within {:.2g})",
                      i, what, sums[i], terms[i], u * magnitudes[i]));
    }
}

Call RankSum::call(const Executor& executor, ValueIndex value) {
  const Graph& graph = executor.graph();
  const Buffer all{executor.memory(value).get(), graph.elements(value), graph.value(value).type};
  return {Collective::allreduce, all, all, ReduceOp::sum, 0};
}

void RankSum::prepare(const Executor& executor, ValueIndex value, const std::string& what) {
  if (!on_device_ && !staged_) staged_ = make_staged_for(adding_, executor.device());
  const Call sum = call(executor, value);
  if (const std::string why = adding().why_not(sum); !why.empty())
    throw UnsupportedCase(fmt::format("the ranks cannot add the sums {}: {}", what, why));
  adding().prepare(sum);
}

void RankSum::run(const Executor& executor, ValueIndex value, const std::string& what,
                  Verification* verification) const {
  std::vector<double> terms;
  if (verification != nullptr) terms = read_values(executor, value);
  Stream& stream = executor.device().stream();
  adding().run(call(executor, value), stream);
  stream.wait();
  if (verification != nullptr)
    compare_sums(std::move(terms), read_values(executor, value), executor.graph().value(value).type,
                 what, ranks_, *verification);
}

}  // namespace assay
