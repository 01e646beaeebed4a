#include "models/storage/job_folder.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "models/storage/contents.hpp"
#include "models/storage/io_problem.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/datasets/data_files.hpp"

namespace assay {
namespace test_job_folder {

namespace fs = std::filesystem;
using testing_fakes::on_threads;

template <class Body>
std::string refusal_of(const Body& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(JobFolder, ASecondJobIsRefusedByName) {
  const Folder here;
  const auto ranks = make_serial_communicator();
  {
    const JobFolder first(here / "", false, *ranks);
    const std::string why = refusal_of([&] { const JobFolder second(here / "", false, *ranks); });
    EXPECT_NE(why.find("--folder " + here / "" + ": another job measures there"), why.npos) << why;
    EXPECT_TRUE(fs::is_directory(first.path()));
  }
  EXPECT_TRUE(fs::is_empty(here / ""));
  const JobFolder later(here / "", false, *ranks);
}

TEST(JobFolder, KilledJobsLeaveNothingAndKeptOnesStay) {
  const Folder here;
  const auto ranks = make_serial_communicator();
  fs::create_directories(here / ("assay-io.job." + ranks->host() + ".1.2"));
  here.write("assay-io.job." + ranks->host() + ".1.2/rank0", "left");
  here.write("other", "not of assay");
  {
    const JobFolder job(here / "", true, *ranks);
    EXPECT_FALSE(fs::exists(here / ("assay-io.job." + ranks->host() + ".1.2")));
    std::ofstream(job.find_file(0)) << "kept";
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(here / ""))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].starts_with("assay-io.kept.")) << names[0];
  EXPECT_EQ(names[1], "other");
  EXPECT_EQ(fs::file_size(here / (names[0] + "/rank0")), 4u);
}

TEST(JobFolder, RanksShareOne) {
  const Folder here;
  on_threads(3, [&](Communicator& ranks) {
    const JobFolder job(here / "", false, ranks);
    const auto all = ranks.allgather(job.path().string());
    EXPECT_EQ(all.front(), all.back());
    EXPECT_EQ(job.find_file(2).filename(), "rank2");
    ranks.barrier();
  });
  EXPECT_TRUE(fs::is_empty(here / ""));
}

TEST(JobFolder, WhatCannotBeWrittenIsNamed) {
  const auto ranks = make_serial_communicator();
  std::string why = refusal_of([&] { const JobFolder job("/proc", false, *ranks); });
  EXPECT_NE(why.find("--folder /proc: cannot be written"), why.npos) << why;
  why = refusal_of([] { find_file_system("/nowhere/at/all"); });
  EXPECT_NE(why.find("--folder /nowhere/at/all: cannot be used (No such file"), why.npos) << why;
  why = refusal_of([] { find_file_system("/proc/version"); });
  EXPECT_NE(why.find("is not a folder"), why.npos) << why;
  EXPECT_EQ(find_file_system("/proc"), "proc");
  const Folder here;
  const JobFolder job(here / "", false, *ranks);
  EXPECT_NO_THROW(job.expect_free(1));
  EXPECT_THROW(job.expect_free(1e18), CaseError);
}

TEST(Contents, AreAFunctionOfTheirPlace) {
  std::vector<std::byte> all(100003), part(5000);
  const std::uint64_t key = contents_key(1, 2, 3);
  fill_contents(key, 0, all);
  EXPECT_EQ(first_difference(key, 0, all), -1);
  fill_contents(key, 40000, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 40000));
  for (const std::size_t at : {0ul, 4095ul, 4096ul, 100002ul}) {
    all[at] ^= std::byte{0x10};
    EXPECT_EQ(first_difference(key, 0, all), static_cast<std::int64_t>(at));
    all[at] ^= std::byte{0x10};
  }
  for (const std::uint64_t other :
       {contents_key(2, 2, 3), contents_key(1, 3, 3), contents_key(1, 2, 4)})
    EXPECT_EQ(first_difference(other, 0, all), 0);
}

TEST(IoProblem, FieldsAreThoseOfTheOperation) {
  EXPECT_EQ(to_text(complete_size(parse_io("mb5n7kib16"), IoKind::write)), "mb5");
  EXPECT_EQ(to_text(complete_size(parse_io("mb5n7kib16"), IoKind::metadata)), "n7");
  EXPECT_EQ(to_text(complete_size(parse_io("kib16_mb5"), IoKind::random)), "mb5n1000kib16");
  EXPECT_EQ(to_text(complete_size(parse_io("n3"), IoKind::read)), "mb100");
  for (const char* wrong : {"", "mb0", "kib3", "kib129", "mb1mb2", "gb1", "mb1e9"})
    EXPECT_NE(refusal_of([&] { parse_io(wrong); }), "") << wrong;
  const IoProblem random(IoKind::random, parse_io("mb5n7kib16"), 3);
  EXPECT_EQ(random.bytes(), 7 * 16384 * 3);
  EXPECT_EQ(random.amounts().at("reads_per_s"), 21);
  EXPECT_EQ(IoProblem(IoKind::metadata, parse_io("n7"), 2).amounts(),
            (std::map<std::string, double>{{"files_per_s", 14}}));
}

}  // namespace test_job_folder
}  // namespace assay
