// Asynchronous steps of ranks that are threads: what is learnt is what the record says, faults of
// messages are found, and a slow worker is waited for or not.

#include "models/parallel/servers_way.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include "comm/forwarding.hpp"
#include "core/base/error.hpp"
#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/trainers.hpp"
#include "tests/models/parallel/way_session.hpp"

namespace assay {
namespace test_servers {

using network_test::plugins;

TrainingRun run_of(const std::string& way, Precision precision = Precision::fp32,
                   UpdateRule rule = UpdateRule::sgd) {
  TrainingRun run;
  run.trainer = network_test::small_settings(precision == Precision::fp64 ? "reference" : "native");
  run.trainer.network = make_resnet({18, 4, 32, 5});
  run.trainer.executor.threads = 1;
  run.trainer.precision = precision;
  run.trainer.learning.rule = rule;
  if (precision == Precision::fp16) run.trainer.loss_scale.kind = LossScaleSettings::Kind::dynamic;
  run.data.data = "learnable:n400v20";
  run.data.classes = 5;
  run.data.input = run.trainer.network.input;
  run.parallel = parse_parallel(way);
  return run;
}

/// One rank.
struct Side : network_test::WaySession {
  Side(const TrainingRun& of, Communicator& ranks) : WaySession(of, ranks, &make_servers_way) {}
  std::string steps(std::int64_t first, std::int64_t count, double rate = 0.05) {
    make(first, count, true, rate);
    return judge().reason;
  }
  std::vector<double> weights() const {
    return read_values(whole->executor(), whole->graph().weights);
  }
};

void expect_replayed(const TrainingRun& run, int ranks_of_test, double rate = 0.05) {
  testing_fakes::on_threads(ranks_of_test, [&](Communicator& ranks) {
    Side side(run, ranks);
    const std::vector<double> before = side.weights();
    EXPECT_EQ(side.steps(0, 3, rate), "") << to_text(run.parallel);
    const std::vector<double> between = side.weights();
    EXPECT_NE(before, between);
    EXPECT_EQ(side.steps(3, 4, rate), "") << to_text(run.parallel);  // from states that moved
    EXPECT_NE(between, side.weights());
    side.way->gather();
    const auto metrics = side.way->metrics();
    const auto workers = static_cast<double>(replicas(run.parallel, ranks.size()));
    if (run.trainer.precision == Precision::fp16)  // its first scale is too large
      EXPECT_GT(metrics.at("gradients_lost").value, 0);
    else
      EXPECT_EQ(metrics.at("gradients_lost").value, 0);
    EXPECT_LE(metrics.at("steps_of_slowest_worker").value, 7);
    EXPECT_GE(metrics.at("steps_of_fastest_worker").value, 7);
    double gradients = 0;
    for (const auto& [name, of] : metrics)
      if (name.starts_with("gradients_of_staleness")) gradients += of.value;
    EXPECT_EQ(gradients, metrics.at("updates_of_parts").value);
    const double servers = run.parallel.kind == WayKind::server
                               ? static_cast<double>(run.parallel.number)
                               : ranks.size();
    EXPECT_EQ(gradients, 7 * workers * servers);
  });
}

TEST(Servers, WhatIsLearntIsReplayedBitByBit) {
  for (const char* way : {"async", "stale:1", "server:1"}) expect_replayed(run_of(way), 3);
  expect_replayed(run_of("server:2"), 4);
  expect_replayed(run_of("stale:2"), 2);
}

TEST(Servers, AlsoInOtherPrecisionsAndByOtherRules) {
  expect_replayed(run_of("async", Precision::bf16), 2);
  expect_replayed(run_of("async", Precision::fp16), 2);
  expect_replayed(run_of("async", Precision::fp64), 2);
  expect_replayed(run_of("server:1", Precision::fp32, UpdateRule::adam), 3, 1e-3);
  expect_replayed(run_of("stale:1", Precision::fp32, UpdateRule::larc), 2);
  expect_replayed(run_of("async", Precision::fp32, UpdateRule::lamb), 2, 1e-3);
  expect_replayed(run_of("async", Precision::fp32, UpdateRule::rmsprop), 2, 1e-3);
}

/// Each worker has masks of its own.
TEST(Servers, AlsoWithDropout) {
  TrainingRun run = run_of("async");
  const NamedNetwork dropping = find_named_network("mlp:w32p25c5");
  run.trainer.network = dropping.family->network(dropping.fields);
  run.data.input = run.trainer.network.input;
  ASSERT_NE(make_training_graph(run.trainer.network, 4, Precision::fp32, {}).passes, Graph::none);
  expect_replayed(run, 3);
}

/// With one worker nothing is stale, and the steps are those of a rank alone.
TEST(Servers, OneWorkerLearnsWhatARankLearnsAlone) {
  std::vector<double> alone;
  const auto serial = make_serial_communicator();
  const TrainingRun run = run_of("server:1");
  const auto trainer = network_test::made(run.trainer, *serial);
  OrderedBatches batches(run, *serial);
  for (std::int64_t step = 0; step < 4; ++step) {
    const Batch& batch = batches.at(0, step);
    trainer->load(batch.images, batch.labels);
    trainer->step(0.05);
  }
  alone = read_values(trainer->executor(), trainer->graph().weights);
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    Side side(run, ranks);
    EXPECT_EQ(side.steps(0, 4), "");
    EXPECT_EQ(side.weights(), alone);
    side.way->gather();
    EXPECT_EQ(side.whole->running_statistics(), trainer->running_statistics());
    EXPECT_EQ(side.way->metrics().at("staleness_max").value, 0);
  });
}

