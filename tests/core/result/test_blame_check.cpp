// A table of blame that contradicts itself, or blames others than its numbers do, is refused.

#include "core/result/blame_check.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/measure/blame.hpp"

namespace assay {
namespace test_blame_check {

using nlohmann::json;

/// Two ranks, of which the second is late by a tenth of the time.
json row() {
  Blame blame;
  blame.period = "a test";
  blame.events = blame.runs = 100;
  blame.seconds = 100;
  blame.network_s = 5;
  std::vector<double> arrivals;
  for (int rank = 0; rank < 2; ++rank) {
    Blame::Rank& of = blame.ranks.emplace_back();
    of.rank = rank;
    of.host = "h";
    of.place = "processors " + std::to_string(rank);
    of.compute_s = rank == 1 ? 90 : 80;
    of.processor_s = 80;
    of.wait_s = rank == 1 ? 5 : 15;
    of.ready_s = 0;
  }
  for (int event = 0; event < 100; ++event) {
    arrivals.push_back(event);
    arrivals.push_back(event + 0.1);
  }
  blame.clock_error_s = 1e-5;
  set_costs({arrivals, arrivals}, std::vector<double>{0, 1e-5}, blame);
  judge(blame);
  return {{"parameters", {{"ranks", 2}}}, {"blame", blame}};
}

/// The reason for which a changed row is refused; "" if it is accepted.
std::string said(const std::function<void(json&)>& change) {
  json changed = row();
  change(changed.at("blame"));
  try {
    check_blame(changed, "here");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(BlameCheck, ATableAsItWasMadeIsAccepted) {
  EXPECT_EQ(said([](json&) {}), "");
  json none = row();
  none["blame"] = {{"unsupported", "why"}};
  EXPECT_NO_THROW(check_blame(none, "here"));
  EXPECT_EQ(row().at("blame").at("blamed").size(), 1U);
}

TEST(BlameCheck, WhatContradictsItIsRefused) {
  const auto expect = [](const std::string& words, const std::function<void(json&)>& change) {
    const std::string found = said(change);
    EXPECT_NE(found.find("here/blame/" + words), std::string::npos) << words << ": " << found;
  };
  expect("ranks: 1", [](json& of) { of.at("ranks").erase(1); });
  expect("ranks/1/rank", [](json& of) { of.at("ranks").at(1)["rank"] = 0; });
  expect("ranks/1/cost_s", [](json& of) { of.at("ranks").at(1)["cost_s"] = 50; });
  expect("ranks/1/cost_s", [](json& of) { of.at("ranks").at(1)["compute_s"] = 9; });
  // Rank 0 would have waited for 15 s only.
  expect("ranks/1/cost_s: more than the others waited", [](json& of) {
    of.at("ranks").at(1).update({{"cost_s", 16}, {"low_s", 15.9}, {"high_s", 16.1}});
  });
  expect("runs", [](json& of) { of["runs"] = 101; });
  expect("ranks/1/low_s", [](json& of) {
    of.at("ranks").at(1).update({{"low_s", 10}, {"high_s", 10.0001}, {"cost_s", 10}});
  });
  expect("ranks/0/wait_s", [](json& of) { of.at("ranks").at(0)["wait_s"] = 30; });
  expect("ranks/1/wait_s", [](json& of) { of["network_s"] = 6; });
  expect("ranks/1/last", [](json& of) { of.at("ranks").at(1)["last"] = 101; });
  expect("ranks: more events", [](json& of) { of.at("ranks").at(0)["last"] = 1; });
  expect("resolution", [](json& of) { of["resolution"] = 0.5; });
  expect("undecided", [](json& of) { of["undecided"] = "why"; });
  expect("blamed", [](json& of) { of.at("blamed").at(0)["rank"] = 0; });
  expect("blamed", [](json& of) { of["blamed"] = json::array(); });
  expect("blamed", [](json& of) { of.at("blamed").at(0)["how"] = "it computed longer"; });
  expect("blamed", [](json& of) { of.at("blamed").at(0)["cost"] = 0.2; });
  expect("blamed", [](json& of) { of.at("ranks").at(1)["ready_s"] = 20; });  // a hog's work
}

}  // namespace test_blame_check
}  // namespace assay
