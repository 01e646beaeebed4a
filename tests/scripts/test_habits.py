#!/usr/bin/env python3
"""Users of other benchmarks expect this of a command line: previews, quiet and verbose, colour, launches, help with
examples."""
import json
import os
import pty
import re
import shlex
import shutil
import subprocess

from run_helper import ASSAY, BIN, CONV, SMALL, SOURCE, RunTest, group, main

QUICK = ["--problem", SMALL, "--backend", "reference", "--threads", 1, "--max-time", 0.02]
PROGRAMS = sorted(file.name for file in BIN.glob("assay-*"))
# The default problems take minutes on a busy machine.
SMALL_PROBLEM = {"assay-conv": QUICK[:-2], "assay-stream": ["--problem", "triad_n1024", "--threads", 1], "assay-collectives": ["--bytes", 1024],
                 "assay-copy": ["--problem", "4K", "--threads", 1], "assay-io": ["--problem", "mb1"],
                 "assay-rnn": ["--problem", "lstm:8-2-3", "--threads", 1],
                 "assay-norm": ["--problem", "mb1ic8ih4", "--threads", 1], "assay-pool": ["--problem", "mb1ic8ih4kh2", "--threads", 1],
                 "assay-activation": ["--problem", "mb1ic8ih4", "--threads", 1], "assay-dropout": ["--problem", "mb1ic8ih4", "--threads", 1],
                 "assay-update": ["--problem", "adam_n1000t3", "--threads", 1], "assay-loss": ["--problem", "mb4c10", "--threads", 1],
                 "assay-pixel-loss": ["--problem", "mb1c3ih8", "--threads", 1], "assay-squared-error": ["--problem", "mb4f10", "--threads", 1],
                 "assay-sum": ["--problem", "n1000", "--threads", 1], "assay-convert": ["--problem", "n1000", "--threads", 1],
                 "assay-concat": ["--problem", "mb1ca8cb8ih4", "--threads", 1], "assay-resize": ["--problem", "mb1ic8ih4oh8", "--threads", 1],
                 "assay-resnet50": ["--problem", "d18w8s32c10", "--batch", 4, "--threads", 1],
                 "assay-linalg": ["--problem", "syrk:n64d8", "--threads", 1], "assay-gemm": ["--problem", "m32n32k32", "--threads", 1],
                 **{f"assay-{analysis}": ["--problem", "n400d8", "--threads", 1] for analysis in ("pca", "kmeans", "svm")}}
COMMANDS = sorted(file.stem.removesuffix("_command") for file in SOURCE.glob("cli/*_command.cpp"))


def flags_of(text):
    """Every --flag that --help explains."""
    return {name for line in text.splitlines() if re.match(r"  -", line) for name in re.findall(r"(?<!\S)(?:-\w,)?(--[a-z0-9_-]+)", line.split("   ")[0].replace(",--", " --"))}


