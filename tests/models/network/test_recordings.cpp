// Work that a stream may record.

#include "models/network/recordings.hpp"

#include <gtest/gtest.h>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_recordings {

/// Counts what is submitted to it, directly and by recordings.
class RecordingStream final : public Stream {
 public:
  void mark(int) override {}
  void wait() override {
    if (records_) throw CaseError("waits while the stream records");
  }
  double seconds(int, int) const override { return 0; }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    struct Replay final : Recording {
      int& count;
      explicit Replay(int& counted) : count(counted) {}
      void submit() override { ++count; }
    };
    records_ = true;
    try {
      work();
    } catch (...) {
      records_ = false;
      throw;
    }
    records_ = false;
    ++made;
    return std::make_unique<Replay>(replayed);
  }
  void operation() {
    if (!records_) ++direct;
  }

  int direct = 0, made = 0, replayed = 0;

 private:
  bool records_ = false;
};

TEST(Recordings, AreMadeOfWarmWorkAndOnce) {
  RecordingStream stream;
  Recordings all;
  const auto work = [&] { stream.operation(); };
  all.run(1, stream, false, work);
  EXPECT_EQ(stream.direct, 1);
  EXPECT_FALSE(all.has(1));
  for (int i = 0; i < 3; ++i) all.run(1, stream, true, work);
  EXPECT_EQ(stream.direct, 1);
  EXPECT_EQ(stream.made, 1);
  EXPECT_EQ(stream.replayed, 3);
  all.run(2, stream, true, work);
  EXPECT_EQ(stream.made, 2);
  EXPECT_TRUE(all.has(1));
  EXPECT_TRUE(all.has(2));
  all.forget();
  all.run(1, stream, true, work);
  EXPECT_EQ(stream.made, 3);
  EXPECT_EQ(all.refusal(), "");
}

TEST(Recordings, WorkThatCannotBeRecordedIsSubmittedDirectly) {
  RecordingStream stream;
  Recordings all;
  for (int i = 0; i < 3; ++i)
    all.run(1, stream, true, [&] {
      stream.operation();
      stream.wait();
    });
  EXPECT_EQ(stream.direct, 3);
  EXPECT_FALSE(all.has(1));
  EXPECT_EQ(all.refusal(), "waits while the stream records");
}

TEST(Recordings, AHostMakesNone) {
  HostStream stream;
  Recordings all;
  int runs = 0;
  for (int i = 0; i < 3; ++i) all.run(1, stream, true, [&] { ++runs; });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(all.refusal(), "");
}

}  // namespace test_recordings
}  // namespace assay
