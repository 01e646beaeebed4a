#include "kernels/copy/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"

namespace assay {
namespace {

// Random bits within the precision of fp64. All values are distinct, and none is zero.
constexpr DataType element = DataType::fp64;
constexpr std::int64_t element_bytes = 8;

}  // namespace

CopyProblem::CopyProblem(const CopyShape& shape, const std::vector<std::string>& nodes)
    : shape_(shape) {
  if (shape.bytes <= 0 || shape.bytes % element_bytes != 0)
    throw InputError(fmt::format(
        "a copy of {} bytes is not one of whole 64-bit words. Use a multiple of {} above 0.",
        shape.bytes, element_bytes));
  if ((shape.from == every_place) != (shape.to == every_place))
    throw InputError(fmt::format(
        "cannot copy from {} to {}: {} means from every node to every other one. Give it for both.",
        shape.from, shape.to, every_place));
  if (shape.from != every_place) {
    paths_.emplace_back(shape.from, shape.to);
    if (shape.both) paths_.emplace_back(shape.to, shape.from);
    return;
  }
  for (const std::string& from : nodes)
    for (const std::string& to : nodes)
      if (from != to || nodes.size() == 1) paths_.emplace_back(from, to);
}

nlohmann::json CopyProblem::json() const {
  return {{"buffer_bytes", shape_.bytes}, {"paths", paths_.size()}};
}

std::map<std::string, double> CopyProblem::amounts() const {
  std::map<std::string, double> all = Problem::amounts();
  all["copy_bw"] = copied_bytes();
  return all;
}

std::vector<TensorSpec> CopyProblem::tensors() const {
  std::vector<TensorSpec> all;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto add = [&](const char* what, Role role) {
      all.push_back(plain_tensor(fmt::format("{}{}", what, i), role, element,
                                 {shape_.bytes / element_bytes}));
    };
    add("from", Role::input);
    add("to", Role::output);
  }
  return all;
}

std::vector<CopyTeam> copy_teams(const CopyProblem& problem, bool pulls) {
  const CopyProblem::Paths& paths = problem.paths();
  std::vector<CopyTeam> teams;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& place = pulls ? paths[i].second : paths[i].first;
    // Copies there and back within one place also take two teams.
    auto team = std::find_if(teams.begin(), teams.end(), [&](const CopyTeam& each) {
      return !problem.shape().both && each.place == place;
    });
    if (team == teams.end()) team = teams.insert(team, {place, {}});
    team->paths.push_back(i);
  }
  for (std::size_t i = 0; i < teams.size(); ++i) {
    std::vector<std::size_t>& order = teams[i].paths;
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i % order.size()),
                order.end());
  }
  return teams;
}

}  // namespace assay
