#include "core/measure/hold.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace assay {
namespace test_hold {

/// A device that begins early for the reasons of a script.
class Early final : public Stream {
 public:
  explicit Early(std::deque<std::string> reasons) : reasons_(std::move(reasons)) {}
  void mark(int) override {}
  void wait() override {}
  double seconds(int, int) const override { return 0; }
  bool hold() override { return ++holds > 0; }
  std::string release() override {
    const std::string reason = reasons_.front();
    reasons_.pop_front();
    return reason;
  }
  int holds = 0;

 private:
  std::deque<std::string> reasons_;
};

void hold_once(Early& device, EarlyBegins& begins) {
  Hold hold(device, !begins.in_vain());
  begins.release(hold);
}

TEST(EarlyBegins, GivesUpAfterTwoInARow) {
  Early device({"first", "", "second", "third", "never asked for"});
  EarlyBegins begins;
  std::vector<std::string> told;
  for (int run = 0; run < 6; ++run) {
    hold_once(device, begins);
    told.push_back(begins.why());
  }
  EXPECT_EQ(told, (std::vector<std::string>{"first", "", "second", "third", "third", "third"}));
  EXPECT_EQ(device.holds, 4);
}

}  // namespace test_hold
}  // namespace assay
