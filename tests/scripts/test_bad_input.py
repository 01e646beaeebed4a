#!/usr/bin/env python3
"""Lost output, empty values, names that lead nowhere, limits, broken plugins: each has its exit code, and one line that names it."""
import json
import os
import shutil

from run_helper import ASSAY, BUILD, CONV, SMALL, RunTest, group, main

SMALL_RUN = (CONV, "--problem", SMALL, "--backend", "reference", "--threads", 1, "--max-time", 0.01)


class BadInput(RunTest):
    def refused(self, *words, names=(), code=2, **more):
        done = self.command(*words, code=code, **more)
        for name in names:
            self.assertIn(str(name), done.stderr)
        self.assertNotIn("report this", done.stderr)
        return done

    def a_result(self):
        file = self.folder / "made.json"
        if not file.exists():
            self.command(*SMALL_RUN, "--out", file, code=0)
        return file

    def shell(self, line, *words, code=None):
        return self.command("bash", "-c", line, "bash", *words, code=code)

    def test_lost_output_is_no_success(self):
        result = self.a_result()
        commands = [SMALL_RUN, (CONV, "--help"), (ASSAY, "--version"), (ASSAY, "list", "suites"), (ASSAY, "env"),
                    (ASSAY, "table", result), (ASSAY, "validate", result), (CONV, "--problem", SMALL, "--list"),
                    (ASSAY, "run", self.suite([group(["direct"], backend="reference")]), "--out", self.out)]
        for words in commands:
            for lost in ('"$@" >/dev/full', '"$@" >&-', '"$@" <&- >&-'):
                with self.subTest(words=[str(w) for w in words], lost=lost):
                    shutil.rmtree(self.out, ignore_errors=True)
                    done = self.shell(lost, *words, code=7)
                    self.assertIn("lost (stdout cannot be written", done.stderr)

    def test_without_stdin_and_stdout_files_are_whole(self):
        suite = self.suite([group(["direct"], backend="reference")])
        for streams in ("<&- >&-", "<&- >&- 2>&-"):
            shutil.rmtree(self.out, ignore_errors=True)
            self.shell('"$@" ' + streams, ASSAY, "run", suite, "--out", self.out, code=7)
            self.assertEqual([row["status"] for row in self.rows()], ["ok"])
            self.check_file()
            self.journal()  # every line of it is JSON
        page = self.folder / "table.txt"
        self.shell('"$@" <&- >&-', ASSAY, "table", self.a_result(), "--out", page, code=0)
        self.assertIn("reference", page.read_text())

    def test_empty_values(self):
        result = self.a_result()
        for words, name in [((ASSAY, "table", ""), "FILE"), ((ASSAY, "table", result, "--out", ""), "--out"),
                            ((ASSAY, "run", "smoke", "--filter", ""), "--filter"), ((ASSAY, "run", ""), "SUITE"),
                            ((*SMALL_RUN, "--out", ""), "--out"), ((CONV, "--suite", ""), "--suite"),
                            ((CONV, "--problem", ""), "--problem"), ((CONV, "--problem="), "--problem"),
                            ((*SMALL_RUN, "--required="), "--required"), ((ASSAY, "run", "smoke", "--no-ceilings="), "--no-ceilings"),
                            ((*SMALL_RUN, "--baseline", ""), "--baseline")]:
            with self.subTest(words=words):
                self.refused(*words, names=["empty value", name])

    def test_switches_mean_what_they_say(self):
        suite = self.suite([group(["direct"], backend="reference")], ceilings=True)
        self.run_suite(suite, "--no-ceilings=false", code=0)
        self.assertIn("bracket", json.loads((self.out / "result.json").read_text())["run"])
        shutil.rmtree(self.out)
        self.run_suite(suite, "--no-ceilings=true", code=0)
        self.assertNotIn("bracket", json.loads((self.out / "result.json").read_text())["run"])
        self.refused(ASSAY, "run", suite, "--no-ceilings=perhaps", "--out", self.folder / "x", names=["--no-ceilings", "perhaps"])

    def test_options_without_use(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.refused(ASSAY, "run", suite, "--allow-mixed", "--out", self.out, names=["--allow-mixed", "--resume"])
        self.assertFalse(self.out.exists())
        self.refused(CONV, "--problem", SMALL, "--list", "--out", self.folder / "x.json", names=["--out", "--list"])
        self.refused(CONV, "--problem", SMALL, "--list", "--seed", 3, names=["--seed", "--list"])
        self.refused(CONV, "--problem", SMALL, "--plan", suite, names=["--plan", "--suite"])

    def test_a_suite_without_cases_of_the_program(self):
        suite = self.folder / "gemm.json"
        suite.write_text('{"schema": "assay-suite/1", "name": "gemm", "cases": [{"benchmark": "gemm", "problem": ["m8n8k8"]}]}')
        for words in ((), ("--list",)):
            self.refused(CONV, "--suite", suite, *words, names=["no case of conv", "its benchmarks are gemm", "assay run"])

    def test_names_that_lead_nowhere(self):
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "tree").mkdir()
        (self.folder / "tree" / "loop.json").symlink_to("loop.json")
        long = "n" * 300
        result = self.a_result()
        for words, name in [((ASSAY, "table", self.folder / "loop"), "loop"), ((ASSAY, "table", self.folder / "tree"), "loop.json"),
                            ((ASSAY, "table", long), long), ((ASSAY, "run", long), long), ((ASSAY, "validate", long), long),
                            ((ASSAY, "run", self.folder / "loop"), "loop"), ((CONV, "--suite", long), long),
                            ((ASSAY, "table", result, "--out", self.folder / long), long),
                            ((*SMALL_RUN, "--out", self.folder / long), long), ((*SMALL_RUN, "--baseline", long), long),
                            ((ASSAY, "history", self.folder / "loop"), "loop")]:
            with self.subTest(words=[str(w) for w in words]):
                self.refused(*words, names=[name])

    def test_a_subfolder_that_cannot_be_read(self):
        nobody = {"user": "nobody"} if os.geteuid() == 0 else {}  # root reads everything
        tree, suite = self.folder / "tree", self.suite([group(["direct"], backend="reference")])
        closed = tree / "closed"
        closed.mkdir(parents=True)
        self.folder.chmod(0o777)
        closed.chmod(0)
        self.addCleanup(closed.chmod, 0o700)
        try:
            self.command(ASSAY, "--version", code=0, **nobody)
        except PermissionError:
            self.skipTest("only root may enter the folder of the build")
        for words in [(ASSAY, "table", tree), (ASSAY, "history", tree), (ASSAY, "accept", tree, "--criteria", "acceptance"),
                      (ASSAY, "run", suite, "--out", self.out, "--guard", tree)]:
            with self.subTest(words=[str(w) for w in words]):
                self.refused(*words, names=[closed, "cannot be used"], **nobody)

    def test_a_device_is_no_input(self):
        for words in [(ASSAY, "table", "/dev/zero"), (ASSAY, "validate", "/dev/zero"), (CONV, "--suite", "/dev/zero"),
                      (ASSAY, "run", "/dev/zero"), (ASSAY, "run", self.suite([group(["direct"])]), "--cases", "/dev/zero")]:
            with self.subTest(words=words):
                self.refused(*words, names=["/dev/zero"])

    def test_what_is_read_is_a_regular_file(self):
        """None is waited for: a pipe may never get a writer, a device may never end."""
        pipe, suite, result = self.folder / "pipe.json", self.suite([group(["direct"], backend="reference")]), self.a_result()
        os.mkfifo(pipe)
        runs = self.folder / "runs"
        runs.mkdir()
        os.mkfifo(runs / "result.json")
        journal = self.folder / "journal"
        journal.mkdir()
        os.mkfifo(journal / "journal.jsonl")
        job = (ASSAY, "job", suite, "--out", self.folder / "job", "--time", 5)
        for words in [*((ASSAY, command, pipe) for command in ("validate", "table", "report", "recover")),
                      (ASSAY, "validate", runs), (ASSAY, "table", runs), (ASSAY, "history", runs), (ASSAY, "compare", result, pipe),
                      (ASSAY, "accept", result, "--criteria", pipe), (ASSAY, "model", pipe, "--formula", "log(time) ~ log(flops)"),
                      (ASSAY, "model", "--scale", pipe), (ASSAY, "gather", result, "--node-file", pipe, "-o", self.folder / "x"),
                      (ASSAY, "recover", "/dev/zero", "--out", self.folder / "x"), (ASSAY, "run", pipe),
                      (ASSAY, "run", suite, "--cases", pipe), (ASSAY, "run", suite, "--launcher", pipe),
                      (ASSAY, "run", suite, "--site", pipe), (ASSAY, "run", suite, "--out", journal, "--resume"),
                      (*job, "--launcher", "slurm", "--setup", pipe), (*job, "--launcher", pipe), (CONV, "--suite", pipe),
                      (*SMALL_RUN, "--baseline", pipe), (*SMALL_RUN, "--plan", pipe), (*SMALL_RUN, "--journal", pipe),
                      ("bash", "-c", f"{ASSAY} validate <(cat {result})"), ("bash", "-c", f"cat {result} | {ASSAY} table /dev/stdin")]:
            with self.subTest(words=[str(w) for w in words]):
                self.refused(*words)

    def test_limits_of_a_suite(self):
        for more, pointer in [({"launch": {"ranks": 99999999999}}, "/launch/ranks"), ({"timing": {"max_time": 1e300}}, "/timing/max_time"),
                              ({"timing": {"min_samples": 10 ** 9}}, "/timing/min_samples"),
                              ({"timing": {"max_samples": 10 ** 9}}, "/timing/max_samples")]:
            suite = self.suite([group(["direct"], backend="reference")], **more)
            for words in [(ASSAY, "run", suite, "--out", self.out), (CONV, "--suite", suite), (ASSAY, "validate", suite)]:
                with self.subTest(words=[str(w) for w in words], pointer=pointer):
                    self.refused(*words, names=[suite, pointer])

    def test_unknown_names_of_a_suite(self):
        other = self.suite([group(["direct"], backend="reference"), {"benchmark": "cnv", "problem": [SMALL]}], name="other")
        self.refused(ASSAY, "run", other, "--out", self.out, names=[other, "/cases/1/benchmark", "conv"])
        baseline = self.suite([group(["direct"], backend="reference")], name="based", baseline=["deepbench-v100", "nobody"])
        self.refused(ASSAY, "run", baseline, "--out", self.out, names=[baseline, "/baseline/1", "nobody"])
        self.assertFalse(self.out.exists())

    def test_threads_that_cannot_be(self):
        for count in (50000, 65536, 99999999999):
            done = self.refused(CONV, "--problem", SMALL, "--backend", "reference", "--threads", count, names=[count])
            self.assertEqual(done.stdout, "")
        suite = self.suite([{**group(["direct"], backend="reference"), "threads": [50000]}])
        self.refused(ASSAY, "run", suite, "--out", self.out, names=[suite, "/cases/0/threads", 50000])

    def test_control_characters_are_escaped(self):
        for name in ("\x1b[2Jno", "a\rb", "bell\x07", "c\x9bd", "turn\u202ed"):
            for words in [(ASSAY, "table", name), (ASSAY, "list", name), (CONV, "--suite", name), (CONV, "--direction", name),
                          (ASSAY, "validate", name), (ASSAY, name)]:
                with self.subTest(words=words):
                    done = self.refused(*words)
                    self.assertFalse([c for c in done.stderr if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e"],
                                     repr(done.stderr))

    def test_regular_expressions_that_never_end(self):
        suite = self.suite([group(["direct"], backend="reference")])
        deep = "(" * 40000 + ")" * 40000
        self.run_suite(suite, "--filter", deep, code=0)  # it matches everything; std::regex died of it
        shutil.rmtree(self.out)
        self.refused(ASSAY, "run", suite, "--filter", "((a{1000}){1000}){1000}", "--out", self.out, names=["--filter"])
        self.refused(ASSAY, "run", suite, "--filter", "((a*)*)*Q", "--out", self.out, names=["matches none", f"See `assay run {suite} --list`"])
        self.refused(ASSAY, "run", suite, "--filter", "(?=a)", "--out", self.out, names=["(?="])

    def test_a_broken_plugin_costs_one_line(self):
        folder = self.folder / "plugins"
        folder.mkdir()
        for file in [*(BUILD / "tests" / "plugins-aborting").glob("*.so"), BUILD / "tests" / "plugins" / "libassay_emptyentry.so",
                     BUILD / "tests" / "plugins" / "libassay_misnamed.so"]:
            shutil.copy(file, folder)
        os.mkfifo(folder / "libassay_pipe.so")
        done = self.command(ASSAY, "list", "backends", env=self.environment(ASSAY_PLUGIN_PATH=str(folder)), code=0)
        lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
        for name, word in [("aborting", "signal 6"), ("emptyentry", "its entry is empty"), ("misnamed", "calls itself"),
                           ("pipe", "not a regular file")]:
            self.assertRegex(lines[name], rf"unavailable +.*{word}")
        self.assertRegex(lines["reference"], r"\bavailable")
        self.assertEqual(done.stderr, "")

    def test_a_hanging_plugin_costs_one_line(self):
        folder = self.folder / "plugins"
        folder.mkdir()
        shutil.copy(BUILD / "tests" / "plugins-hanging" / "libassay_hanging.so", folder)
        environment = self.environment(ASSAY_PLUGIN_PATH=str(folder))
        done = self.command(ASSAY, "list", "backends", env=environment, code=0)
        self.assertRegex(done.stdout, r"hanging +unavailable +did not start within 10 s")
        self.assertRegex(done.stdout, r"reference +available")
        self.assertIn("reference", json.loads(self.command(ASSAY, "env", env=environment, code=0).stdout)["software"]["libraries"])


class Processors(RunTest):
    def test_a_bound_main_thread_is_no_one_processor(self):
        def ids(**environment):
            done = self.command(CONV, "--problem", SMALL, "--backend", "reference", "--list", code=0,
                                env={**self.environment(), **environment})
            return done.stdout

        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor")
        self.assertEqual(ids(OMP_PROC_BIND="true"), ids())
        suite = self.suite([{k: v for k, v in group(["direct"], backend="reference").items() if k != "threads"}])
        self.run_suite(suite, env=self.environment(OMP_PROC_BIND="true"), code=0)
        self.assertEqual([row["id"] for row in self.rows()], [line.split()[0].replace("/auto/", "/direct/") for line in ids().splitlines()])


if __name__ == "__main__":
    main()