/// Changes messages of one rank.
class Faulty final : public ForwardingCommunicator {
 public:
  enum class Fault {
    none,
    gradient_twice,
    gradient_of_the_step_before,
    changed_weights,
    weights_of_the_version_before
  };
  Faulty(Communicator& under, Fault fault) : ForwardingCommunicator(under), fault_(fault) {}

  Request send(Buffer data, int to, int tag, Stream& stream) override {
    constexpr int of_gradient = 3, of_weights = 5;
    auto& kept = kept_.emplace_back(data.bytes());
    std::memcpy(kept.data(), data.data, data.bytes());
    const bool gradient = tag == of_gradient, weights = tag == of_weights;
    if (gradient) gradients_.push_back(kept_.size() - 1);
    if (fault_ == Fault::gradient_twice && gradient && gradients_.size() == 3)
      data.data = kept_[gradients_[1]].data();
    if (fault_ == Fault::gradient_of_the_step_before && gradient && gradients_.size() >= 2)
      data.data = kept_[gradients_[gradients_.size() - 2]].data();
    if (weights) weights_.push_back(kept_.size() - 1);
    if (fault_ == Fault::weights_of_the_version_before && weights && weights_.size() == 3)
      data.data = kept_[weights_[1]].data();
    if (fault_ == Fault::changed_weights && weights) {
      kept[5] ^= std::byte{1};
      data.data = kept.data();
    }
    return under().send(data, to, tag, stream);
  }

 private:
  Fault fault_;
  std::deque<std::vector<std::byte>> kept_;
  std::vector<std::size_t> gradients_, weights_;
};

TEST(Servers, FaultsOfMessagesAreFound) {
  using Fault = Faulty::Fault;
  for (const auto& [fault, faulty_rank, words] :
       {std::tuple{Fault::none, 0, ""},
        std::tuple{Fault::gradient_twice, 1, "a serial replay of the updates leaves another"},
        std::tuple{Fault::gradient_of_the_step_before, 1, "has made other weights"},
        std::tuple{Fault::changed_weights, 2, "with other weights than version"}})
    testing_fakes::on_threads(
        3, [&, fault = fault, faulty_rank = faulty_rank, words = words](Communicator& ranks) {
          Faulty faulty(ranks, ranks.rank() == faulty_rank ? fault : Fault::none);
          Side side(run_of("server:1"), faulty);
          const std::string why = side.steps(0, 4);
          if (fault == Fault::changed_weights) {  // as seen in records that nobody replays
            EXPECT_THROW(side.way->gather(), WrongResult);
          }
          if (ranks.rank() > 0) return;
          EXPECT_NE(why.find(words), std::string::npos) << why;
          EXPECT_EQ(why.empty(), fault == Fault::none) << why;
        });
}

