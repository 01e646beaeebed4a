// The timing loop records arrivals beside the samples: neither their energy nor their time has the
// messages that compare clocks, and a job that tells no arrivals says so.

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <utility>

#include "comm/forwarding.hpp"
#include "core/api/host_device.hpp"
#include "core/measure/clock_offset.hpp"
#include "core/measure/timing.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_blame_timing {

constexpr double run_s = 5e-3;

/// A counter of a host, which rises by a watt, and by all that is spent.
class SpentAtOnce final : public EnergyMeter {
 public:
  SpentAtOnce() : EnergyMeter({{"package-0"}}) {}
  void spend(double joules) {
    const std::lock_guard lock(mutex_);
    joules_ += joules;
  }
  std::vector<double> read() const override {
    const std::lock_guard lock(mutex_);
    return {joules_ + 1e-3 * std::floor(1e3 * raw_seconds())};
  }

 private:
  mutable std::mutex mutex_;
  double joules_ = 0;
};

/// A device that is not the host, with the host's memory.
class FakeGpu final : public Device {
 public:
  explicit FakeGpu(bool tells) : tells_(tells) {}
  std::string name() const override { return "gpu"; }
  Stream& stream() override { return host_.stream(); }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override { return host_.allocate(spec); }
  void put(Tensor& tensor, const Source& source) override { host_.put(tensor, source); }
  void get(Tensor& tensor, const Sink& sink) override { host_.get(tensor, sink); }
  std::size_t memory_available() const override { return host_.memory_available(); }
  std::size_t cache_bytes() const override { return host_.cache_bytes(); }
  std::optional<DeviceHealth> health() override {
    if (!tells_) return std::nullopt;
    return DeviceHealth{"GPU 0000:1b:00.0"};
  }

 private:
  HostDevice host_;
  bool tells_;
};

/// Steps that end with a collective, to which no rank is late.
class Steps final : public testing_fakes::ScriptedWorkload {
 public:
  explicit Steps(ArrivalSource source, EnergyMeter* meter = nullptr, Device* device = nullptr)
      : ScriptedWorkload(nullptr), source_(std::move(source)), meter_(meter), device_(device) {}
  Stream& stream() override { return clock_; }
  Device* device() override { return device_; }
  Result<EnergyMeter*> energy_meter() override {
    if (meter_ == nullptr) return Unsupported{"nothing counts it"};
    return meter_;
  }
  ArrivalSource arrival_source() const override { return source_; }
  std::vector<Arrival> take_arrivals() override { return std::exchange(arrivals_, {}); }
  void run(Stream&) override {
    const double begun = raw_seconds();
    while (raw_seconds() < begun + run_s) {
    }
    arrivals_.push_back({begun, begun + run_s, 0, 0, 0, 1e-4, run_s});
  }

 private:
  ArrivalSource source_;
  EnergyMeter* meter_;
  Device* device_;
  HostStream clock_;
  std::vector<Arrival> arrivals_;
};

/// Messages that take much energy.
class DearMessages final : public ForwardingCommunicator {
 public:
  DearMessages(Communicator& under, SpentAtOnce& meter)
      : ForwardingCommunicator(under), meter_(meter) {}
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    ++sent;
    meter_.spend(1e6);
    return under().send(data, to, tag, stream);
  }
  int sent = 0;

 private:
  SpentAtOnce& meter_;
};

TEST(BlameTiming, TheEnergyOfSamplesIsWithoutTheMessagesThatCompareClocks) {
  for (int tries = 0; tries < 20; ++tries) {
    bool known = false;
    testing_fakes::on_threads(
        2,
        [&](Communicator& ranks) {
          SpentAtOnce meter;
          DearMessages dear(ranks, meter);
          Steps steps({ArrivalSource::Kind::steps}, &meter);
          const Timing timing = measure(steps, dear, {0.4, 0, 10, 1000});
          EXPECT_GE(dear.sent, 40);
          ASSERT_TRUE(timing.blame);
          EXPECT_EQ(timing.blame->unsupported, "");
          EXPECT_EQ(timing.blame->period, "the timed steps");
          if (ranks.rank() > 0 || !timing.energy.reason.empty()) return;  // on a busy machine
          known = true;
          for (const auto& [domain, joules] : timing.energy.joules) EXPECT_LT(joules, 100);
        },
        1);
    if (known || ::testing::Test::HasFailure()) return;
  }
  GTEST_SKIP() << "the machine is too busy: the energy of its samples is never known";
}

Blame blame_of(const ArrivalSource& source, Device* device = nullptr) {
  Blame found;
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    Steps steps(source, nullptr, device);
    const Timing timing = measure(steps, ranks, {0.05, 0, 3, 4});
    EXPECT_TRUE(timing.blame);
    if (ranks.rank() == 0 && timing.blame) found = *timing.blame;
  });
  return found;
}

TEST(BlameTiming, JobsWithoutArrivalsSayWhy) {
  EXPECT_EQ(blame_of({}).unsupported, "its runs do not tell when ranks come to a collective");
  EXPECT_EQ(blame_of({{}, "with a lag"}).unsupported, "with a lag");
}

TEST(BlameTiming, APlaceIsTheDevicesAddressWhereItIsTold) {
  for (const bool tells : {true, false}) {
    FakeGpu gpu(tells);
    const Blame blame = blame_of({ArrivalSource::Kind::steps}, &gpu);
    EXPECT_FALSE(blame.on_host);
    ASSERT_EQ(blame.ranks.size(), 2U);
    EXPECT_EQ(blame.ranks[0].place, tells ? "GPU 0000:1b:00.0" : "gpu");
  }
}

}  // namespace test_blame_timing
}  // namespace assay
