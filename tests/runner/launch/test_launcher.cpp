// Launchers as data: what each shipped file makes of a shape, and what a bad file is told.
#include "runner/launch/launcher.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "runner/launch/processes.hpp"

namespace assay {
namespace test_launcher {

using nlohmann::json;

const ProcessShape whole{.nodes = 2, .ranks_per_node = 4, .threads = 8, .bind = "core"};

std::string words(const std::string& launcher, const ProcessShape& shape) {
  return join(Launcher::load(launcher).command(shape), " ");
}

std::string message_of(const auto& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LauncherFiles, MakeTheWordsOfEachSystem) {
  EXPECT_EQ(words("slurm", whole),
            "srun --ntasks=8 --nodes=2 --ntasks-per-node=4 --cpus-per-task=8 --threads-per-core=1 "
            "--cpu-bind=cores");
  EXPECT_EQ(words("slurm", {.ranks = 3}), "srun --ntasks=3");
  EXPECT_EQ(words("mpirun", {.ranks = 3}), "mpirun -n 3");
  EXPECT_EQ(words("mpirun", whole), "mpirun -n 8 --map-by ppr:4:node:PE=8 --bind-to core");
  EXPECT_EQ(words("mpirun", {.nodes = 2, .ranks_per_node = 4}), "mpirun -n 8 --map-by ppr:4:node");
  EXPECT_EQ(words("pbs", whole), "mpiexec -n 8 --ppn 4 --depth 8 --cpu-bind depth");
  EXPECT_EQ(words("lsf", whole),
            "jsrun --nrs 8 --tasks_per_rs 1 --rs_per_host 4 --cpu_per_rs 8 --bind rs");
  EXPECT_EQ(words("lsf", {.ranks = 2}), "jsrun --nrs 2 --tasks_per_rs 1 --cpu_per_rs 1");
  EXPECT_EQ(words("pjsub", {.nodes = 2, .ranks_per_node = 4}), "mpiexec -n 8");
  EXPECT_EQ(words("pjsub", whole), "mpiexec -n 8 --mca plm_ple_cpu_affinity 1")
      << "the job's max-proc-per-node decides how many ranks and cores go together";
  EXPECT_EQ(words("local", {}), "");
  EXPECT_EQ(words("slurm", {.nodes = 3}), "srun --ntasks=3 --nodes=3") << "one rank on each node";
}

TEST(LauncherFiles, RefuseWhatTheyCannotAskFor) {
  const std::string many = message_of([] { words("local", {.ranks = 2}); });
  EXPECT_NE(many.find("starts one process, not 2"), std::string::npos) << many;
  const std::string bind = message_of([] { words("lsf", {.ranks = 2, .bind = "socket"}); });
  EXPECT_NE(bind.find("unknown binding of the launcher lsf 'socket' (valid: core, none)"),
            std::string::npos)
      << bind;
  const std::string hosts = message_of(
      [] { make_processes({.launcher = "lsf", .shape = {.ranks = 2, .hosts = "a,b"}}, {}); });
  EXPECT_NE(hosts.find("--hosts cannot be used with the launcher lsf"), std::string::npos) << hosts;
  const std::string name = message_of([] { Launcher::load("slrum"); });
  EXPECT_NE(name.find("Did you mean 'slurm'?"), std::string::npos) << name;
}

class LauncherFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string message(const std::string& text) {
    std::ofstream(file_) << text;
    return message_of([&] { Launcher::load(file_); });
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("assay-launcher-" + std::to_string(getpid()));
  std::string file_ = (folder_ / "mine.json").string();
};

TEST_F(LauncherFile, ThatIsASitesOwnIsUsed) {
  std::ofstream(file_) << R"({"schema": "assay-launcher/1", "name": "mine", "description": "ours",
    "command": ["start", "{ranks}", {"with": "hosts", "words": ["on", "{hosts}"], "otherwise": ["anywhere"]}]})";
  EXPECT_EQ(words(file_, {.ranks = 2}), "start 2 anywhere");
  EXPECT_EQ(words(file_, {.ranks = 2, .hosts = "a,b"}), "start 2 on a,b");
}

TEST_F(LauncherFile, WithAnUnknownPlaceholderNamesFileAndLine) {
  const std::string said = message(
      "{\"schema\": \"assay-launcher/1\", \"name\": \"mine\",\n \"description\": \"ours\",\n"
      " \"command\": [\"start\",\n  \"{rank}\"]}");
  EXPECT_NE(said.find("mine.json: line 4: unknown placeholder 'rank'"), std::string::npos) << said;
  EXPECT_NE(said.find("Did you mean 'ranks'?"), std::string::npos) << said;
  const std::string with = message(
      "{\"schema\": \"assay-launcher/1\", \"name\": \"mine\", \"description\": \"ours\",\n"
      " \"command\": [{\"with\": \"thread\", \"words\": [\"-t\"]}]}");
  EXPECT_NE(with.find("line 2: unknown placeholder 'thread'"), std::string::npos) << with;
}

