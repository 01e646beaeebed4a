#include <gtest/gtest.h>

#include <boost/property_tree/xml_parser.hpp>
#include <map>
#include <sstream>

#include "analysis/history/history.hpp"

namespace assay {
namespace {

using nlohmann::json;

json series(const std::string& id, const std::string& state, const json& confirmation = nullptr,
            const std::string& gap = "", const std::string& gap_time = "2026-03-02T00:00:00Z") {
  json made = {{"id", id},
               {"benchmark", id.substr(0, id.find('/'))},
               {"state", state},
               {"reason", "why <it> is"},
               {"points", json::array({{{"time", "2026-03-01T00:00:00Z"}}})},
               {"gaps", json::array()}};
  if (!confirmation.is_null()) made["confirmation"] = confirmation;
  if (!gap.empty())
    made["gaps"].push_back({{"time", gap_time}, {"status", gap}, {"reason", "gap's"}});
  return made;
}

json answer(const std::string& text) { return {{"answer", text}, {"reason", "launched"}}; }

TEST(HistoryJunit, SaysWhatFailed) {
  const json document = {
      {"series",
       {series("conv/steady", "steady"), series("conv/short", "too short"),
        series("conv/slower", "slower"), series("conv/drifting", "drifting"),
        series("conv/faster", "faster"), series("conv/suspect", "suspect"),
        series("conv/confirmed", "suspect", answer("software slower")),
        series("conv/machine", "suspect", answer("machine slower")),
        series("conv/noise", "suspect", answer("noise")),
        series("conv/unconfirmed", "suspect", answer("unconfirmed")),
        series("gemm/lost", "lost", nullptr, "unsupported"),
        series("gemm/never", "no result", nullptr, "unsupported"),
        series("gemm/incorrect", "steady", nullptr, "incorrect"),
        series("gemm/missed", "steady", nullptr, "target missed"),
        series("gemm/failed", "steady", nullptr, "failed"),
        series("gemm/again", "steady", nullptr, "failed", "2026-02-01T00:00:00Z")}}};
  boost::property_tree::ptree tree;
  std::istringstream text(history_junit(document));
  boost::property_tree::read_xml(text, tree);
  std::map<std::string, std::string> found;
  std::map<std::string, std::string> counts;
  for (const auto& [tag, suite] : tree.get_child("testsuites")) {
    counts[suite.get<std::string>("<xmlattr>.name")] =
        suite.get<std::string>("<xmlattr>.tests") + " " +
        suite.get<std::string>("<xmlattr>.failures") + " " +
        suite.get<std::string>("<xmlattr>.errors") + " " +
        suite.get<std::string>("<xmlattr>.skipped");
    for (const auto& [name, test] : suite) {
      if (name != "testcase") continue;
      std::string& outcome = found[test.get<std::string>("<xmlattr>.name")];
      for (const char* part : {"failure", "error", "skipped"})
        if (const auto inner = test.get_child_optional(part))
          outcome = part + (" " + inner->get<std::string>("<xmlattr>.type", ""));
    }
  }
  const std::map<std::string, std::string> expected{{"conv/steady", ""},
                                                    {"conv/short", ""},
                                                    {"conv/slower", "failure slower"},
                                                    {"conv/drifting", "failure drifting"},
                                                    {"conv/faster", ""},
                                                    {"conv/suspect", ""},
                                                    {"conv/confirmed", "failure software slower"},
                                                    {"conv/machine", "failure machine slower"},
                                                    {"conv/noise", ""},
                                                    {"conv/unconfirmed", "error unconfirmed"},
                                                    {"gemm/lost", "failure lost"},
                                                    {"gemm/never", "skipped "},
                                                    {"gemm/incorrect", "failure incorrect"},
                                                    {"gemm/missed", "failure target missed"},
                                                    {"gemm/failed", "error failed"},
                                                    {"gemm/again", ""}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(counts,
            (std::map<std::string, std::string>{{"conv", "10 4 1 0"}, {"gemm", "6 3 1 1"}}));
}

}  // namespace
}  // namespace assay
