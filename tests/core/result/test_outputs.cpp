#include "core/result/outputs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"

namespace assay {
namespace test_outputs {

namespace fs = std::filesystem;

class Outputs : public testing::Test {
 protected:
  Outputs() {
    fs::create_directories(folder_ / "run");
    std::ofstream(input_) << "{\"schema\":\"assay-result/1\"}";
    std::ofstream(folder_ / "run" / "result.json") << "{}";
    std::ofstream(folder_ / "run" / "table.md") << "of last week";
  }
  ~Outputs() override { fs::remove_all(folder_); }
  void refused(const fs::path& output, const std::vector<std::string>& inputs) {
    try {
      check_output("--out", output, inputs);
      FAIL() << output;
    } catch (const InputError& error) {
      for (const std::string& word : {std::string("--out"), output.string(), std::string("input")})
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
  const fs::path folder_ =
      fs::temp_directory_path() / ("assay-outputs-" + std::to_string(getpid()));
  const fs::path input_ = folder_ / "a.json";
};

TEST_F(Outputs, AnInputIsRefusedUnderWhateverName) {
  fs::create_symlink(input_, folder_ / "link.json");
  fs::create_hard_link(input_, folder_ / "hard.json");
  fs::create_directory_symlink(folder_, folder_ / "run" / "round");
  for (const fs::path& name : {input_, folder_ / "link.json", folder_ / "hard.json",
                               folder_ / "run" / ".." / "a.json", folder_ / "run/round/a.json"})
    refused(name, {"elsewhere.json", input_.string()});
  refused(input_, {(folder_ / "link.json").string()});
}

TEST_F(Outputs, AResultInAnInputFolderIsRefused) {
  refused(folder_ / "run" / "result.json", {folder_.string()});
  refused(input_, {folder_.string()});
  EXPECT_NO_THROW(check_output("--out", folder_ / "run" / "table.md", {folder_.string()}));
  EXPECT_NO_THROW(check_output("--out", folder_ / "run" / "new.json", {folder_.string()}));
}

TEST_F(Outputs, AShippedBaselineThatIsReadIsRefused) {
  const std::string name = list_baseline_names().front();
  refused(baseline_file(name), {name});
}

TEST_F(Outputs, TheRecordOfARunIsRefusedWhateverIsRead) {
  const fs::path run = folder_ / "run";
  fs::create_directories(run / "log");
  for (const char* name :
       {"journal.jsonl", "plan-0-0-conv.json", "nodes.txt", "log/0-0-conv.out.txt"})
    std::ofstream(run / name) << "kept";
  fs::create_directory_symlink(run, folder_ / "link");
  for (const char* name :
       {"result.json", "journal.jsonl", "plan-0-0-conv.json", "nodes.txt", "log/0-0-conv.out.txt"})
    for (const fs::path& folder : {run, folder_ / "link"}) try {
        check_output("--out", folder / name, {input_.string()});
        ADD_FAILURE() << name;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("a part of the run in"), std::string::npos)
            << error.what();
      }
  for (const char* name : {"table.md", "new.json", "log/new.txt"})
    EXPECT_NO_THROW(check_output("--out", run / name, {run.string()})) << name;
  EXPECT_NO_THROW(check_output("--out", run / "result.json", {(run / "journal.jsonl").string()}))
      << "the result of a journal may be made again";
}

TEST_F(Outputs, DataOfAProgramAreRefusedUnderWhateverName) {
  const auto refuses = [](const fs::path& output, const fs::path& data) {
    EXPECT_THROW(check_output_beside_data("--out", output, {"random", "4", data.string()}),
                 InputError)
        << output << " " << data;
  };
  const fs::path data = folder_ / "data";
  fs::create_directories(data / "cats");
  for (const char* name : {"x.npy", "train-0", "train-1", "cats/1.jpg"})
    std::ofstream(data / name) << "data";
  fs::create_symlink(data / "x.npy", folder_ / "link.npy");
  fs::create_hard_link(data / "x.npy", folder_ / "hard.npy");
  fs::create_directories(folder_ / "elsewhere");
  std::ofstream(folder_ / "elsewhere" / "2.jpg") << "data";
  fs::create_directory_symlink(folder_ / "elsewhere", data / "dogs");
  fs::create_directory_symlink(data, data / "round");
  for (const fs::path& name : {data / "x.npy", data / ".." / "data" / "x.npy", folder_ / "link.npy",
                               folder_ / "hard.npy"}) {
    refuses(name, data / "x.npy");
    refuses(data / "x.npy", name);
    refuses(name, data);
  }
  refuses(data / "train-1", data / "train-*");
  refuses(data / "cats" / "1.jpg", data);
  refuses(folder_ / "elsewhere" / "2.jpg", data);
  refuses(folder_ / "new.bin", folder_ / "run" / ".." / "new.bin");  // both are going to be written
  // A result of last week is no data, and beside data there is room.
  std::ofstream(data / "o.json") << "{\"schema\":\"assay-result/1\"}";
  for (const fs::path& name : {data / "o.json", data / "new.json", data / "train-2"})
    EXPECT_NO_THROW(check_output_beside_data("--out", name, {data.string(), "train-*"})) << name;
}

TEST_F(Outputs, ARunDoesNotWriteOverItsInputs) {
  const fs::path run = folder_ / "new";
  const auto refuses = [&](const fs::path& folder, const fs::path& input) {
    EXPECT_THROW(check_run_folder(folder, {"native", input.string()}), InputError) << input;
  };
  fs::create_directories(run / "log");
  for (const char* name :
       {"ceilings.json", "job.sh", "plan-0-0-conv.json", "history.json", "log/mine.json"}) {
    std::ofstream(run / name) << "{}";
    refuses(run, run / name);
    refuses(run / "log" / "..", run / name);
    fs::remove(run / name);
  }
  EXPECT_NO_THROW(check_run_folder(run, {input_.string()}));
  std::ofstream(run / "suite.json") << "{}";
  EXPECT_NO_THROW(check_run_folder(run, {(run / "suite.json").string()}));
  EXPECT_NO_THROW(check_run_folder(folder_ / "none", {input_.string()}));
  fs::create_hard_link(input_, run / "log" / "hard");
  refuses(run, input_);
  fs::remove(run / "log" / "hard");
  fs::create_symlink(input_, run / "ceilings.json");
  refuses(run, input_);
  refuses(run, folder_ / "other.json");  // nothing is written through a link
}

TEST_F(Outputs, OtherFilesMayBeWritten) {
  EXPECT_NO_THROW(check_output("--out", folder_ / "b.json", {input_.string()}));
  EXPECT_NO_THROW(check_output("--out", "/dev/null", {input_.string(), "/dev/null"}));
  EXPECT_THROW(check_output("--out", folder_, {}), InputError) << "what cannot be written";
}

}  // namespace test_outputs
}  // namespace assay