TEST_F(LauncherFile, WithAPlaceholderInTheWrongPartNamesTheLineOfThatPart) {
  const std::string head =
      "{\"schema\": \"assay-launcher/1\", \"name\": \"mine\", \"description\": \"our {name}\",\n"
      " \"command\": [\"start\", \"{ranks}\"";
  const std::string ranks = message(head + "],\n \"one_per_node\": [\"start\", \"{ranks}\"]}");
  EXPECT_NE(ranks.find("line 3: unknown placeholder 'ranks'"), std::string::npos) << ranks;
  const std::string name = message(head + ", \"{name}\"]}");
  EXPECT_NE(name.find("line 2: unknown placeholder 'name'"), std::string::npos) << name;
}

TEST(LauncherFiles, SayWhetherTheyCanBeToldWhichNodesToUse) {
  for (const char* name : {"slurm", "pbs", "mpirun"})
    Launcher::load(name).expect_choice_of_nodes("--pairs");
  for (const char* name : {"lsf", "pjsub", "local"}) {
    const std::string said =
        message_of([&] { Launcher::load(name).expect_choice_of_nodes("--pairs"); });
    EXPECT_NE(said.find("--pairs cannot be used with the launcher"), std::string::npos) << said;
  }
}

TEST_F(LauncherFile, ThatBreaksTheSchemaIsRefused) {
  const std::string said = message(
      "{\"schema\": \"assay-launcher/1\", \"name\": \"mine\", \"description\": \"ours\", "
      "\"comand\": []}");
  EXPECT_NE(said.find("mine.json"), std::string::npos) << said;
  EXPECT_NE(said.find("command"), std::string::npos) << said;
}

TEST(LauncherAllocation, IsAskedFor) {
  unsetenv("SLURM_JOB_ID");
  const std::string said = message_of([] { Launcher::load("slurm").expect_allocation(); });
  EXPECT_NE(said.find("SLURM_JOB_ID is not set"), std::string::npos) << said;
  EXPECT_NE(said.find("salloc --nodes=N --exclusive"), std::string::npos) << said;
  setenv("SLURM_JOB_ID", "7", 1);
  Launcher::load("slurm").expect_allocation();
  unsetenv("SLURM_JOB_ID");
  setenv("LSB_HOSTS", "node1 node1 node2", 1);
  EXPECT_EQ(Launcher::load("lsf").list_allocated_nodes("/tmp/none"),
            (std::vector<std::string>{"node1", "node2"}));
  unsetenv("LSB_HOSTS");
}

std::string why_no_nodes(const std::string& launcher) {
  try {
    Launcher::load(launcher).list_allocated_nodes("/tmp/none");
  } catch (const CaseError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LauncherAllocation, AListThatCannotBeReadIsNoList) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("assay-nodes-" + std::to_string(getpid()));
  setenv("PBS_NODEFILE", file.c_str(), 1);
  EXPECT_NE(why_no_nodes("pbs").find("PBS_NODEFILE: " + file.string()), std::string::npos)
      << why_no_nodes("pbs");
  std::ofstream(file) << " \n\n";
  EXPECT_NE(why_no_nodes("pbs").find("PBS_NODEFILE, " + file.string() + " names none"),
            std::string::npos)
      << why_no_nodes("pbs");
  std::filesystem::remove(file);
  unsetenv("PBS_NODEFILE");
  setenv("LSB_HOSTS", "", 1);
  EXPECT_NE(why_no_nodes("lsf").find("LSB_HOSTS names none"), std::string::npos);
  unsetenv("LSB_HOSTS");
}

TEST(LauncherFiles, NameVariables) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("own-" + std::to_string(getpid()) + ".json");
  const auto told = [&](const std::string& variable) {
    std::ofstream(file) << json{{"schema", "assay-launcher/1"},
                                {"name", "own"},
                                {"description", "ours"},
                                {"command", json::array()},
                                {"allocation", {{"variable", variable}, {"how", "ask"}}}};
    const std::string said = message_of([&] { Launcher::load(file.string()); });
    std::filesystem::remove(file);
    return said;
  };
  EXPECT_EQ(told("_JOB_ID2"), "no error");
  for (const std::string& wrong :
       {std::string("$JOB"), std::string("2JOB"), std::string("A B"), std::string(300000, 'a')}) {
    const std::string said = told(wrong);
    EXPECT_NE(said.find("/allocation/variable: found \"" + wrong.substr(0, 60)), std::string::npos)
        << said.substr(0, 500);
    EXPECT_LT(said.size(), 500U);
  }
}

