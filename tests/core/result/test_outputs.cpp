#include "core/result/outputs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "core/base/error.hpp"
#include "core/result/baseline.hpp"

namespace assay {
namespace {

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
  const std::string name = baseline_names().front();
  refused(baseline_file(name), {name});
}

TEST_F(Outputs, OtherFilesMayBeWritten) {
  EXPECT_NO_THROW(check_output("--out", folder_ / "b.json", {input_.string()}));
  EXPECT_NO_THROW(check_output("--out", "/dev/null", {input_.string(), "/dev/null"}));
  EXPECT_THROW(check_output("--out", folder_, {}), InputError) << "what cannot be written";
}

}  // namespace
}  // namespace assay