class Preview(RunTest):
    def test_list_prints_the_cases_and_runs_nothing(self):
        suite = self.suite([group(["direct", "auto"])])
        done = self.command(ASSAY, "run", suite, "--list", code=0, cwd=self.folder)
        ids = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(len(ids), 2)
        own = self.command(CONV, "--suite", suite, "--list", code=0).stdout
        self.assertEqual(done.stdout, own)
        one = self.command(ASSAY, "run", suite, "--list", "--filter", "/direct/", code=0, cwd=self.folder).stdout
        self.assertEqual(one.splitlines(), [line for line in own.splitlines() if "/direct/" in line])
        self.assertEqual(os.listdir(self.folder), ["test.json"], "a preview left something behind")

    def test_dry_run_counts_and_estimates(self):
        suite = self.suite([group(["direct", "auto"])])
        words = (ASSAY, "run", suite, "--launches", 5, "--max-time", 3, "--out", self.out)
        text = self.command(*words, "--dry-run", code=0).stdout
        self.assertIn("2 cases x 5 launches = 10 rows", text)
        self.assertIn("about 36 s", text)  # 10 rows x 3 s x 1.2
        self.assertIn(f"{CONV} --suite {suite}", text)
        self.assertIn("Nothing was run", text)
        self.assertFalse(self.out.exists())
        self.assertNotIn("walltime", text)
        for limit, least, shortened in (("0:20", r"(20|1\d) s", True), ("1:00:00", "60 min", False)):
            short = self.command(*words, "--dry-run", "--walltime", limit, code=0).stdout
            self.assertRegex(short, rf"(?m)^walltime: the run ends after {least}")
            self.assertEqual("before its last cases" in short, shortened, short)
        self.assertIn("nosuch", self.command(*words, "--dry-run", "--baseline", "nosuch", code=2).stderr)
        launched = self.command(ASSAY, "run", suite, "--launcher", "env WORD=1", "--dry-run", code=0).stdout
        self.assertIn(f"env WORD=1 {CONV}", launched)

    def test_dry_run_counts_the_ceilings(self):
        suite = self.suite([group(["direct"], backend="reference")], ceilings=True)
        with_them = self.command(ASSAY, "run", suite, "--dry-run", code=0).stdout
        self.assertRegex(with_them, r"(?m)^ceilings: \d+ s \(2 times ")
        self.assertNotIn("ceilings:", self.command(ASSAY, "run", suite, "--no-ceilings", "--dry-run", code=0).stdout)

    def test_dry_run_of_a_resumed_run_counts_what_is_left(self):
        suite = self.suite([group(["direct", "auto"])])
        self.run_suite(suite, code=0)
        text = self.run_suite(suite, "--resume", "--launches", 2, "--dry-run", code=0).stdout
        self.assertIn("2 cases x 2 launches = 4 rows, 2 of them without a result", text)

    def test_flags_without_use_are_named(self):
        suite = self.suite([group(["direct"])])
        for words, names in [(["--list", "--launches", 2], ["--launches", "--list"]), (["--list", "--out", self.out], ["--out"]),
                             (["--dry-run", "--quiet"], ["--quiet", "--dry-run"]), (["--list", "--dry-run"], ["--dry-run"]),
                             (["--resume"], ["--resume", "--out"]), (["--quiet", "--verbose"], ["--quiet", "--verbose"]),
                             (["--launcher", "mpirun -n 2", "--ranks", 2], ["--ranks", "--launcher"])]:
            with self.subTest(words):
                done = self.command(ASSAY, "run", suite, *words, code=2, cwd=self.folder)
                for name in names:
                    self.assertIn(name, done.stderr)
        for words, name in [(["--list", "--quiet"], "--quiet"), (["--list", "--launches", 2], "--launches"),
                            (["--launches", 2, "--launch", 1], "--launch"), (["--cases-hash", "x"], "--cases-hash")]:
            with self.subTest(words):
                self.assertIn(name, self.command(CONV, *words, code=2).stderr)
        (self.folder / "runs").mkdir()
        for words, name in [(["--promote", "all", "--out", "x"], "--out"), (["--reset", "all", "--value-from", "x"], "--value-from")]:
            with self.subTest(words):
                done = self.command(ASSAY, "history", "runs", "--owner", "me", "--reason", "test", *words, code=2, cwd=self.folder)
                self.assertIn(f"{name} cannot be used with {words[0]}", done.stderr)


class Outputs(RunTest):
    def test_two_outputs_in_one_file_are_refused(self):
        self.command(CONV, *QUICK, "--out", self.folder / "a.json", code=0)
        for words, names in [(["compare", "a.json", "a.json", "--vary", "nothing", "-o", "x.json", "--flagged", "./x.json"], ["--out", "--flagged"]),
                             (["accept", "a.json", "--criteria", "acceptance", "-o", "y", "--junit", "y"], ["--out", "--junit"])]:
            with self.subTest(words):
                done = self.command(ASSAY, *words, code=2, cwd=self.folder)
                self.assertIn("name the same file", done.stderr)
                for name in names:
                    self.assertIn(name, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["a.json"])


class Talk(RunTest):
    def test_a_quiet_run_reports_what_is_wrong(self):
        suite = self.suite([group(["direct", "throw"])])
        done = self.run_suite(suite, "-q", code=7)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], r"/throw/.*failed: ")

    def test_a_verbose_run_says_what_it_starts(self):
        suite = self.suite([group(["direct"])])
        done = self.run_suite(suite, "-v", code=0)
        self.assertRegex(done.stderr, r"assay run: starts \S*assay-conv --suite ")

    def test_a_benchmark(self):
        loud = self.command(CONV, *QUICK, "--verbose", code=0)
        self.assertIn("case 1 of 1: conv/", loud.stderr)
        self.assertRegex(loud.stderr, r"\d+ samples of \d+ runs?, stopped by \w+")
        out = self.folder / "a.json"
        quiet = self.command(CONV, *QUICK, "--quiet", "--out", out, code=0)
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        self.assertEqual(len(json.loads(out.read_text())["rows"]), 1)
        # A mark of a row that is not printed is not explained: more threads than processors are marked.
        crowded = ["--problem", SMALL, "--backend", "reference", "--threads", os.cpu_count() + 1, "--max-time", 0.02]
        self.assertRegex(self.command(CONV, *crowded, code=0).stdout, r"\n[~!] ")
        self.assertEqual(self.command(CONV, *crowded, "--quiet", code=0).stdout, "")
        wrong = self.command(CONV, "--problem", SMALL, "--backend", "faulty", "--algorithm", "direct,throw", "--max-time", 0.02, "-q", code=7)
        self.assertIn("/throw/", wrong.stdout)
        self.assertNotIn("/direct/", wrong.stdout)