std::vector<std::string> started(const ProcessRequest& request, const json& launch = nullptr) {
  std::vector<std::string> all;
  for (const Processes& group :
       make_processes(request, suite_settings({{"launch", launch}}).launch.shapes))
    all.push_back(join(group.words, " "));
  return all;
}
using Words = std::vector<std::string>;

TEST(ProcessesOfARun, ComeFromTheCommandLineThenFromTheSuite) {
  const json two = {{"ranks", 2}};
  EXPECT_EQ(started({}), Words{""});
  EXPECT_EQ(started({}, two), Words{"mpirun -n 2"});
  EXPECT_EQ(started({.shape = {.ranks = 4}}, two), Words{"mpirun -n 4"});
  EXPECT_EQ(started({.launcher = "mpirun --oversubscribe"}, two),
            Words{"mpirun --oversubscribe -n 2"});
  EXPECT_EQ(started({.launcher = "mpirun -np 3"}, two), Words{"mpirun -np 3"});
  EXPECT_EQ(started({.launcher = "taskset -c 0"}, two), Words{"taskset -c 0"})
      << "no launcher of ranks";
  EXPECT_EQ(started({.launcher = "srun --mpi=pmix", .shape = {.ranks = 2}}),
            Words{"srun --mpi=pmix -n 2"});
  EXPECT_EQ(started({.launcher = "slurm"}, two), Words{"srun --ntasks=2"});
  EXPECT_EQ(started({.launcher = "slurm", .shape = {.ranks_per_node = 2}}),
            Words{"srun --ntasks=2 --nodes=1 --ntasks-per-node=2"})
      << "ranks on each node, of one node";
}

TEST(ProcessesOfARun, AreOneGroupForEachNumberOfRanks) {
  EXPECT_EQ(started({.ranks = {1, 2}}, json{{"ranks", 4}}), (Words{"mpirun -n 1", "mpirun -n 2"}));
  EXPECT_EQ(started({.launcher = "slurm", .shape = {.nodes = 2}, .ranks = {2, 4}}),
            (Words{"srun --ntasks=2 --nodes=2", "srun --ntasks=4 --nodes=2"}));
  EXPECT_EQ(started({.launcher = "slurm", .shape = {.ranks_per_node = 4}, .nodes = {1, 2}}),
            (Words{"srun --ntasks=4 --nodes=1 --ntasks-per-node=4",
                   "srun --ntasks=8 --nodes=2 --ntasks-per-node=4"}));
  EXPECT_EQ(process_request({{"nodes", {"1", "2"}}}).nodes, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(process_request({{"nodes", {"3"}}}).shape.nodes, 3U);
  const ProcessRequest request = process_request({{"ranks", {"1", "2"}}});
  EXPECT_EQ(request.ranks, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(process_request({{"ranks", {"3"}}}).shape.ranks, 3U);
}

TEST(ProcessesOfARun, KeepACommandWhoseLastWordIsAFile) {
  EXPECT_EQ(started({.launcher = "mpirun -n 2 --tune my.json"}),
            Words{"mpirun -n 2 --tune my.json"});
}

TEST(ProcessesOfARun, AreOneGroupForEachShapeOfASuite) {
  const json shapes = {{{"nodes", 1}, {"ranks_per_node", 2}},
                       {{"nodes", 2}, {"ranks_per_node", 2}, {"bind", "core"}}};
  EXPECT_EQ(started({.launcher = "slurm"}, shapes),
            (Words{"srun --ntasks=2 --nodes=1 --ntasks-per-node=2",
                   "srun --ntasks=4 --nodes=2 --ntasks-per-node=2 --cpu-bind=cores"}));
  EXPECT_EQ(started({.launcher = "slurm", .shape = {.threads = 3}}, shapes).front(),
            "srun --ntasks=2 --nodes=1 --ntasks-per-node=2 --cpus-per-task=3 "
            "--threads-per-core=1");
  EXPECT_EQ(started({.launcher = "slurm", .shape = {.nodes = 1, .ranks_per_node = 1}}, shapes),
            Words{"srun --ntasks=1 --nodes=1 --ntasks-per-node=1"});
  const std::string said = message_of([&] { started({.launcher = "srun -n 2"}, shapes); });
  EXPECT_NE(said.find("need a launcher's file"), std::string::npos) << said;
}

}  // namespace test_launcher
}  // namespace assay