/// Reads the memory of gradients and weights late: after as many calls as a pass has before its
/// last operations.
class Late final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  Request send(Buffer data, int to, int tag, Stream& stream) override {
    constexpr int of_gradient = 3, of_weights = 5;
    if (tag != of_gradient && tag != of_weights) return under().send(data, to, tag, stream);
    kept_.push_back({data, to, tag, &stream});
    return own_request(kept_.size() - 1);
  }
  bool done(Request& request) override {
    for (Kept& kept : kept_)
      if (!kept.left && ++kept.calls >= calls_before) leave(kept);
    if (!is_own(request)) return under().done(request);
    Kept& kept = kept_[decode_number(request)];
    if (!kept.left || !under().done(kept.request)) return false;
    request = {};
    return true;
  }
  void wait(Request& request) override {
    if (!is_own(request)) return under().wait(request);
    Kept& kept = kept_[decode_number(request)];
    if (!kept.left) leave(kept);
    under().wait(kept.request);
    request = {};
  }

 private:
  static constexpr int calls_before = 300;
  struct Kept {
    Buffer data;
    int to = 0, tag = 0;
    Stream* stream = nullptr;
    int calls = 0;
    bool left = false;
    Request request{};
  };
  void leave(Kept& kept) {
    kept.request = under().send(kept.data, kept.to, kept.tag, *kept.stream);
    kept.left = true;
  }

  std::vector<Kept> kept_;
};

/// Nothing is written where messages still read.
TEST(Servers, MessagesThatLeaveLateHaveWhatWasSent) {
  for (const char* way : {"stale:1", "stale:2", "async", "server:1"})
    testing_fakes::on_threads(3, [&](Communicator& ranks) {
      Late late(ranks);
      Side side(run_of(way), late);
      EXPECT_EQ(side.steps(0, 6), "") << way;
    });
}

/// Sleeps before each operation; between them the rank serves its part.
class Slow final : public NodeObserver {
 public:
  void before(std::size_t) override { std::this_thread::sleep_for(std::chrono::microseconds(500)); }
  void after(std::size_t) override {}
};

/// It compares steps: how long they take is the machine's.
TEST(Servers, ASlowWorkerIsWaitedForOnlyWithABound) {
  for (const char* way : {"async", "server:1", "stale:1"})
    testing_fakes::on_threads(4, [&](Communicator& ranks) {
      Side side(run_of(way), ranks);
      Slow slow;
      if (ranks.rank() == 1) side.whole->executor().observe(&slow);
      EXPECT_EQ(side.steps(0, 6), "");
      const auto metrics = side.way->metrics();
      const double slowest = metrics.at("steps_of_slowest_worker").value,
                   fastest = metrics.at("steps_of_fastest_worker").value,
                   lead = metrics.at("largest_lead_steps").value;
      if (side.run.parallel.kind == WayKind::stale) {
        EXPECT_EQ(slowest, 6);
        EXPECT_EQ(fastest, 6);
        EXPECT_LE(lead, 2);
      } else {
        EXPECT_LT(slowest, 6) << way;
        EXPECT_GT(fastest, 6) << way;
        EXPECT_GT(lead, 2) << way;
      }
    });
}

TEST(Servers, WeightsAreCutAtParameters) {
  const Graph graph = make_training_graph(make_resnet({18, 4, 32, 5}), 1, Precision::fp32, {});
  for (const std::int64_t parts : {1, 2, 3, 7, 62, 1000}) {
    const std::vector<WeightsPart> cut = cut_weights(graph, parts);
    EXPECT_EQ(std::ssize(cut), std::min(parts, std::ssize(graph.parameters)));
    std::int64_t at = 0;
    for (const WeightsPart& part : cut) {
      EXPECT_EQ(part.first, at);
      EXPECT_GT(part.count, 0);
      at += part.count;
      EXPECT_NO_THROW(update_graph(graph, part));
    }
    EXPECT_EQ(at, graph.elements(graph.weights));
  }
  const std::vector<WeightsPart> halves = cut_weights(graph, 2);
  EXPECT_NEAR(static_cast<double>(halves[0].count) / static_cast<double>(halves[1].count), 1, 0.7);
}

