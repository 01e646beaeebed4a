#!/usr/bin/env python3
"""Lists of problems of the user's own: --problem FILE.json, and lists beside a suite."""
import json
import pathlib
import shutil

from run_helper import ASSAY, BIN, CONV, SMALL, SOURCE, RunTest, group, main

FIRST, SECOND = SMALL, "mb2ic8ih8oc8oh8kh3ph1"


class ProblemFiles(RunTest):
    def list_file(self, folder="lists", **more):
        file = self.folder / folder / "mine.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"schema": "assay-problems/1", "benchmark": "conv", "name": "paper", "defaults": "mb1",
                                    "whole": "the layers of a paper",
                                    "problems": [{"name": "first", "descriptor": FIRST[3:], "repeat": 3},
                                                 {"name": "second", "descriptor": SECOND}], **more}))
        return file

    def listed(self, problem, code=0, **more):
        return self.command(CONV, "--problem", problem, "--backend", "reference", "--threads", 1, "--list", code=code, **more)

    def test_a_file_is_a_list(self):
        file = self.list_file()
        self.command(ASSAY, "validate", file, code=0)
        lines = self.listed(file).stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines], ["paper/first", "paper/second"])
        self.assertIn(f"/{FIRST}/", lines[0])
        self.assertEqual(self.listed(f"{file}/second").stdout.splitlines(), lines[1:])
        self.assertIn("/mb7", self.listed(f"{file}/second@mb7").stdout)
        # Relative to where the command runs; the ids do not depend on that.
        self.assertEqual(self.listed("mine.json", cwd=file.parent).stdout.splitlines(), lines)
        # It stands for its whole, as a shipped list does.
        self.command(CONV, "--problem", f"{file}@mb2", "--backend", "reference", "--threads", 1, "--max-time", 0.02, "--out",
                     self.folder / "r.json", code=0)
        rows = json.loads((self.folder / "r.json").read_text())["rows"]
        self.assertEqual({part["list"] for row in rows for part in row["part_of"]}, {"paper@mb2"})
        self.assertEqual([row["names"] for row in rows], [["paper/first", "paper/second"]], "equal problems are one case")
        self.assertIn("the layers of a paper", self.command(ASSAY, "table", self.folder / "r.json", code=0).stdout)

    def test_a_suite_names_a_list_beside_it(self):
        self.list_file("lists")
        suite = self.suite([group(["direct"], ["./lists/mine.json"], backend="reference")])
        self.run_suite(suite, code=0, cwd="/")
        self.assertEqual(sorted(row["names"][0] for row in self.rows()), ["paper/first", "paper/second"])
        # An edited list is another suite's cases: a resumed run refuses them.
        journal = self.out / "journal.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(line for line in lines if '"event":"row"' not in line.replace(" ", "")))
        (self.out / "result.json").unlink()
        self.list_file("lists", problems=[{"name": "first", "descriptor": SECOND}])
        done = self.run_suite(suite, "--resume", code=2)
        self.assertIn("problem list", done.stderr)
        parent = self.folder / "suites"
        parent.mkdir()
        moved = parent / "test.json"
        moved.write_text(suite.read_text().replace("./lists", "../lists"))
        self.command(ASSAY, "run", moved, "--list", code=0, cwd="/")

    def test_a_folder_is_named_like_a_file(self):
        file = self.list_file("lists.json")
        for text in (f"{file}/second", f"{file}/second@mb2", "lists.json/mine.json/second"):
            lines = self.listed(text, cwd=self.folder).stdout.splitlines()
            self.assertEqual([line.split()[-1] for line in lines], ["paper/second"])
        suite = self.suite([group(["direct"], ["./lists.json/mine.json/first"], backend="reference")])
        before = file.read_text()
        self.command(CONV, "--suite", suite, "--out", file, code=2, cwd="/")
        self.assertEqual(file.read_text(), before)
        self.run_suite(suite, code=0, cwd="/")
        self.assertEqual([row["names"] for row in self.rows()], [["paper/first"]])

    def test_refusals_name_the_file(self):
        file = self.list_file()
        for change, told in (({"benchmark": "gemm"}, "problems of gemm"), ({"name": "resnet50"}, "name of a shipped list"),
                             ({"problems": []}, "/problems"), ({"schema": "assay-suite/1"}, "/schema"),
                             ({"problems": [{"name": "bad", "descriptor": "ic8xx3"}]}, "xx")):
            with self.subTest(told):
                self.list_file(**change)
                done = self.listed(file, code=2)
                self.assertIn(told, done.stderr)
                if "descriptor" not in str(change):
                    self.assertIn("mine.json", done.stderr)
        self.list_file()
        self.assertIn("Did you mean 'second'", self.listed(f"{file}/secnd", code=2).stderr)
        self.assertIn("none.json", self.listed(self.folder / "none.json", code=2).stderr)
        self.assertIn("nothing follows @", self.listed(f"{file}@", code=2).stderr)
        for text in (f"{file}/", f"{file}/@mb7", "resnet50/"):
            self.assertIn(f"nothing follows / (in '{text}')", self.listed(text, code=2).stderr)
        before = file.read_text()
        self.command(CONV, "--problem", file, "--backend", "reference", "--out", file, code=2)
        self.assertEqual(file.read_text(), before)
        folder = self.folder / "my.jsonfiles"
        folder.mkdir()
        copy = shutil.copy(file, folder)
        self.command(CONV, "--problem", f"{copy}/first", "--backend", "reference", "--out", copy, code=2)
        self.assertEqual(pathlib.Path(copy).read_text(), before)
        suite = self.suite([group(["direct"], ["./lists/mine.json"], backend="reference")])
        self.command(CONV, "--suite", suite, "--out", file, code=2, cwd="/")
        self.assertEqual(file.read_text(), before)
        shipped = SOURCE / "suites" / "problems" / "conv" / "resnet50.json"
        self.assertIn("resnet50/conv1", self.listed(shipped).stdout)
        self.command(BIN / "assay-gemm", "--problem", shipped, "--list", code=2)


if __name__ == "__main__":
    main()
