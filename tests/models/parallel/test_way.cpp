#include "models/parallel/way.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace assay {
namespace test_way {

TEST(Way, IsReadAndWritten) {
  for (const char* text :
       {"sync", "stale:1", "stale:12", "async", "server:3", "pipeline:2", "pipeline:4:fill-drain",
        "split:2", "split:2*sync", "pipeline:2*sync", "pipeline:2:fill-drain*sync"})
    EXPECT_EQ(to_text(parse_parallel(text)), text);
  EXPECT_EQ(to_text(parse_parallel("pipeline:2:1f1b")), "pipeline:2");
}

TEST(Way, OthersAreRefused) {
  for (const char* text : {"",
                           "asynk",
                           "async:2",
                           "sync:",
                           "stale",
                           "stale:0",
                           "stale:x",
                           "stale:-1",
                           "server:0",
                           "server:",
                           "pipeline:1",
                           "pipeline:2:",
                           "pipeline:2:gpipe",
                           "split:1",
                           "split:2:1f1b",
                           "stale:1:1f1b",
                           "*sync",
                           "sync*sync",
                           "stale:1*sync",
                           "split:2*async",
                           "split:2*sync*sync",
                           "split:2*"})
    EXPECT_THROW(parse_parallel(text), InputError) << text;
}

TEST(Way, SaysWhoHasSamples) {
  EXPECT_EQ(replicas(parse_parallel("sync"), 4), 4);
  EXPECT_EQ(replicas(parse_parallel("async"), 4), 4);
  EXPECT_EQ(replicas(parse_parallel("server:1"), 4), 3);
  EXPECT_EQ(replicas(parse_parallel("server:4"), 4), 1);  // refused later
  EXPECT_EQ(replicas(parse_parallel("pipeline:4"), 4), 1);
  EXPECT_EQ(replicas(parse_parallel("split:2*sync"), 4), 2);
  EXPECT_EQ(replicas(parse_parallel("pipeline:2*sync"), 6), 3);
}

}  // namespace test_way
}  // namespace assay
