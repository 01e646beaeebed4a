#include "core/measure/hold.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "core/measure/sampler.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

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

/// Its runs fit into the queue of a device as recordings alone.
class Long final : public testing_fakes::ScriptedWorkload {
 public:
  explicit Long(bool recordable)
      : ScriptedWorkload([](int) { return 0.01; }), recordable_(recordable) {
    scripted().can_hold = true;
    scripted().early = "the queue is full";
  }
  bool record() override {
    ++tries;
    if (recordable_) scripted().early = "";
    return recordable_;
  }
  int tries = 0;

 private:
  testing_fakes::ScriptedStream& scripted() {
    return static_cast<testing_fakes::ScriptedStream&>(stream());
  }
  bool recordable_;
};

TEST(Sampler, RecordsRunsOfOneRankThatNoQueueTakes) {
  for (const int ranks_in_all : {1, 3})
    for (const bool recordable : {true, false})
      testing_fakes::on_threads(ranks_in_all, [&](Communicator& ranks) {
        Long workload(recordable);
        Sampler sampler(workload, ranks);
        for (int run = 0; run < 6; ++run) sampler.once();
        EXPECT_NO_THROW(sampler.settle());
        const bool recorded = recordable && ranks_in_all == 1;
        EXPECT_EQ(sampler.holds(), recorded);
        EXPECT_EQ(sampler.host_included(), recorded ? "" : "the queue is full");
        // A run of several ranks may wait for another rank, which would record nothing.
        EXPECT_EQ(workload.tries, ranks_in_all == 1 ? 1 : 0);
      });
}

}  // namespace test_hold
}  // namespace assay
