#include "core/program/command.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/program/manual.hpp"
#include "core/program/options.hpp"
#include "fake_benchmark.hpp"

namespace assay {
namespace test_command {

TEST(Command, AFlagsTextHasItsChoicesAndItsDefault) {
  const Flag flag{"--format", "format of the output", "FORMAT", "terminal", false, false,
                  "",         {"terminal", "json"}};
  EXPECT_EQ(flag.text(), "format of the output (terminal, json) (default: terminal)");
  EXPECT_EQ((Flag{"--seed", "seed", "N", ""}.text()), "seed");
}

TEST(Command, LettersMeanTheSameEverywhere) {
  EXPECT_EQ((Flag{"--out", "", "FILE", ""}.names()), (std::vector<std::string>{"-o", "--out"}));
  EXPECT_EQ(quiet_flag().names().front(), "-q");
  EXPECT_EQ(verbose_flag().names().front(), "-v");
  EXPECT_TRUE((Flag{"FILE", "", "FILE", ""}.names()).empty());
}

TEST(Command, GroupsKeepTheirOrder) {
  const std::vector<Flag> flags =
      group_flags({{"B", {{"--b", "", "", ""}}}, {"A", {{"--a", "", "", ""}}}});
  ASSERT_EQ(flags.size(), 2u);
  EXPECT_EQ(flags[0].name + flags[0].group + flags[1].name + flags[1].group, "--bB--aA");
}

TEST(Command, QuietAndVerboseExcludeEachOther) {
  EXPECT_EQ(read_verbosity({}), Verbosity::normal);
  EXPECT_EQ(read_verbosity({{"quiet", {""}}}), Verbosity::quiet);
  EXPECT_EQ(read_verbosity({{"verbose", {""}}}), Verbosity::verbose);
  EXPECT_THROW(read_verbosity({{"quiet", {""}}, {"verbose", {""}}}), InputError);
}

TEST(Command, EveryFlagOfABenchmarkHasAHeadingAndHelp) {
  for (const Flag& flag : benchmark_command(testing_fakes::FakeBenchmark()).flags)
    EXPECT_FALSE(flag.group.empty()) << flag.name;
}

Command sample() {
  return {"assay-x",
          "Does x.",
          {{"FILE", "what is read", "FILE", "", true, true},
           {"--mode", ".how 'it' \\ runs", "MODE", "a", false, false, "Modes", {"a", "b"}}},
          {},
          {{"assay-x --mode b file", "does it"}},
          "0 ok"};
}

TEST(Manual, AManPageHasAllParts) {
  const std::string page = render_man_page(sample(), {});
  for (const char* part :
       {".TH ASSAY-X 1", "\\fIFILE\\fR...", ".SS \"Modes\"", "\\fB\\-\\-mode\\fR \\fIMODE\\fR",
        "\\&.how 'it' \\e runs (a, b) (default: a)", "\\fBassay\\-x \\-\\-mode b file\\fR",
        ".SH EXIT STATUS\n0 ok", "\\fB\\-\\-version\\fR"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
}

TEST(Manual, ExitCodesAreAsWideAsTheHelp) {
  Command command = sample();
  command.exit_codes.clear();
  for (int code = 2; code < 20; ++code)
    command.exit_codes += (code > 2 ? ", " : "") + std::to_string(code) + " for this reason";
  const std::string footer = make_footer(command);
  for (const std::string& line : split(footer, '\n')) EXPECT_LE(line.size(), help_width) << line;
  EXPECT_TRUE(footer.ends_with("19 for this reason.")) << footer;
}

TEST(Manual, ExamplesFitATerminal) {
  Command command = sample();
  command.examples = {{"assay run suite.json --hosts 'a --b' --launcher \"mpirun -n 2\" --out " +
                           std::string(40, 'x') + " --required",
                       "runs the suite on two hosts and keeps the result, and whatever else is "
                       "worth a long explanation"}};
  const std::string wide = make_footer(command, 200), pipe = make_footer(command);
  EXPECT_EQ(wide, pipe);
  for (const std::size_t width : {80, 100, 120}) {
    const std::string text = make_footer(command, width);
    for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), width) << text;
    EXPECT_NE(text.find("'a --b'"), std::string::npos) << "a break within quotes: " << text;
    // A shell reads the same command.
    std::string joined = text;
    for (std::size_t at = 0; (at = joined.find(" \\\n      ", at)) != std::string::npos;)
      joined.replace(at, 9, " ");
    EXPECT_NE(joined.find("  " + command.examples[0].line + "\n"), std::string::npos) << text;
  }
}

TEST(Manual, ACompletionProposesClosedLists) {
  const std::string text = render_bash_completion(sample(), {});
  EXPECT_NE(text.find("--mode) COMPREPLY=($(compgen -W \"a b\""), std::string::npos) << text;
  EXPECT_NE(text.find("-F _assay_x assay-x"), std::string::npos);
}

TEST(Manual, IsPrintedForTheProgramOrOneCommand) {
  Command program = sample(), command = sample();
  command.name = "run";
  const auto asked = [&](std::vector<const char*> words) {
    return manual_asked_for(program, {command}, static_cast<int>(words.size()), words.data());
  };
  EXPECT_FALSE(asked({"assay-x", "run"}));
  EXPECT_TRUE(asked({"assay-x", "--help-as", "man"})->starts_with(".TH ASSAY-X 1"));
  EXPECT_TRUE(asked({"assay-x", "run", "--help-as=man"})->starts_with(".TH ASSAY-X-RUN 1"));
  EXPECT_THROW(asked({"assay-x", "--help-as", "html"}), InputError);
  EXPECT_THROW(asked({"assay-x", "--help-as"}), InputError);
}

}  // namespace test_command
}  // namespace assay
