#!/usr/bin/env python3
"""assay-input: rows of generated sets and of files, ranks, and what bad input gives."""
import json
import os
import resource
import shutil
import signal
import subprocess

from run_helper import ASSAY, BIN, RunTest, main

INPUT, DATASET = BIN / "assay-input", BIN / "assay-dataset"


class Input(RunTest):
    def setUp(self):
        super().setUp()
        done = self.command(DATASET, "images:n24c5w60h48", "--files", 3, "--label-base", 1, "-o", self.folder / "set")
        if "unsupported" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def row(self, *words, code=0, before=(), problem="n16mb4s16", **more):
        file = self.folder / "row.json"
        file.unlink(missing_ok=True)
        self.command(*before, INPUT, "--problem", problem, "--threads", 2, "--max-time", 0.02, "--out", file, *words, code=code, **more)
        return json.loads(file.read_text())["rows"][0]

    def of_set(self, *words, **more):
        return self.row("--data", self.folder / "set", "--label-base", 1, "--classes", 5, *words, **more)

    def refused(self, *words, problem="n16mb4s16"):
        return self.command(INPUT, "--problem", problem, "--threads", 2, "--max-time", 0.02, *words, code=2).stderr

    def test_a_row_is_images_per_second_with_what_they_cost(self):
        for words in ([], ["--view", "evaluate"], ["--prefetch", 0], ["--interleave", 1], ["--image-layout", "nchw"], ["--step", 1]):
            with self.subTest(words):
                row = self.of_set(*words)
                self.assertEqual(row["status"], "ok")
                self.assertEqual(list(row["rates"]), ["images_per_s"])
                self.assertGreater(row["rates"]["images_per_s"], 0)
                self.assertIn("serial decode", row["verification"]["reference"])
                metrics = row["metrics"]
                self.assertEqual(metrics["bad_samples"]["value"], 0)
                for name in ("stall_percent", "encoded_bytes_per_image", "decode_s_per_image"):
                    self.assertGreater(metrics[name]["value"], 0)
        self.assertIn("tfrecord:n24c5:", row["id"])

    def test_a_step_hides_the_pipeline(self):
        # A consumer that waits long finds its batches ready; one that does not, waits for them.
        slow, fast = self.of_set("--step", 20), self.of_set()
        self.assertLess(slow["metrics"]["stall_percent"]["value"], fast["metrics"]["stall_percent"]["value"])

    def test_a_bare_loop_stands_beside_the_pipeline(self):
        # The suite of the pipeline has such cases; they are small here.
        file = self.folder / "both.json"
        self.command(INPUT, "--data", self.folder / "set", "--label-base", 1, "--classes", 5, "--problem", "n16mb4s16", "--threads", 2, "--prefetch", 0,
                     "--reader", "pipeline,bare_loop", "--max-time", 0.02, "--out", file, code=0)
        pipeline, bare = json.loads(file.read_text())["rows"]
        self.assertEqual((pipeline["status"], bare["status"]), ("ok", "ok"))
        self.assertEqual(bare["id"], pipeline["id"].replace("/label_base", "/reader=bare_loop/label_base"))
        self.assertEqual(list(bare["rates"]), ["images_per_s"])
        self.assertIn("whole images, bit by bit", bare["verification"]["reference"])
        self.assertAlmostEqual(bare["metrics"]["encoded_bytes_per_image"]["value"], pipeline["metrics"]["encoded_bytes_per_image"]["value"])
        # One line of the table has both.
        lines = self.command(ASSAY, "table", file, "--by", "reader", code=0).stdout.splitlines()
        self.assertEqual(len([line for line in lines if line.lstrip().startswith("n16mb4s16")]), 1, lines)
        # A flag that the loop does not have makes no case of its own, and an image that it cannot decode is told.
        self.assertIn("no use here", self.refused("--data", self.folder / "set", "--reader", "bare_loop", "--prefetch", 1))
        self.damage()
        self.assertIn("wrong checksum", self.refused("--data", self.folder / "set", "--label-base", 1, "--reader", "bare_loop", problem="n24mb4s16"))

    def test_ranks_share_a_set(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        row = self.of_set("--threads", 1, before=["mpirun", "-n", 2], env=environment)
        self.assertEqual((row["status"], row["parameters"]["ranks"]), ("ok", 2))
        self.damage()
        done = self.command("mpirun", "-n", 2, INPUT, "--data", self.folder / "set", "--label-base", 1, "--problem", "n16mb4s16", "--threads", 1, env=environment)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("wrong checksum of a record's data", done.stderr)

    def damage(self):
        file = self.folder / "set" / "set-00001-of-00003.tfrecord"
        data = bytearray(file.read_bytes())
        data[300] ^= 1
        file.write_bytes(data)
        return file

    def test_more_shards_than_files_may_be_open(self):
        self.command(DATASET, "images:n1100c5w16h16", "--files", 1100, "-o", self.folder / "many", code=0)
        row = self.row("--data", self.folder / "many", "--classes", 5, problem="n1100mb4s16",
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
        self.assertEqual((row["status"], row["metrics"]["bad_samples"]["value"]), ("ok", 0))

    def test_the_folder_for_temporary_files(self):
        for name in ("job[1]", "a*b?", "back\\slash"):  # Torque has brackets
            folder = self.folder / name
            folder.mkdir()
            row = self.row("--data", "generated:n16c5w60h48files2", env=self.environment(TMPDIR=str(folder)))
            self.assertEqual(row["status"], "ok", name)
            self.assertEqual(list(folder.iterdir()), [])
        file = self.folder / "row.json"
        done = self.command(INPUT, "--problem", "n16mb4s16", "--out", file, env=self.environment(TMPDIR=str(self.folder / "none")), code=7)
        self.assertIn(f"TMPDIR, {self.folder / 'none'} (No such file", done.stderr + file.read_text())

    def test_signals_and_the_watchdog_leave_no_generated_set(self):
        folder = self.folder / "temporary"
        folder.mkdir()
        environment = self.environment(TMPDIR=str(folder))
        large = "generated:n900000c5w500h400"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([INPUT, "--data", large, "--threads", "2"], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(lambda process=process: process.poll() is None and (process.kill(), process.wait()))
            self.wait_until(lambda: any(folder.glob("*/*")))
            process.send_signal(number)
            self.assertEqual(process.wait(), -number)
            self.assertEqual(list(folder.iterdir()), [])
        suite = self.suite([{"benchmark": "input", "problem": ["n16mb4s16"], "data": [large], "threads": [2]}])
        self.run_suite(suite, "--timeout", 3, env=environment, code=7)
        self.assertEqual([row["status"] for row in self.rows()], ["timeout"])
        self.assertEqual(list(folder.iterdir()), [])

    def test_bad_samples_are_fatal_above_the_number_allowed(self):
        file = self.damage()
        data = ["--data", self.folder / "set", "--label-base", 1, "--classes", 5]
        told = self.refused(*data, problem="n24mb4s16")
        self.assertIn(f"{file}, offset 0: wrong checksum of a record's data", told)
        self.assertIn("--max-bad-samples", told)
        row = self.of_set("--max-bad-samples", 1, problem="n24mb4s16")
        self.assertEqual((row["status"], row["metrics"]["bad_samples"]["value"]), ("ok", 1))
        # A label out of range: 0 is none where the first class is 1, and so on.
        self.assertIn("out of range", self.refused("--data", self.folder / "set", "--classes", 3, problem="n24mb4s16"))

    def test_what_cannot_be_is_refused(self):
        (self.folder / "empty").mkdir()
        (self.folder / "one.tfrecord").write_bytes(b"")
        for words, told in ((["--data", self.folder / "none"], "no TFRecord"), (["--data", self.folder / "empty"], "neither"),
                            (["--data", self.folder / "one.tfrecord"], "has no sample"), (["--problem", "n15mb4s16"], "not a whole number of batches"),
                            (["--problem", "mb4"], "s is missing"), (["--data", self.folder / "set", "--label-base", 1, "--problem", "n64mb32s16"], "exceeds the set"),
                            (["--threads", 0], "number of threads"), (["--step", -1], "--step"), (["--data", "generated:n0"], "n")):
            with self.subTest(words):
                self.assertIn(told, self.refused(*words))
        row = self.of_set("--view", "evaluate", problem="n28mb4s16", code=6)
        self.assertEqual(row["status"], "unsupported")


if __name__ == "__main__":
    main(verbosity=2)
