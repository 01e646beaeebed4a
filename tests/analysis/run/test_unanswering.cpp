#include "analysis/run/unanswering.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace assay {
namespace {

TEST(Unanswering, NamesTheRanksOfAHostThatCannotBeReached) {
  // The system refuses a connection to a broadcast address as it does one without a route.
  EXPECT_EQ(unanswering_hosts({"255.255.255.255", "127.0.0.1", "255.255.255.255"}),
            "ranks 0, 2 on 255.255.255.255, which does not answer (Network is unreachable)");
  const std::string many =
      unanswering_hosts(std::vector<std::string>(20, std::string("255.255.255.255")));
  EXPECT_EQ(many.substr(0, many.find(" on ")), "ranks 0, … 19 (20 of them)");
}

TEST(Unanswering, SaysNothingOfWhoAnswersOrCannotBeAsked) {
  char here[256] = "";
  ASSERT_EQ(gethostname(here, sizeof here - 1), 0);
  EXPECT_EQ(unanswering_hosts({}), "");
  EXPECT_EQ(unanswering_hosts({here, here}), "");
  EXPECT_EQ(unanswering_hosts({here, "127.0.0.1", "no-such-host.invalid"}), "");
}

}  // namespace
}  // namespace assay
