#include "models/storage/io_workload.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "models/network/checkpoint.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/input/staged_sets.hpp"

namespace assay {
namespace test_io_workload {

namespace fs = std::filesystem;
using testing_fakes::on_threads;
using Make = decltype(&write_workload);

const std::map<std::string, std::pair<Make, std::string>> operations = {
    {"write", {write_workload, "mb2"}},
    {"read", {read_workload, "mb2"}},
    {"metadata", {make_metadata_workload, "n20"}},
    {"random", {make_random_workload, "mb2n20kib16"}}};

/// A folder in a file system that counts, or a skipped test.
class IoWorkloadTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = probe_storage(here_ / "", "of TMPDIR", 0).why_no_storage;
    if (!why.empty()) GTEST_SKIP() << why;
  }

  /// `made_of`: a problem that the settings have in place of the texts, or "".
  std::unique_ptr<Workload> make(const std::string& operation, Communicator& ranks,
                                 const std::string& made_of = "") const {
    const auto& [make, problem] = operations.at(operation);
    const IoSetup setup{{parse_io(made_of.empty() ? problem : made_of), ranks.size()},
                        IoClaims({{"operation", operation},
                                  {"problem", problem},
                                  {"ranks", std::to_string(ranks.size())}}),
                        7,
                        ranks.size(),
                        here_ / "",
                        "of a test"};
    return make(setup, std::make_unique<JobFolder>(here_ / "", false, ranks), ranks);
  }

  static void run(Workload& workload) {
    workload.reset();
    workload.run(workload.stream());
  }

  /// The file of a rank in the only job.
  fs::path file_of(int rank) const {
    for (const auto& entry : fs::directory_iterator(here_ / ""))
      if (entry.path().filename().string().starts_with("assay-io.job."))
        return entry.path() / ("rank" + std::to_string(rank));
    return "";
  }

  bool is_empty() const { return fs::is_empty(here_ / ""); }

  /// The message of take_done() about a run that another one has disturbed.
  template <class Disturb>
  std::string fault_of(const std::string& operation, const Disturb& disturb) const {
    const auto ranks = make_serial_communicator();
    const auto workload = make(operation, *ranks);
    EXPECT_TRUE(workload->verify_before().passed);
    workload->take_done();
    workload->reset();
    disturb(file_of(0));
    try {
      workload->run(workload->stream());
      workload->take_done();
    } catch (const WrongResult& error) {  // others would end the program without a row
      return error.what();
    }
    return "";
  }

  Folder here_;
};

TEST_F(IoWorkloadTest, EveryOperationIsDoneCountedAndRemoved) {
  const std::map<std::string, std::map<std::string, double>> amounts = {
      {"write", {{"bytes_per_s", 2e6}}},
      {"read", {{"bytes_per_s", 2e6}}},
      {"metadata", {{"files_per_s", 20}}},
      {"random", {{"bytes_per_s", 20 * 16384}, {"reads_per_s", 20}}}};
  for (const int count : {1, 3})
    for (const auto& [operation, amount] : amounts) {
      on_threads(count, [&, &operation = operation, &amount = amount](Communicator& ranks) {
        const auto workload = make(operation, ranks);
        const Verification before = workload->verify_before();
        EXPECT_TRUE(before.passed) << operation << ": " << before.reason;
        workload->take_done();
        run(*workload);
        run(*workload);
        for (const auto& [name, done] : workload->take_done()) {
          // Amounts of rates that each rank has for itself are those of all ranks here.
          const bool shared = operation == "write" || operation == "read";
          EXPECT_EQ(done, 2 * amount.at(name) * (shared ? 1 : ranks.size())) << operation << name;
        }
        for (const Audit kind : {Audit::new_inputs, Audit::poisoned_outputs}) {
          workload->begin_audit(kind);
          run(*workload);
          const Verification audit = workload->end_audit();
          EXPECT_TRUE(audit.passed) << operation << ": " << audit.reason;
          EXPECT_GT(audit.checked, 0);
          EXPECT_EQ(audit.checked, audit.outputs);
        }
        const Verification after = workload->verify_after();
        EXPECT_TRUE(after.passed) << operation << ": " << after.reason;
        const auto metrics = workload->metrics();
        if (operation == "metadata") {
          EXPECT_GT(metrics.at("create_per_s").value, 0);
          EXPECT_GE(metrics.at("unlink_p99_s").value, metrics.at("unlink_p50_s").value);
          EXPECT_FALSE(metrics.contains("storage_ratio"));
        } else {
          EXPECT_GE(metrics.at("storage_ratio").value, 0.99) << operation;
        }
        ranks.barrier();
      });
      EXPECT_TRUE(is_empty()) << operation;
    }
}

