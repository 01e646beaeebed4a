// The copy benchmark: what it counts, the places it knows, and the native backend against its
// oracle.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/test_paths.hpp"
#include "core/api/backend.hpp"
#include "core/base/error.hpp"
#include "core/machine/placement.hpp"
#include "core/measure/workload.hpp"
#include "core/program/plugins.hpp"
#include "kernels/copy/benchmark.hpp"
#include "kernels/copy/problem.hpp"

namespace assay {
namespace test_copy {

CopyProblem problem(const std::string& from, const std::string& to, bool both = false,
                    const std::vector<std::string>& nodes = {"numa0", "numa1", "numa2"}) {
  return {{4096, from, to, both}, nodes};
}

TEST(CopyProblem, CountsEachPathOnceAndItsBytesTwice) {
  EXPECT_EQ(problem("numa0", "numa1").bytes(), 2 * 4096);
  EXPECT_EQ(problem("numa0", "numa1").amounts().at("copy_bw"), 4096);
  EXPECT_EQ(problem("numa0", "numa1", true).amounts().at("copy_bw"), 2 * 4096);
  EXPECT_EQ(problem("every", "every").amounts().at("copy_bw"), 6 * 4096);
  EXPECT_EQ(problem("every", "every", false, {"numa0"}).amounts().at("copy_bw"), 4096);
  EXPECT_EQ(problem("numa0", "numa1", true).json().at("paths"), 2);
}

TEST(CopyProblem, BothDirectionsAndEveryPairHavePathsOfTheirOwn) {
  using Paths = CopyProblem::Paths;
  EXPECT_EQ(problem("numa0", "gpu1", true).paths(), (Paths{{"numa0", "gpu1"}, {"gpu1", "numa0"}}));
  EXPECT_EQ(problem("every", "every", false, {"numa0", "numa1"}).paths(),
            (Paths{{"numa0", "numa1"}, {"numa1", "numa0"}}));
  std::set<std::string> names;
  for (const TensorSpec& spec : problem("every", "every").tensors()) names.insert(spec.name);
  EXPECT_EQ(names.size(), 12U);  // all have data of their own
}

TEST(CopyProblem, RefusesSizesAndPlacesThatAreNone) {
  EXPECT_THROW(CopyProblem({0, "numa0", "numa0", false}, {}), InputError);
  EXPECT_THROW(CopyProblem({12, "numa0", "numa0", false}, {}), InputError);
  EXPECT_THROW(CopyProblem({8, "every", "numa0", false}, {}), InputError);
  for (const char* place : {"numa", "numa-1", "node0", "socketx", ""}) {
    Settings settings{{"from", "numa0"},     {"to", place},      {"direction", "one"},
                      {"backend", "native"}, {"cache", "hot"},   {"threads", "1"},
                      {"problem", "b4096"},  {"copied_by", "to"}};
    EXPECT_THROW(make_case(copy_benchmark(), settings), InputError) << place;
  }
}

TEST(MemoryPlaces, MemoryLiesWhereItWasAskedFor) {
  ASSERT_FALSE(list_memory_places().empty());
  for (const std::string& place : list_memory_places()) {
    const auto memory = memory_at(place, 3 << 20);
    EXPECT_EQ(why_not_at(place, memory.get(), 3 << 20), "") << place;
    for (const std::string& other : list_memory_places())
      if (other != place && other.starts_with("numa") && place.starts_with("numa")) {
        EXPECT_NE(why_not_at(other, memory.get(), 3 << 20), "") << place << " " << other;
      }
  }
  EXPECT_THROW(memory_at("numa4711", 8), InputError);
  EXPECT_TRUE(why_not_spread(std::vector<std::string>(100000, list_memory_places()[0])));
  EXPECT_FALSE(why_not_spread({list_memory_places()[0]}));
  EXPECT_FALSE(why_not_placed({}, 1));
}

Result<std::unique_ptr<Workload>> prepare(const Settings& given) {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  Settings settings{{"from", "numa0"},     {"to", "numa0"},   {"direction", "one"},
                    {"backend", "native"}, {"cache", "hot"},  {"threads", "1"},
                    {"algorithm", "auto"}, {"problem", "b8"}, {"copied_by", "to"}};
  for (const auto& [name, value] : given) settings[name] = value;
  CaseContext context{plugins, *ranks};
  return copy_benchmark().prepare(make_case(copy_benchmark(), settings), context);
}

void verify(const Settings& given) {
  std::string what;
  for (const auto& [name, value] : given) what += name + "=" + value + " ";
  auto made = prepare(given);
  const auto* no = std::get_if<Unsupported>(&made);
  ASSERT_EQ(no, nullptr) << what << no->reason;
  auto& workload = *std::get<std::unique_ptr<Workload>>(made);
  const Verification before = workload.verify_before();
  ASSERT_TRUE(before.passed) << what << before.reason;
  ASSERT_TRUE(before.exact) << what;
  EXPECT_EQ(before.checked % (std::stoll(given.at("problem").substr(1)) / 8), 0) << what;
  EXPECT_EQ(before.checked, before.outputs) << what;
  for (int i = 0; i < 3; ++i) {
    workload.reset();
    workload.run(workload.stream());
  }
  const Verification after = workload.verify_after();
  ASSERT_TRUE(after.passed) << what << after.reason;
}

TEST(NativeCopy, EveryWayAtEverySize) {
  const std::string last = list_memory_places().back();
  for (const char* bytes : {"b8", "b64", "b4104", "b1000000"})
    for (const char* by : {"from", "to"})
      for (const char* algorithm : {"regular", "nontemporal"}) {
        verify({{"problem", bytes}, {"copied_by", by}, {"algorithm", algorithm}, {"to", last}});
        verify({{"problem", bytes},
                {"copied_by", by},
                {"algorithm", algorithm},
                {"direction", "both"},
                {"threads", "2"}});
        const std::string nodes = std::to_string(numa_nodes().size());
        verify({{"problem", bytes},
                {"copied_by", by},
                {"algorithm", algorithm},
                {"from", "every"},
                {"to", "every"},
                {"threads", nodes}});
      }
  verify({{"problem", "b65536"}, {"cache", "cold"}});
}

TEST(NativeCopy, RefusesWhatItCannot) {
  const auto refusal = [](const Settings& given) {
    const auto made = prepare(given);
    const auto* no = std::get_if<Unsupported>(&made);
    return no == nullptr ? "" : no->reason;
  };
  EXPECT_NE(refusal({{"to", "gpu0"}}).find("no device 'gpu'"), std::string::npos);
  EXPECT_NE(refusal({{"to", "numa4711"}}).find("not numa4711"), std::string::npos);
  EXPECT_NE(refusal({{"algorithm", "direct"}}).find("no algorithm direct"), std::string::npos);
  EXPECT_NE(refusal({{"direction", "both"}, {"threads", "1"}}).find("Use --threads 2"),
            std::string::npos);
}

}  // namespace test_copy
}  // namespace assay
