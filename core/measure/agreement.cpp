#include "core/measure/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace assay {

Agreement::Agreement(const std::string& mine, Communicator& ranks)
    : ranks_(ranks), findings_(ranks.allgather(mine)) {
  const auto first = std::find_if(findings_.begin(), findings_.end(),
                                  [](const std::string& text) { return !text.empty(); });
  first_ = static_cast<std::size_t>(first - findings_.begin());
}

bool Agreement::all() const {
  return std::none_of(findings_.begin(), findings_.end(),
                      [](const std::string& text) { return text.empty(); });
}

std::string Agreement::place() const {
  return fmt::format("rank {} on {}", first_, ranks_.allgather(ranks_.host()).at(first_));
}

std::string Agreement::describe() const {
  if (std::count(findings_.begin(), findings_.end(), text()) == std::ssize(findings_))
    return text();  // nothing, or the same, on all ranks
  return fmt::format("{}: {}", place(), text());
}

std::vector<double> allgather_numbers(double mine, Communicator& ranks) {
  // Each element is set by one rank only, so the maximum is its number.
  std::vector<double> numbers(static_cast<std::size_t>(ranks.size()),
                              std::numeric_limits<double>::lowest());
  numbers[static_cast<std::size_t>(ranks.rank())] = mine;
  ranks.allreduce_max(numbers);
  return numbers;
}

std::vector<nlohmann::json> allgather_json(const nlohmann::json& mine, Communicator& ranks) {
  using nlohmann::json;
  std::vector<json> all;
  for (const std::string& text :
       ranks.allgather(mine.dump(-1, ' ', false, json::error_handler_t::replace)))
    all.push_back(json::parse(text));
  return all;
}

}  // namespace assay
