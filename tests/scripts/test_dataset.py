#!/usr/bin/env python3
"""assay-dataset: the programs find in its files what they generate; bad input and full disks leave no file."""
import json
import resource
import shutil
import signal
import subprocess

from run_helper import BIN, SOURCE, RunTest, main

DATASET = BIN / "assay-dataset"


class Dataset(RunTest):
    def write(self, table, *words, code=0, **more):
        return self.command(DATASET, table, "-o", self.folder / "x.npy", *words, code=code, **more)

    def metrics(self, program, *words):
        file = self.folder / "row.json"
        self.command(BIN / program, *words, "--threads", 1, "--max-time", 0.001, "--out", file, code=0)
        return {name: metric["value"] for name, metric in json.loads(file.read_text())["rows"][0]["metrics"].items()}

    def test_the_programs_compute_with_the_same_table(self):
        for table, labels, program, words in (
                ("classes", True, "assay-svm", ["--data", "classes"]), ("classes-coral", True, "assay-svm", ["--data", "coral2"]),
                ("clusters", False, "assay-kmeans", ["--clusters", 4]), ("clusters-coral", False, "assay-kmeans", ["--data", "coral2"]),
                ("normal", False, "assay-pca", []), ("spectrum", False, "assay-pca", ["--data", "spectrum", "--algorithm", "tsqr"])):
            with self.subTest(table):
                more = {"clusters": "k4", "spectrum": "cond1" + 16 * "0"}.get(table, "")
                self.write(f"{table}:n500d6{more}", "--seed", 3, *(["--labels", self.folder / "y.npy"] if labels else []))
                file = f"{self.folder}/x.npy" + (f"+{self.folder}/y.npy" if labels else "")
                words = [*words, "--seed", 3]
                generated = self.metrics(program, "--problem", "n500d6", *words)
                if "--data" in words:
                    words[words.index("--data") + 1] = file
                else:
                    words += ["--data", file]
                read = self.metrics(program, *words)
                self.assertTrue(generated)
                self.assertNotEqual(set(read) & set(generated), set())
                for name in set(read) & set(generated):  # a file's columns are centred first
                    self.assertAlmostEqual(read[name], generated[name], delta=1e-9 * abs(generated[name]), msg=name)

    def test_what_cannot_be_is_refused(self):
        for words, told in ((["lasses:n5d2"], "Did you mean 'classes'"), (["classes"], "no size"), (["classes:n5"], "d is missing"),
                            (["classes:n0d2"], "n"), (["clusters:n5d2"], "k is missing"), (["normal:n5d2k3"], "k"),
                            (["spectrum:n5d2"], "cond is missing"), (["normal:n5d2", "--labels", "y.npy"], "there are no labels"),
                            (["classes:n5d2", "--labels", self.folder / "x.npy"], "same file"), (["normal:n5d2", "--seed", "-1"], "--seed"),
                            (["normal:n9000000000000000000d2"], "64 bits")):
            with self.subTest(words):
                self.assertIn(told, self.write(*words, code=2).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_full_disk_leaves_what_was_there(self):
        self.write("normal:n5d2")
        old = (self.folder / "x.npy").read_bytes()
        done = self.write("normal:n1000d20", code=7, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))
        self.assertIn("File too large, `ulimit -f` allows 5000 bytes", done.stderr)
        self.write("classes:n1000d20", "--labels", "/dev/full", code=7)
        self.command(DATASET, "normal:n5d2", "-o", "/dev/full", code=7)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["x.npy"])
        self.assertEqual((self.folder / "x.npy").read_bytes(), old)

    def test_a_signal_leaves_nothing(self):
        for table in ("normal:n3000000d100", "images:n900000w500h400"):
            if table.startswith("images"):
                self.needs_images()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU):
                with self.subTest(table, number=number):
                    process = subprocess.Popen([DATASET, table, "-o", str(self.folder / "x.npy")], env=self.environment(), stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    self.addCleanup(lambda process=process: process.poll() is None and (process.kill(), process.wait()))
                    self.wait_until(lambda: any(file.name.endswith(".tmp") for file in self.folder.iterdir()))
                    process.send_signal(number)
                    self.assertEqual(process.wait(), -number)
                    self.assertEqual(list(self.folder.iterdir()), [])

    def needs_images(self):
        done = self.command(DATASET, "images:n1w8h8", "-o", self.folder / "probe")
        if "unsupported" in done.stderr:
            self.skipTest(done.stderr)
        shutil.rmtree(self.folder / "probe")

    def test_sets_of_images(self):
        self.needs_images()
        out = self.folder / "set"
        self.command(DATASET, "images:n12c3w40h30", "--files", 3, "-o", out, code=0)
        names = [f"set-{i:05}-of-00003.tfrecord" for i in range(3)]
        self.assertEqual(sorted(file.name for file in out.iterdir()), names)
        first = [(out / name).read_bytes() for name in names]
        self.assertIn("exists", self.command(DATASET, "images:n12c3w40h30", "-o", out, code=2).stderr)
        self.assertEqual([(out / name).read_bytes() for name in names], first)
        again = self.folder / "again"
        self.command(DATASET, "images:n12c3w40h30", "--files", 1, "-o", again, code=0)
        self.assertEqual((again / "again-00000-of-00001.tfrecord").read_bytes(), b"".join(first))
        digits = self.folder / "digits"
        self.command(DATASET, "images:n30w16", "--from", SOURCE / "tests/models/data/digits.csv", "--as", "folder", "--encoding", "png", "-o", digits, code=0)
        self.assertEqual(sorted(file.name for file in digits.iterdir()), [f"class_{i:04}" for i in range(10)])
        self.assertEqual(len(list(digits.rglob("*.png"))), 30)

    def test_images_that_cannot_be_are_refused(self):
        self.needs_images()
        out = self.folder / "set"
        for words, told in ((["images"], "no size"), (["images:n0"], "n"), (["images:n5x3"], "x"), (["images:n5w99999"], "above 16384"),
                            (["images:n5", "--quality", 101], "--quality"), (["images:n5", "--as", "zip"], "--as"), (["images:n5", "--files", 6], "--files"),
                            (["images:n5", "--labels", "y.npy"], "--labels"), (["images", "--from", "no.csv"], "no.csv"),
                            (["classes:n5d2", "--files", 2], "is for images"), (["imags:n5"], "Did you mean 'images'")):
            with self.subTest(words):
                self.assertIn(told, self.command(DATASET, *words, "-o", out, code=2).stderr)
        self.command(DATASET, "images:n50", "-o", out, code=7, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    main(verbosity=2)
