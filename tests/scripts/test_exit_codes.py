#!/usr/bin/env python3
"""Exit codes of `assay` and the benchmarks, and what the messages name."""
import json
import os
import re

from run_helper import ASSAY, CONV, PLUGINS, SMALL, SOURCE, RunTest, group, main


class Usage(RunTest):
    def refused(self, *words, names=(), **more):
        done = self.command(*words, code=2, **more)
        for name in names:
            self.assertIn(name, done.stderr)
        self.assertEqual(done.stdout, "", "talk on stdout")
        return done

    def test_flags_and_commands(self):
        self.refused(ASSAY, "run", "smoke", "--lanches", 2, names=["--lanches", "--launches"])
        self.refused(ASSAY, "list", "backend", names=["backends"])
        self.refused(ASSAY, "table")
        self.assertIn("SUITE is missing (", self.refused(ASSAY, "run").stderr)
        self.assertIn("assay validate --help", self.refused(ASSAY, "validate").stderr)
        self.assertIn("no command was given", self.refused(ASSAY).stderr)
        self.assertIn("--seed needs a value. Use --seed N.", self.refused(ASSAY, "run", "smoke", "--seed").stderr)
        self.assertNotIn("1797", self.command(CONV, "--help", code=0).stdout)
        self.command(ASSAY, "--help", code=0)
        for command in sorted(file.stem.removesuffix("_command") for file in SOURCE.glob("cli/*_command.cpp")):
            self.assertIn("--help", self.command(ASSAY, command, "--help", code=0).stdout)

    def test_values_of_flags(self):
        suite = self.suite([group(["direct"])])
        for words in (["--launches", "0"], ["--launches", "two"], ["--max-time", "-1"], ["--max-time", "inf"], ["--timeout", "0"],
                      ["--seed", "1.5"], ["--seed", "-1"],
                      ["--precision-target", "nan"], ["--min-samples", "0"], ["--reference-budget", "inf"], ["--filter", "("], ["--filter", "matches-nothing"], ["--baseline", "deepbench-v10"]):
            with self.subTest(words):
                self.refused(ASSAY, "run", suite, "--out", self.out, *words, names=[words[1]])
                self.assertFalse(self.out.exists(), "a folder was made for a run that was refused")
        self.out.mkdir()
        self.refused(ASSAY, "run", suite, "--out", self.out, "--filter", "matches-nothing")
        self.assertTrue(self.out.exists(), "a folder was removed that was there before")

    def test_suites(self):
        self.refused(ASSAY, "run", "smoky", "--out", self.out, names=["smoke"])
        benchmark = self.suite([{"benchmark": "konv"}])
        self.refused(ASSAY, "run", benchmark, "--out", self.out, names=["konv", "conv"])
        self.assertFalse(self.out.exists(), "a folder was made for a suite that cannot be run")
        self.refused(ASSAY, "validate", benchmark, names=["/cases/0/benchmark", "konv"])
        for bad, names in ((group(["dirct"]), ["direct"]), (group(["direct"], backend="reference", precision=["fp33"]), ["fp32"]),
                           (group(["direct"], backend="onednm"), ["onednn"]), (group(["direct"], ["mb0ic1ih1oc1kh1"]), ["mb"])):
            with self.subTest(names):
                suite = self.suite([group(["direct"], backend="reference"), bad])
                key = {"direct": "algorithm", "fp32": "precision", "onednn": "backend", "mb": "problem"}[names[0]]
                told = f"assay: {suite} at /cases/1/{key}: "
                done = self.refused(ASSAY, "run", suite, "--out", self.folder / "x" / "y", names=names)
                self.assertTrue(done.stderr.startswith(told), done.stderr)
                self.assertFalse((self.folder / "x").exists(), "a folder was made for a suite that cannot be run")
                # A suite that a run would refuse is not valid.
                done = self.refused(ASSAY, "validate", suite, names=names)
                self.assertTrue(done.stderr.startswith(told), done.stderr)
                for valid in re.findall(r"\(valid: ([^)]*)\)", done.stderr):
                    self.assertEqual(len(valid.split(", ")), len(set(valid.split(", "))), "a valid name is told twice")
        self.refused(ASSAY, "validate", self.suite([group(["direct"])], baseline=["v10"]), names=["/baseline/0", "v10"])
        broken = self.folder / "broken.json"
        broken.write_text('{"schema": "assay-suite/1", "name": "x", "cases": [{"benchmark": 7}]}')
        self.refused(ASSAY, "run", broken, "--out", self.out, names=["broken.json", "/cases/0/benchmark"])

    def test_unwritable_out(self):
        suite = self.suite([group(["crash"])])  # would be seen if anything were run
        file = self.folder / "file"
        file.write_text("")
        places = [file / "below", "/proc/nowhere"]
        if os.geteuid() != 0:
            closed = self.folder / "closed"
            closed.mkdir(mode=0o500)
            places.append(closed / "out")
        for place in places:
            with self.subTest(place):
                self.refused(ASSAY, "run", suite, "--out", place)
        self.refused(CONV, "--problem", SMALL, "--backend", "reference", "--out", file / "below" / "x.json")

    def test_a_full_disk_after_timing_loses_no_result(self):
        done = self.command(CONV, "--problem", SMALL, "--backend", "reference", "--out", "/dev/full", code=7)
        self.assertIn("/dev/full", done.stderr)
        result = json.loads(done.stdout[done.stdout.index("\n{") :])
        self.assertEqual([row["status"] for row in result["rows"]], ["ok"])

    def test_validate(self):
        self.refused(ASSAY, "validate", self.folder / "absent.json", names=["absent.json"])
        cases = {
            "newer": ({"schema": "assay-result/2"}, ["newer"]),
            "unknown": ({"schema": "asay-result/1"}, ["assay-result"]),
            "none": ({"rows": []}, ["/schema"]),
            "list": ([], ["/schema"]),
            "missing": ({"schema": "assay-result/1", "run": {}}, []),
        }
        for name, (document, names) in cases.items():
            with self.subTest(name):
                file = self.folder / f"{name}.json"
                file.write_text(json.dumps(document))
                self.refused(ASSAY, "validate", file, names=[f"{name}.json", *names])
        # One bad file among good ones: all are told, the code is the bad one's.
        done = self.command(ASSAY, "validate", SOURCE / "suites" / "smoke.json", self.folder / "none.json", code=2)
        self.assertIn("smoke.json: ok", done.stdout)

    def test_shipped_files_are_valid(self):
        files = sorted((SOURCE / "suites").rglob("*.json")) + sorted((SOURCE / "results-schema" / "baselines").glob("*.json"))
        self.assertGreater(len(files), 5)
        self.command(ASSAY, "validate", *files, code=0)
        for what in ("backends", "benchmarks", "suites", "criteria", "problems", "baselines", "precisions", "launchers", "sites", "summaries"):
            self.assertNotIn("unusable", self.command(ASSAY, "list", what, code=0).stdout)


