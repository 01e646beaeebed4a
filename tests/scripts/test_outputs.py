#!/usr/bin/env python3
"""Outputs never overwrite inputs, results without a journal, or files that are no journals: exit 2, and nothing is touched."""
import json
import os
import pathlib
import re
import shutil

from run_helper import ASSAY, BIN, CONV, SMALL, RunTest, group, main

STANDALONE = [CONV, "--problem", SMALL, "--backend", "reference", "--threads", 1, "--max-time", 0.02]


class Outputs(RunTest):
    def setUp(self):
        super().setUp()
        self.result = self.folder / "b.json"
        self.command(*STANDALONE, "--out", self.result, code=0)

    def contents(self):
        return {file: file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}

    def refused(self, *words, says="overwrite an input"):
        before = self.contents()
        done = self.command(*words, code=2, cwd=self.folder)
        self.assertIn(says, done.stderr)
        self.assertEqual(self.contents(), before, "something was touched")

    def test_inputs_of_commands(self):
        os.link(self.result, self.folder / "hard.json")
        os.symlink(self.result, self.folder / "link.json")
        criteria = self.folder / "criteria.json"
        shutil.copy(pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", ".")) / "suites" / "criteria" / "acceptance.json", criteria)
        (self.folder / "runs" / "one").mkdir(parents=True)
        shutil.copy(self.result, self.folder / "runs" / "one" / "result.json")
        b = "b.json"
        for words in (["table", b, "-o", b], ["table", b, "-o", "hard.json"], ["table", b, "-o", "link.json"],
                      ["table", "--baseline", b, "hard.json", "-o", "b.json"], ["report", b, "-o", b],
                      ["compare", b, b, "--vary", "nothing", "-o", b], ["compare", b, b, "--vary", "nothing", "--flagged", b],
                      ["model", b, "--formula", "log(time) ~ log(flops)", "-o", b], ["accept", b, "--criteria", criteria, "-o", b],
                      ["accept", b, "--criteria", criteria, "--junit", criteria],
                      ["history", "runs", "-o", "runs/one/result.json"], ["history", "runs", "-o", "runs/anchors.jsonl"]):
            with self.subTest(words):
                self.refused(ASSAY, *words)

    def test_the_record_of_a_run(self):
        self.run_suite(self.suite([group(["direct"], backend="reference")]), code=0)
        (self.folder / "list").symlink_to(self.out)
        nodes = self.folder / "nodes"
        nodes.write_text("node1\n")
        for file in ("out/journal.jsonl", "list/journal.jsonl", "out/plan-0-0-conv.json", "out/log/0-0-conv.err.txt"):
            for words in (["table", "out", "-o", file], ["table", "b.json", "-o", file], ["report", "out", "-o", file],
                          ["compare", "out", "out", "--vary", "nothing", "--flagged", file],
                          ["accept", "out", "--criteria", "acceptance", "--junit", file], ["history", ".", "--junit", file],
                          ["model", "out", "--formula", "log(time) ~ log(flops)", "-o", file], ["gather", "out", "-o", file]):
                with self.subTest(words):
                    self.refused(ASSAY, *words, says="would overwrite")
        self.refused(ASSAY, "gather", "out", "--node-file", nodes, "-o", "nodes")

    def test_data_of_a_program(self):
        data = self.folder / "pictures"
        (data / "cats").mkdir(parents=True)
        for file in (self.folder / "x.npy", data / "cats" / "1.jpg", data / "train-00000-of-00001"):
            file.write_text("data")
        (self.folder / "link.npy").symlink_to("x.npy")
        os.link(self.folder / "x.npy", self.folder / "hard.npy")
        (self.folder / "here").symlink_to(".")
        for name in ("x.npy", "./x.npy", "link.npy", "hard.npy", "here/x.npy"):
            # It is refused before the file is opened, as far as another launch of the program may do that.
            for words in (["pca", "--data", "x.npy", "--launches", 2], ["kmeans", "--data", "./x.npy", "--launches", 2],
                          ["svm", "--data", name, "--launches", 2], ["gemm", "--backend", "blas", "--blas", self.folder / "x.npy"]):
                program = BIN / f"assay-{words[0]}"
                if program.exists():
                    with self.subTest(words, name=name):
                        self.refused(program, *words[1:], "--out", name)
        for program in ("input", "resnet50"):
            for file, name in (("pictures", "pictures/cats/1.jpg"), ("pictures/train-*", "here/pictures/train-00000-of-00001")):
                for flag in ("--data", "--validation") if program == "resnet50" else ("--data",):
                    if (BIN / f"assay-{program}").exists():
                        with self.subTest(program, file=file, flag=flag):
                            self.refused(BIN / f"assay-{program}", flag, file, "--launches", 2, "--out", name)
        if (BIN / "assay-resnet50").exists():
            self.refused(BIN / "assay-resnet50", "--data", "learnable:n320v100", "--epochs", 1, "--checkpoint", "new.json", "--launches", 2,
                         "--out", "./new.json")

    def test_a_folder_that_is_called_like_a_value(self):
        """Only what a program reads is an input: not the folders that bear the names of backends and numbers."""
        suite = self.suite([group(["direct"], backend="reference")])
        for name in ("reference", "1", "direct", "forward"):
            notes = self.folder / name / "notes.txt"
            notes.parent.mkdir()
            notes.write_text("of last week")
            for words in (STANDALONE, [CONV, "--suite", suite]):
                with self.subTest(name, words=words):
                    self.command(*words, "--out", f"{name}/notes.txt", cwd=self.folder, code=0)
                    notes.write_text("of last week")
        if (BIN / "assay-gemm").exists():  # a file that is read, given by a suite
            (self.folder / "x.so").write_text("no library")
            suite = self.suite([{"benchmark": "gemm", "problem": ["m8n8k8"], "backend": ["blas"], "blas": ["./x.so"]}])
            self.refused(BIN / "assay-gemm", "--suite", suite, "--out", "x.so")

    def test_the_new_checkpoint_beside_the_old_one(self):
        """A checkpoint is written as c.partial and then renamed. An input or a link of this name is refused."""
        if not (BIN / "assay-resnet50").exists():
            self.skipTest("assay-resnet50 was not built")
        words = [BIN / "assay-resnet50", "--problem", "d18w8s32c10", "--batch", 4, "--backend", "native", "--threads", 1, "--steps", 1,
                 "--data", "learnable:n16v8", "--epochs", 1, "--checkpoint", "c"]
        partial = self.folder / "c.partial"
        kept = self.folder / "kept"
        kept.write_text("kept")
        for make in (lambda: partial.symlink_to("kept"), lambda: os.link(kept, partial)):
            make()
            self.command(*words, cwd=self.folder)
            self.assertEqual(kept.read_text(), "kept")
            partial.unlink(missing_ok=True)
            (self.folder / "c").unlink(missing_ok=True)
        partial.mkdir()
        for name in ("train-00000-of-00001", "1.tfrecord"):
            (partial / name).write_text("data")
        self.refused(*words, says="c.partial")
        shutil.rmtree(partial)
        partial.write_text("data of somebody")
        self.refused(*words[:-4], "--epochs", 1, "--checkpoint", "c", "--validation", "c.partial", "--data", "c.partial", says="c.partial")
        self.refused(*words, "--launches", 2, "--out", "c.partial", says="c.partial")

    def test_nothing_is_written_through_a_link(self):
        (self.folder / "link.md").symlink_to("b.json")
        (self.folder / "gone.md").symlink_to("nowhere")
        other = self.folder / "other.json"
        shutil.copy(self.result, other)
        for link in ("link.md", "gone.md"):
            self.refused(ASSAY, "table", other, "-o", link, says="it is a link")
            self.refused(*STANDALONE, "--out", link, says="it is a link")

    def test_a_run_and_a_job_beside_their_inputs(self):
        for name in ("ceilings.json", "log/suite.json", "job.sh", "plan-0-0-conv.json", "result.json"):
            out = self.folder / "mine"
            suite = out / name
            suite.parent.mkdir(parents=True)
            suite.write_text(self.suite([group(["direct"], backend="reference")]).read_text())
            with self.subTest(name):
                self.refused(ASSAY, "run", suite, "--out", out)
                self.refused(ASSAY, "job", suite, "--out", "mine", "--launcher", "slurm", "--time", 5)
            shutil.rmtree(out)
        suite = self.suite([group(["direct"], backend="reference")])
        setup = out / "job.sh"
        out.mkdir()
        setup.write_text("true\n")
        self.refused(ASSAY, "job", suite, "--out", "mine", "--launcher", "slurm", "--time", 5, "--setup", setup)
        setup.unlink()
        for link in ("job.sh", "ceilings.json", "journal.jsonl"):
            (out / link).symlink_to(suite)
            self.refused(ASSAY, "run", suite, "--out", out, says="")
            self.refused(ASSAY, "job", suite, "--out", out, "--launcher", "slurm", "--time", 5, says="")
            (out / link).unlink()
        # A log that is a link gives way to a file.
        (out / "log").mkdir()
        kept = self.folder / "kept"
        kept.write_text("kept")
        (out / "log" / "0-0-conv.out.txt").symlink_to(kept)
        os.link(kept, out / "log" / "0-0-conv.err.txt")
        self.command(ASSAY, "run", suite, "--out", out, code=0)
        self.assertEqual(kept.read_text(), "kept")

    def test_a_suite_and_a_plan_of_a_program(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.refused(CONV, "--suite", suite, "--out", suite)
        plan = self.folder / "plan.json"
        plan.write_text("[]")
        self.refused(CONV, "--suite", suite, "--plan", plan, "--out", plan)
        self.refused(*STANDALONE, "--baseline", self.result, "--out", self.result)

    def test_a_result_without_its_journal(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.run_suite(suite, code=0)
        (self.out / "journal.jsonl").unlink()
        for more in ([], ["--resume"]):
            self.refused(ASSAY, "run", suite, "--out", self.out, *more, says="without its journal")

    def test_a_file_that_is_no_journal(self):
        for number, text in enumerate(("kept\nthe last line of notes", "notes\n", json.dumps({"a": 1}), json.dumps({"a": 1}, indent=1),
                                       self.result.read_text())):
            with self.subTest(text[:30]):
                file = self.folder / f"notes-{number}"
                file.write_text(text)
                self.refused(*STANDALONE, "--journal", file, says="is not a journal")

    def test_the_inputs_of_a_comparison_are_not_confirmed_into(self):
        runs = self.folder / "runs"
        suite = self.suite([group(["direct"], backend="reference")])
        for name in ("base", "new"):
            self.out = runs / name
            self.run_suite(suite, code=0)
        self.refused(ASSAY, "compare", runs / "base", runs / "new", "--vary", "nothing", "--confirm", runs)

    def test_a_suite_s_name_stays_in_results(self):
        suite = self.suite([group(["direct"], backend="reference")])
        for name in ("../../out", "/tmp/x", "..", "a/b", ".", "x" * 300):
            with self.subTest(name[:20]):
                document = json.loads(suite.read_text())
                document["name"] = name
                suite.write_text(json.dumps(document))
                before = {file for file in self.folder.iterdir()} | {self.folder / "results"}
                done = self.command(ASSAY, "run", suite, cwd=self.folder, code=0)
                (folder,) = (pathlib.Path(line.split("result: ")[1]).parent for line in done.stdout.split("\n") if "result: " in line)
                self.assertEqual(folder.parent, self.folder / "results")
                self.assertEqual({file for file in self.folder.iterdir()} | {self.folder / "results"}, before)

    def test_jobs_of_one_second_have_folders_of_their_own(self):
        """The clock is that of the machine: so many start that some must share a second."""
        import subprocess
        suite = self.suite([group(["direct"], backend="reference")])
        jobs = [subprocess.Popen([ASSAY, "run", str(suite)], cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for _ in range(4)]
        said = [job.communicate()[0] for job in jobs]
        self.assertEqual([job.returncode for job in jobs], [0] * 4, said)
        folders = [re.search(r"result: (\S+)", text).group(1) for text in said]
        self.assertEqual(len(set(folders)), 4)
        names = [folder.name for folder in (self.folder / "results").iterdir()]
        self.assertEqual(len(names), 4)

    def test_a_refused_run_leaves_no_folder(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.command(ASSAY, "run", suite, "--filter", "nothing-has-this-name", cwd=self.folder, code=2)
        self.command(ASSAY, "run", suite, "--against", self.folder, cwd=self.folder, code=2)
        self.assertFalse((self.folder / "results").exists())


if __name__ == "__main__":
    main(verbosity=2)
