#include <gtest/gtest.h>

#include <boost/property_tree/xml_parser.hpp>
#include <map>
#include <sstream>

#include "analysis/history/history.hpp"

namespace assay {
namespace test_history_junit {

/// A series with a point at 1 s.
RowHistory series(const std::string& id, const std::string& state, const std::string& answer = "",
                  const std::string& gap = "", double gap_time = 2) {
  RowHistory series{id, id.substr(0, id.find('/'))};
  series.verdict.state = state;
  series.verdict.reason = "why <it> is";
  series.points = {{1}};
  if (!answer.empty()) series.confirmation = {answer, "launched"};
  if (!gap.empty()) series.gaps = {{gap_time, "", "", gap, "gap's"}};
  return series;
}

TEST(HistoryJunit, SaysWhatFailed) {
  History history;
  RowHistory behind = series("gemm/behind", "steady", "", "incorrect");
  behind.points[0].when = "2026-03-05T00:00:00Z";  // another clock is ahead
  behind.gaps[0].when = "2026-03-02T00:00:00Z";
  history.series = {behind,
                    series("conv/steady", "steady"),
                    series("conv/short", "too short"),
                    series("conv/slower", "slower"),
                    series("conv/drifting", "drifting"),
                    series("conv/faster", "faster"),
                    series("conv/suspect", "suspect"),
                    series("conv/confirmed", "suspect", "software slower"),
                    series("conv/machine", "suspect", "machine slower"),
                    series("conv/noise", "suspect", "noise"),
                    series("conv/unconfirmed", "suspect", "unconfirmed"),
                    series("gemm/lost", "lost", "", "unsupported"),
                    series("gemm/never", "no result", "", "unsupported"),
                    series("gemm/incorrect", "steady", "", "incorrect"),
                    series("gemm/missed", "steady", "", "target missed"),
                    series("gemm/failed", "steady", "", "failed"),
                    series("gemm/again", "steady", "", "failed", 0.5)};
  boost::property_tree::ptree tree;
  std::istringstream text(render_history_junit(history));
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
                                                    {"gemm/again", ""},
                                                    {"gemm/behind", "failure incorrect"}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(counts,
            (std::map<std::string, std::string>{{"conv", "10 4 1 0"}, {"gemm", "7 4 1 1"}}));
}

}  // namespace test_history_junit
}  // namespace assay