class Rows(RunTest):
    def test_a_program_that_measured_nothing_does_what_its_help_says(self):
        for algorithms, code, said in (("winograd", 6, "6 no row was measured"), ("direct,winograd", 0, "0 ok, or unsupported beside")):
            self.command(CONV, "--problem", SMALL, "--backend", "reference", "--algorithm", algorithms, "--max-time", 0.02, code=code)
            self.assertIn(said, " ".join(self.command(CONV, "--help", code=0).stdout.split()))

    def test_unsupported(self):
        # The reference has no Winograd: tolerated, unless the suite demands it.
        tolerated = self.suite([group(["direct", "winograd"], backend="reference")])
        self.run_suite(tolerated, code=0)
        self.assertEqual(sorted(row["status"] for row in self.rows()), ["ok", "unsupported"])
        self.assertTrue(all(row["reason"] for row in self.rows() if row["status"] == "unsupported"))
        self.out = self.folder / "required"
        self.run_suite(self.suite([group(["direct", "winograd"], backend="reference", required=True)]), code=7)

    def test_to_show_is_not_to_judge(self):
        # Programs that run them exit with 3 and 7; commands that only show such rows exit with 0.
        for algorithm, status, code in (("wrong_element", "incorrect", 3), ("throw", "failed", 7)):
            with self.subTest(status):
                self.out = self.folder / status
                self.run_suite(self.suite([group(["direct", algorithm])]), code=code)
                self.assertEqual(sorted(row["status"] for row in self.rows()), sorted(["ok", status]))
                for words in ([], ["--format", "csv"], ["--format", "markdown"], ["--by", "algorithm"]):
                    self.assertIn(status, self.command(ASSAY, "table", self.out, *words, code=0).stdout)
                page = self.folder / f"{status}.html"
                self.command(ASSAY, "report", self.out, "-o", page, code=0)
                self.assertIn(status, page.read_text())

    def test_unavailable_backends(self):
        for name, part in (("oldinterface", "built for interface 0123456789abcdef, this is "), ("missinglibrary", "libvanished.so"),
                           ("undefinedsymbol", "assay_test_function_that_nobody_has"), ("noentry", "assay_backend_entry")):
            with self.subTest(name):
                self.out = self.folder / name
                self.run_suite(self.suite([group(["auto"], backend=name)]), code=6)  # no row was measured
                self.assertEqual(self.rows()[0]["status"], "unsupported")
                self.assertIn(f"{name}: unavailable: ", self.rows()[0]["reason"])
                self.assertIn(part, self.rows()[0]["reason"])
                self.out = self.folder / f"{name}-required"
                self.run_suite(self.suite([group(["auto"], backend=name, required=True)]), code=7)
        shown = self.command(ASSAY, "list", "backends", code=0).stdout
        self.assertRegex(shown, r"oldinterface +unavailable .*0123456789abcdef")
        self.assertNotIn(": unavailable", shown)  # name and state have columns of their own
        self.assertRegex(shown, r"reference +available")


if __name__ == "__main__":
    main(verbosity=2)
