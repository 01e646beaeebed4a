#pragma once
// Checks that a reader refuses each parameter of a benchmark's rows that is not the one of the id.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/program/allocator.hpp"
#include "core/program/suite.hpp"
#include "core/result/row_identity.hpp"
#include "result_fixture.hpp"

namespace assay::fixture {

/// A row of `settings` as the program of a benchmark writes it.
inline nlohmann::json row_of(const Benchmark& benchmark, const Settings& settings,
                             const Problem* problem) {
  Case selected;
  selected.settings = settings;
  selected.id = make_id(benchmark.name(), all_dimensions(benchmark), settings);
  selected.id_form = make_id_form(benchmark.name(), all_dimensions(benchmark));
  selected.system_parameters = system_parameters(all_dimensions(benchmark));
  Outcome outcome;
  outcome.status = "unsupported";
  outcome.reason = "why";
  return make_row(benchmark.name(), selected, problem, outcome, 0, 0, 0, 1, 1);
}

inline std::string identity_of(const nlohmann::json& row) {
  return message_of([&] { check_identity(row, "x at /rows/0"); });
}

/// Changes each parameter of the benchmark's cases, as they are by default and with another value
/// of each axis that an id may leave out.
inline void expect_parameters_judged(const Benchmark& benchmark,
                                     std::map<std::string, std::vector<std::string>> chosen = {}) {
  const std::vector<Dimension> axes = all_dimensions(benchmark);
  Plugins plugins;
  const Case made = expand(benchmark, chosen, plugins).at(0);
  const std::shared_ptr<const Problem> problem = benchmark.problem(made);
  Settings other = made.settings;
  for (const Dimension& axis : axes)
    if (axis.traits.in_id && !axis.omit.empty()) other[axis.name] = "a/1/other";
  for (const Settings& settings : {made.settings, other}) {
    const nlohmann::json row = row_of(benchmark, settings, problem.get());
    ASSERT_EQ(identity_of(row), "accepted") << row["id"];
    for (const Dimension& axis : axes) {
      if (axis.name == "problem" || !axis.field.empty()) continue;  // no parameters of a row
      for (const std::string& value : {std::string("another"), std::string("a"), axis.omit}) {
        if (value == settings.at(axis.name)) continue;
        nlohmann::json spoilt = row;
        spoilt["parameters"][axis.name] = value;
        if (axis.traits.in_id)
          EXPECT_SAYS(identity_of(spoilt), "/parameters/" + axis.name + ": found") << row["id"];
        else
          EXPECT_EQ(identity_of(spoilt), "accepted") << axis.name;
      }
    }
    nlohmann::json spoilt = row;
    spoilt["problem"]["descriptor"] = "another";
    EXPECT_SAYS(identity_of(spoilt), "/problem/descriptor: found");
    spoilt = row;
    spoilt["parameters"]["added"] = 1;
    EXPECT_SAYS(identity_of(spoilt), "/parameters/added: found 1");
  }
}

}  // namespace assay::fixture