class Colour(RunTest):
    def on_a_terminal(self, *words, **more):
        """The output of a program to a terminal."""
        own, its = pty.openpty()
        environment = self.environment(TERM="xterm", **more)
        if "NO_COLOR" not in more:
            environment.pop("NO_COLOR", None)
        process = subprocess.Popen([str(w) for w in words], stdin=its, stdout=its, stderr=its, env=environment)
        os.close(its)
        text = b""
        while True:
            try:
                block = os.read(own, 65536)
            except OSError:  # the other side is closed
                break
            if not block:
                break
            text += block
        process.wait()
        os.close(own)
        return text.decode()

    def test_status_words(self):
        words = (CONV, "--problem", SMALL, "--backend", "reference,faulty", "--algorithm", "winograd,throw", "--max-time", 0.02)
        shown = self.on_a_terminal(*words)
        self.assertIn("\x1b[33munsupported\x1b[0m", shown)
        self.assertIn("\x1b[31mfailed\x1b[0m", shown)
        self.assertNotIn("\x1b", self.on_a_terminal(*words, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_a_terminal("env", "TERM=dumb", *words))
        self.assertNotIn("\x1b", self.command(*words).stdout)

    def test_progress_of_a_run(self):
        suite = self.suite([group(["throw"])])
        shown = self.on_a_terminal(ASSAY, "run", suite, "--out", self.out)
        self.assertIn("\x1b[31mfailed\x1b[0m", shown)


class Launches(RunTest):
    def test_rows_of_all_launches_are_in_the_result(self):
        out = self.folder / "a.json"
        self.command(CONV, *QUICK, "--direction", "forward,bwd_data", "--launches", 3, "--out", out, code=0)
        result = json.loads(out.read_text())
        self.assertEqual(sorted((row["launch"], row["environment"]) for row in result["rows"]), [(n, n) for n in (0, 0, 1, 1, 2, 2)])
        self.assertEqual(result["run"]["launches"], 3)
        self.assertEqual(len(result["environments"]), 3)
        self.assertTrue(all("volatile_after" in environment for environment in result["environments"]))
        self.command(ASSAY, "validate", out, code=0)
        self.assertEqual(os.listdir(self.folder), ["a.json"], "the journal of a finished program stays")
        self.command(ASSAY, "compare", out, out, "--vary", "nothing", code=None)

    def test_each_launch_is_a_process(self):
        done = self.command(CONV, *QUICK, "--launches", 2, code=0)
        self.assertEqual(done.stdout.count("conv/forward/"), 2)
        self.assertIn("launch 2 of 2", done.stderr)

    def test_a_launch_that_dies_leaves_its_rows(self):
        out = self.folder / "a.json"
        done = self.command(CONV, "--problem", SMALL, "--backend", "faulty", "--algorithm", "direct,crash", "--max-time", 0.02, "--threads", 1,
                            "--launches", 3, "--out", out, code=7)
        self.assertIn("launch 1 of 3 was killed by signal", done.stderr)
        self.assertFalse(out.exists(), "a result without the rows of a launch that died")
        self.command(ASSAY, "recover", f"{out}.journal.jsonl", code=0)
        self.assertEqual([row["parameters"]["algorithm"] for row in json.loads(out.read_text())["rows"]], ["direct"])

    def test_exit_codes(self):
        wrong = (CONV, "--problem", SMALL, "--backend", "faulty", "--max-time", 0.02, "--launches", 2)
        self.command(*wrong, "--algorithm", "wrong_element", code=3)
        self.command(CONV, "--problem", "mb0", "--launches", 2, "--out", self.folder / "a.json", code=2)
        self.assertEqual(os.listdir(self.folder), [], "a refused command left something behind")

    def test_under_a_launcher_it_is_refused(self):
        environment = self.environment(OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
        done = self.command(CONV, *QUICK, "--launches", 2, env=environment, code=2)
        self.assertIn("assay run SUITE --launches 2", done.stderr)


class Help(RunTest):
    def test_help_is_the_same_by_both_ways(self):
        self.assertEqual(self.command(ASSAY, "help", code=0).stdout.split(), self.command(ASSAY, "--help", code=0).stdout.split())
        for command in COMMANDS:
            self.assertEqual(self.command(ASSAY, "help", command, code=0).stdout, self.command(ASSAY, command, "--help", code=0).stdout)
        self.assertIn("Did you mean 'run'", self.command(ASSAY, "help", "rum", code=2).stderr)

    def test_the_list_of_commands_fits_a_terminal(self):
        text = self.command(ASSAY, "--help", code=0).stdout
        listed = text.partition("Subcommands:")[2].partition("Examples:")[0]
        self.assertFalse([line for line in listed.splitlines() if len(line) > 100])
        self.assertEqual(sorted([*COMMANDS, "help"]), sorted(re.findall(r"^  (\w+)", listed, re.M)))
        internal = listed.partition("Used by other commands:")[2]
        self.assertEqual(["collect", "placement", "stopped"], re.findall(r"^  (\w+)", internal, re.M))
        self.assertNotIn("\n\n\n", text)

    def test_benchmarks_are_listed_by_what_they_measure(self):
        text = self.command(ASSAY, "list", "benchmarks", code=0).stdout
        self.assertRegex(text, r"(?m)^gemm +Matrix multiplication, as in BLAS$")
        self.assertIn(f"assay-<benchmark> in {BIN.resolve()}", text)
        self.assertEqual(text.count(str(BIN.resolve())), 1, "the folder once, not with each name")

    def test_lists_fit_a_terminal(self):
        for what in ("benchmarks", "suites", "problems", "criteria", "baselines", "summaries", "launchers", "sites"):
            lines = self.command(ASSAY, "list", what, code=0).stdout.splitlines()
            self.assertEqual([line for line in lines if len(line) > 120 and str(BIN.resolve()) not in line], [], what)
        # An entry of several lines has its name once.
        suites = self.command(ASSAY, "list", "suites", code=0).stdout
        self.assertRegex(suites, r"(?m)^weekly  +What a pipeline measures every week, .*\n {10,}\S")

    def test_one_style(self):
        for words in [(BIN / program,) for program in PROGRAMS] + [(ASSAY, command) for command in COMMANDS]:
            with self.subTest(words):
                text = self.command(*words, "--help", code=0).stdout
                self.assertIn("Examples:", text)
                self.assertNotRegex(text, r"\[[^]]*\]\s*$|=\d+$", "a default of another style than (default: X)")
                self.assertFalse([line for line in text.splitlines() if line.startswith("  -") and len(line) > 100], "a flag's line is too long")

    def examples(self, *words):
        text = self.command(*words, "--help", code=0).stdout
        return [line.strip() for line in text[text.index("Examples:"):].splitlines() if re.match(r"  \S", line)]

    def test_examples_work_as_printed(self):
        for name in ("monday", "tuesday", "today"):
            self.out = self.folder / "results" / name
            more = [group(["auto"], backend=backend) for backend in ("onednn", "native")] if name == "today" else []
            suite = self.suite([group(["direct"], backend="reference"), *more], name="today" if more else "test")
            self.run_suite(suite, "--launches", 3, code=0)
        shutil.copy(self.folder / "results" / "today" / "journal.jsonl", self.folder / "lost.json.journal.jsonl")
        for build in ("promoted", "monday"):
            (self.folder / build).symlink_to(BIN.parent)
        environment = self.environment(PATH=f"{BIN}:{os.environ['PATH']}")
        lines = self.examples(ASSAY) + [line for command in [*COMMANDS, "help"] for line in self.examples(ASSAY, command)]
        for line in lines + [line for program in PROGRAMS for line in self.examples(BIN / program)]:
            with self.subTest(line):
                # A burn-in in less time: of the kind whose reference is cheap.
                words = shlex.split(re.sub(r"burn gemm --for \S+", "burn norm --for 1s", re.sub(r"--max-time \S+", "--max-time 0.001", line)))
                if words[:2] == ["assay", "run"]:  # planned, not timed: a suite takes minutes
                    words += [] if "--dry-run" in words else ["--dry-run"]
                words += map(str, SMALL_PROBLEM.get(words[0], []))
                if words[0] in PROGRAMS and words[0] != "assay-dataset" and not {"--list", "--max-time"} & {*words}:
                    words += ["--max-time", "0.001"]
                done = subprocess.run(words, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 2, done.stderr)
                self.assertLessEqual(done.returncode, 8, done.stderr)


if __name__ == "__main__":
    main(verbosity=2)