TEST_F(IoWorkloadTest, RunsOfWrongSettingsAreRefusedByTheTexts) {
  struct Mistake {
    const char *operation, *made_of, *reason;
  };
  const auto ranks = make_serial_communicator();
  for (const Mistake& mistake : {
           Mistake{"write", "mb1", "it has 1000000 bytes, not 2000000"},
           Mistake{"write", "mb4", "it has 4000000 bytes, not 2000000"},
           Mistake{"read", "mb1", "it has 1000000 bytes, not 2000000"},
           Mistake{"metadata", "n10", "lists 10 files, not the 20"},
           Mistake{"random", "mb1n20kib16", "has not the 2000000 bytes"},
           Mistake{"random", "mb2n10kib16", "10 reads of 16384 bytes, not 20 of 16384"},
           Mistake{"random", "mb2n20kib8", "20 reads of 8192 bytes, not 20 of 16384"},
       }) {
    const auto workload = make(mistake.operation, *ranks, mistake.made_of);
    const Verification checked = workload->verify_before();
    EXPECT_FALSE(checked.passed) << mistake.operation << " " << mistake.made_of;
    EXPECT_NE(checked.reason.find(mistake.reason), std::string::npos) << checked.reason;
  }
}

TEST_F(IoWorkloadTest, AShardThatChangesAfterItWasWrittenIsNamed) {
  const std::string cut =
      fault_of("read", [](const fs::path& file) { fs::resize_file(file, 1000000); });
  EXPECT_NE(cut.find("rank0: cannot be used as a checkpoint (it is truncated"), cut.npos) << cut;
  const std::string flipped =
      fault_of("read", [](const fs::path& file) { flip_byte(file.string(), 1500000); });
  EXPECT_NE(flipped.find("its blob part0 is damaged: wrong CRC-32C"), flipped.npos) << flipped;
  const std::string other = fault_of("read", [](const fs::path& file) {
    const std::vector<std::byte> bytes(2000000);
    const CheckpointBlob blob{"part0", bytes};
    write_checkpoint(file, "assay-io", {{"shard", 0}}, std::span(&blob, 1));
  });
  EXPECT_NE(other.find("it has changed since it was verified"), other.npos) << other;
  const std::string lacking = fault_of("read", [](const fs::path& file) {
    const std::vector<std::byte> bytes(20);
    const CheckpointBlob blob{"part7", bytes};
    write_checkpoint(file, "assay-io", {{"shard", 0}}, std::span(&blob, 1));
  });
  EXPECT_NE(lacking, "");
  const std::string lost = fault_of("read", [](const fs::path& file) { fs::remove(file); });
  EXPECT_NE(lost.find("rank0"), lost.npos) << lost;
}

TEST_F(IoWorkloadTest, AChangedShardIsFoundAlsoWhereItsChecksumsAreRight) {
  const auto ranks = make_serial_communicator();
  const auto workload = make("read", *ranks);
  workload->begin_audit(Audit::poisoned_outputs);
  workload->reset();
  std::vector<std::byte> bytes(2000000);
  fill_contents(contents_key(7, 1, 0), 0, bytes);
  bytes[1234567] ^= std::byte{1};
  const CheckpointBlob blob{"part0", bytes};
  write_checkpoint(file_of(0), "assay-io", {{"shard", 0}}, std::span(&blob, 1));
  workload->run(workload->stream());
  const Verification checked = workload->end_audit();
  EXPECT_FALSE(checked.passed);
  EXPECT_NE(checked.reason.find("byte 1234567 differs from what was written"), std::string::npos)
      << checked.reason;
}

TEST_F(IoWorkloadTest, ReadsOfTheCacheAreNoReadsOfStorage) {
  for (const char* operation : {"read", "random"}) {
    const std::string fault = fault_of(operation, [](const fs::path& file) {
      std::thread([&] {  // each thread has its own counters
        std::ifstream stream(file, std::ios::binary);
        std::vector<char> all(4000000);
        stream.read(all.data(), std::ssize(all));
      })
          .join();
    });
    EXPECT_NE(fault.find("the kernel has read 0 of"), fault.npos) << operation << ": " << fault;
  }
}

