// Records of asynchronous steps, right and faulty ones.

#include "models/parallel/record.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace assay {
namespace test_record {

constexpr std::int64_t workers = 2, servers = 2, steps = 3;

AsyncClaims claims(std::optional<std::int64_t> bound = std::nullopt) {
  return {workers, servers, {0, 0}, {0.4, 0.2, 0.1}, bound};
}

std::uint64_t sum_of(std::int64_t server, std::int64_t version) {
  return static_cast<std::uint64_t>(100 * server + version);
}

/// Both workers make their steps in turn, and each reads what there is before its step: the weights
/// with both gradients of the step before. Then staleness is 0 and 1.
AsyncRecord in_turn() {
  AsyncRecord record;
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      record.taken.push_back({worker, step, step * workers + worker});
      for (std::int64_t server = 0; server < servers; ++server) {
        const std::int64_t base = step * workers, version = base + worker + 1;
        const ReadPart read{server, worker, base, sum_of(server, base), step};
        record.received.push_back(read);
        if (step > 0) record.sent.push_back(read);
        record.applied.push_back({server, worker, step, base, version,
                                  claims().rates[static_cast<std::size_t>(step)] / workers, 1, 1});
      }
    }
  return record;
}

/// Worker 1 has made all steps before worker 0 makes its first.
AsyncRecord ahead() {
  AsyncRecord record;
  std::int64_t version[] = {0, 0}, read[] = {0, 0}, next[] = {0, 0};
  for (const int worker : {1, 1, 1, 0, 0, 0}) {
    const std::int64_t step = next[worker]++;
    record.taken.push_back({worker, step, step * workers + worker});
    for (std::int64_t server = 0; server < servers; ++server) {
      const ReadPart of{server, worker, read[worker], sum_of(server, read[worker]), step};
      record.received.push_back(of);
      if (step > 0) record.sent.push_back(of);
      record.applied.push_back({server, worker, step, read[worker], ++version[server],
                                claims().rates[static_cast<std::size_t>(step)] / workers, 1, 1});
    }
    read[worker] = version[0];
  }
  return record;
}

TEST(Record, OfRightStepsHasNoFault) {
  EXPECT_EQ(find_fault_of_record(in_turn(), claims()), "");
  EXPECT_EQ(find_fault_of_record(in_turn(), claims(1)), "");
  EXPECT_EQ(find_fault_of_record(ahead(), claims()), "");
  EXPECT_EQ(find_fault_of_record(ahead(), claims(3)), "");
}

TEST(Record, AReadBeyondTheBoundIsFound) {
  const std::string why = find_fault_of_record(ahead(), claims(1));
  EXPECT_NE(why.find("lacks the gradient of step 0 of worker 0"), std::string::npos) << why;
}

TEST(Record, FaultsAreFound) {
  const auto of = [](AsyncRecord& record, std::int64_t server, std::int64_t worker,
                     std::int64_t step) -> AppliedGradient& {
    for (AppliedGradient& applied : record.applied)
      if (applied.server == server && applied.worker == worker && applied.step == step)
        return applied;
    throw std::logic_error("no such gradient");
  };
  const std::vector<std::pair<const char*, std::function<void(AsyncRecord&)>>> faults{
      {"has applied 2 gradients of worker 1, which made 3",  // a server that skips an update
       [](AsyncRecord& record) { record.applied.pop_back(); }},
      {"where step 2 follows",  // a gradient that is used twice
       [&](AsyncRecord& record) { of(record, 1, 0, 2).step = 1; }},
      {"has made version 4", [&](AsyncRecord& record) { of(record, 0, 0, 1).version = 4; }},
      {"as one of version 1, which the worker did not have",
       [&](AsyncRecord& record) { of(record, 0, 1, 1).base = 1; }},
      {"with the rate 0.1, not 0.2", [&](AsyncRecord& record) { of(record, 1, 1, 0).rate = 0.1; }},
      {"worker 99 has taken batch", [](AsyncRecord& record) { record.taken[0].worker = 99; }},
      {"a server -1 has sent", [](AsyncRecord& record) { record.sent[0].server = -1; }},
      {"a server -1 was read", [](AsyncRecord& record) { record.received[0].server = -1; }},
      {"batch 0 was taken 2 times", [](AsyncRecord& record) { record.taken[1].ticket = 0; }},
      {"where step 1 follows", [](AsyncRecord& record) { record.taken[2].step = 2; }},
      {"has begun step 1 with other weights than version 2",
       [](AsyncRecord& record) { record.received[5].checksum += 1; }},
      {"which was not sent to it",
       [](AsyncRecord& record) { record.sent.erase(record.sent.begin() + 1); }},
      {"twice", [](AsyncRecord& record) { record.received.push_back(record.received.back()); }},
      {"with different weights",
       [](AsyncRecord& record) {
         record.sent.back().checksum += 1;
         record.received.back().checksum += 1;
       }},
      {"lacks the gradient of step 0 of worker 0",  // of its own
       [&](AsyncRecord& record) {
         for (std::vector<ReadPart>* const reads : {&record.sent, &record.received})
           for (ReadPart& read : *reads)
             if (read.worker == 0 && read.step == 1 && read.server == 0) {
               read.version = 0;
               read.checksum = sum_of(0, 0);
             }
         of(record, 0, 0, 1).base = 0;
       }},
  };
  for (const auto& [words, make] : faults) {
    AsyncRecord record = in_turn();
    make(record);
    const std::string why = find_fault_of_record(record, claims());
    EXPECT_NE(why.find(words), std::string::npos) << words << ": " << why;
  }
}

TEST(Record, StalenessIsCounted) {
  Staleness found;
  found.add(in_turn(), claims());
  EXPECT_EQ(found.counts, (std::vector<double>{6, 6}));
  EXPECT_EQ(found.lead, 1);
  EXPECT_EQ(found.updates, 12);
  found = {};
  AsyncRecord record = ahead();
  record.applied.back().finite = 0;
  found.add(record, claims());
  EXPECT_EQ(found.lead, 3);
  EXPECT_EQ(found.lost, 1);
  EXPECT_EQ(found.steps, (std::vector<double>{3, 3}));
  // Worker 0's first gradient comes three updates after its weights.
  EXPECT_EQ(found.counts, (std::vector<double>{10, 0, 0, 2}));
}

}  // namespace test_record
}  // namespace assay