TEST(Servers, AChecksumSeesEveryByteAndTheirOrder) {
  std::vector<unsigned char> data(1003);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7);
  const std::uint64_t whole = checksum(data.data(), data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] ^= 16;
    EXPECT_NE(checksum(data.data(), data.size()), whole) << i;
    data[i] ^= 16;
  }
  std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 32);
  EXPECT_NE(checksum(data.data(), data.size()), whole);
  EXPECT_NE(checksum(data.data(), 1002), checksum(data.data(), 1001));
}

/// A version is checked by all bytes, or by pages: one of each 16 with each version, so that 16
/// versions show all.
TEST(Servers, AVersionIsKnownByAllOfItsBytesOrBySomePages) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{40 * 4096 + 5}}) {
    std::vector<std::byte> from(bytes), to(bytes);
    for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 4096);
    for (std::int64_t version = 0; version < 20; ++version) {
      const std::uint64_t all = version_sum(to.data(), from.data(), bytes, version, true),
                          some = version_sum(to.data(), from.data(), bytes, version, false);
      EXPECT_EQ(to, from);
      EXPECT_EQ(version_sum(to.data(), nullptr, bytes, version, true), all);
      EXPECT_EQ(version_sum(to.data(), nullptr, bytes, version, false), some);
    }
    for (std::size_t at = 0; at < bytes; at += 97) {
      to = from;
      to[at] ^= std::byte{1};
      int found = 0;
      for (std::int64_t version = 0; version < 16; ++version) {
        const auto sum = [version, bytes](std::vector<std::byte>& of, bool all) {
          return version_sum(of.data(), nullptr, bytes, version, all);
        };
        EXPECT_NE(sum(to, true), sum(from, true)) << at;
        found += sum(to, false) != sum(from, false) ? 1 : 0;
      }
      EXPECT_EQ(found, bytes < 4096 ? 16 : 1) << at;
    }
  }
}

/// Steps that nobody replays: a worker that reads an earlier version is found by some pages of it.
TEST(Servers, WeightsOfAnotherVersionAreFoundInAllSteps) {
  std::string why;
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    Faulty faulty(ranks, ranks.rank() == 1 ? Faulty::Fault::weights_of_the_version_before
                                           : Faulty::Fault::none);
    Side side(run_of("server:1"), faulty);
    side.make(0, 6, false);
    try {
      side.way->gather();
    } catch (const WrongResult& fault) {
      if (ranks.rank() == 0) why = fault.what();
    }
  });
  EXPECT_NE(why.find("with other weights than version"), std::string::npos) << why;
}

TEST(Servers, WhatDoesNotFitIsRefused) {
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const auto why = [&](const TrainingRun& run) {
      const auto whole = network_test::made(run.trainer, ranks);
      const auto made = make_servers_way({run, plugins(), ranks, *whole});
      const auto* const refusal = std::get_if<Unsupported>(&made);
      return refusal == nullptr ? "" : refusal->reason;
    };
    EXPECT_EQ(why(run_of("async")), "");
    EXPECT_NE(why(run_of("server:2")).find("leaves no rank that trains"), std::string::npos);
    TrainingRun run = run_of("stale:1");
    run.trainer.accumulate = 2;
    EXPECT_NE(why(run).find("--accumulate"), std::string::npos);
    run = run_of("async");
    run.data.data = "generated:n64c5w40h40";
    EXPECT_NE(why(run).find("files"), std::string::npos);
  });
  testing_fakes::on_threads(
      2,
      [&](Communicator& ranks) {
        const TrainingRun run = run_of("async");
        const auto whole = network_test::made(run.trainer, ranks);
        EXPECT_TRUE(
            std::holds_alternative<Unsupported>(make_servers_way({run, plugins(), ranks, *whole})));
      },
      0, false);
}

}  // namespace test_servers
}  // namespace assay