TEST_F(IoWorkloadTest, AWriteIsNotVerifiedByWhatTheCacheHas) {
  const auto ranks = make_serial_communicator();
  const auto workload = make("write", *ranks);
  workload->begin_audit(Audit::poisoned_outputs);
  run(*workload);
  const std::string file = file_of(0);
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY));
  const std::size_t size = fs::file_size(file);
  // Pages that are mapped stay in the cache.
  void* const mapped =
      ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, opened.number(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const Verification checked = workload->end_audit();
  ::munmap(mapped, size);
  EXPECT_FALSE(checked.passed);
  EXPECT_NE(checked.reason.find("the kernel has read back"), std::string::npos) << checked.reason;
}

TEST_F(IoWorkloadTest, NoTwoReadsShareAPageOfTheCache) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  EXPECT_EQ(place_bytes(1), page);
  EXPECT_EQ(place_bytes(page), page);
  EXPECT_EQ(place_bytes(page + 1), 2 * page);
}

TEST_F(IoWorkloadTest, RandomReadsOfChangedBytesDoNotCount) {
  const auto ranks = make_serial_communicator();
  const auto workload = make("random", *ranks);
  EXPECT_TRUE(workload->verify_before().passed);
  workload->take_done();
  std::ofstream(file_of(0), std::ios::binary) << std::string(2000000, 'x');
  run(*workload);
  EXPECT_EQ(workload->take_done().at("reads_per_s"), 0);
  workload->begin_audit(Audit::new_inputs);
  run(*workload);
  const Verification checked = workload->end_audit();
  EXPECT_FALSE(checked.passed);
  EXPECT_NE(checked.reason.find("20 of 20 blocks differ"), std::string::npos) << checked.reason;
}

TEST_F(IoWorkloadTest, FilesThatNoRunHasMadeAreFound) {
  const auto ranks = make_serial_communicator();
  const auto workload = make("metadata", *ranks);
  EXPECT_TRUE(workload->verify_before().passed);
  workload->begin_audit(Audit::new_inputs);
  std::ofstream(file_of(0) / "foreign") << "";
  run(*workload);
  const Verification checked = workload->end_audit();
  EXPECT_FALSE(checked.passed);
  EXPECT_NE(checked.reason.find("lists 1 files, not the 0"), std::string::npos) << checked.reason;
}

TEST_F(IoWorkloadTest, AFailureOfOneRankEndsAllInAnAudit) {
  on_threads(3, [&](Communicator& ranks) {
    const auto workload = make("read", ranks);
    EXPECT_TRUE(workload->verify_before().passed);
    workload->begin_audit(Audit::poisoned_outputs);
    workload->reset();
    ranks.barrier();
    if (ranks.rank() == 1) fs::resize_file(file_of(2), 5);
    ranks.barrier();
    workload->run(workload->stream());
    const Verification checked = workload->end_audit();
    EXPECT_FALSE(checked.passed) << ranks.rank();
    EXPECT_NE(checked.reason.find("truncated"), std::string::npos) << checked.reason;
    ranks.barrier();
  });
}

TEST_F(IoWorkloadTest, BytesThatAreNotSyncedAreToldFromSyncedOnes) {
  const std::string file = here_ / "file";
  const FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT, 0666));
  const std::vector<char> bytes(1 << 20, 'x');
  ASSERT_EQ(::write(out.number(), bytes.data(), bytes.size()), std::ssize(bytes));
  const double unsynced = count_unwritten_bytes(file);
  ASSERT_EQ(::fsync(out.number()), 0);
  EXPECT_EQ(count_unwritten_bytes(file), 0);
  if (unsynced == 0) GTEST_SKIP() << "a kernel without cachestat(2)";
  EXPECT_EQ(unsynced, 1 << 20);
}

TEST(IoStorage, MemoryIsNoStorage) {
  const fs::path memory = "/dev/shm";
  if (!fs::is_directory(memory) || find_file_system(memory) != "tmpfs")
    GTEST_SKIP() << "no tmpfs at " << memory;
  const std::string why = probe_storage(memory, "tmpfs", 0).why_no_storage;
  EXPECT_NE(
      why.find("(tmpfs) keeps no record of storage: of 1048576 bytes the kernel has counted 0"),
      why.npos)
      << why;
}

}  // namespace test_io_workload
}  // namespace assay
