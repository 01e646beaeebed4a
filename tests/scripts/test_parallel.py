#!/usr/bin/env python3
"""assay-train --parallel stale:S|async|server:K: networks train to a target on 2 and 4 ranks, what does not fit is refused, killed and slow ranks."""
import json
import os
import pathlib
import signal
import unittest

from run_helper import ASSAY, AT_ONCE, BIN, RunTest, main

WAYS = ("async", "stale:1", "server:1")
SLOW_RANK = pathlib.Path(__file__).with_name("slow_rank.py")
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def one_step(row):
    """The row of a run that is said to have one step instead of eight."""
    row["problem"]["amounts"]["images_per_s"] /= 8
    row["rates"]["images_per_s"] /= 8


class Parallel(RunTest):
    def train(self, ranks, *words, code=0, within=(), **variables):
        self.file = self.folder / "row.json"
        self.file.unlink(missing_ok=True)
        done = self.command("mpirun.openmpi", "--oversubscribe", "-n", ranks, *within, BIN / "assay-train", "--threads", 1, "--backend", "native", "--out",
                            self.file, *words, code=code, env=self.environment(**MPI, **AT_ONCE, **variables))
        self.said = done.stdout + done.stderr
        return json.loads(self.file.read_text())["rows"][0] if self.file.exists() else None

    def test_networks_train_to_their_target(self):
        for network, target, more in (("mlp:w64", 0.8, ["--batch", 16, "--rate", 1, "--data", "learnable:n2000v200"]),
                                      ("resnet18:w4s32c5", 0.7, ["--batch", 8, "--rate", 0.4, "--data", "learnable:n1200v200"])):
            for ranks in (2, 4):
                for way in WAYS:
                    with self.subTest(network=network, ranks=ranks, way=way):
                        row = self.train(ranks, "--network", network, "--epochs", 8, "--target", target, "--steps", 8, "--parallel", way, *more)
                        self.assertEqual(row["status"], "ok", row["reason"])
                        self.command(ASSAY, "validate", self.file, code=0)
                        self.judge(row, ranks, way, target)
        self.expect_refused("amounts", "by its parallel", one_step)
        self.expect_refused("images", "by its parallel", lambda row: row["problem"].update(global_batch_size=1))

    def expect_refused(self, name, words, edit):
        """The last file with another row."""
        result = json.loads(self.file.read_text())
        edit(result["rows"][0])
        edited = self.folder / f"{name}.json"
        edited.write_text(json.dumps(result))
        done = self.command(ASSAY, "validate", edited)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(words, done.stdout + done.stderr)

    def judge(self, row, ranks, way, target):
        """The consequences of the numbers of the row themselves."""
        metrics = {name: of["value"] for name, of in row["metrics"].items()}
        workers = ranks - 1 if way == "server:1" else ranks
        servers = 1 if way == "server:1" else ranks
        batch, images = row["parameters"]["batch"], int(row["parameters"]["data"].split(":n")[1].split("v")[0])
        self.assertGreaterEqual(metrics["accuracy"], target)
        self.assertEqual(row["parameters"]["parallel"], way)
        self.assertIn(f"/parallel={way}", row["id"])
        self.assertEqual(row["problem"]["global_batch_size"], batch * workers)
        self.assertEqual(row["problem"]["amounts"]["images_per_s"], 8 * batch * workers)
        counts = {int(name.split("_")[3]): count for name, count in metrics.items() if name.startswith("gradients_of_staleness")}
        self.assertEqual(sum(counts.values()), metrics["updates_of_parts"])
        # Each gradient is an update of each part: at least those of the whole epochs.
        steps = images // (batch * workers)
        self.assertEqual(metrics["updates_of_parts"], metrics["epochs"] * steps * workers * servers, "of the training alone")
        self.assertEqual(metrics["gradients_lost"], 0)
        if way == "stale:1":
            self.assertEqual(metrics["steps_of_slowest_worker"], metrics["steps_of_fastest_worker"])
            self.assertLessEqual(metrics["largest_lead_steps"], 2)
            self.assertLessEqual(metrics["staleness_max"], 4 * workers)
        if workers == 1:
            self.assertEqual(metrics["staleness_max"], 0)
        self.assertIn("serial replay", row["verification"]["reference"])

    def test_16_bits_and_other_rules(self):
        for precision, rule, way in (("bf16", "adam", "async"), ("fp16", "sgd", "server:1"), ("fp32", "lamb", "stale:2")):
            with self.subTest(precision=precision, rule=rule):
                row = self.train(2, "--network", "mlp:i64w32p20", "--batch", 16, "--steps", 16, "--precision", precision, "--optimizer", rule,
                                 "--rate", 0.001, "--parallel", way)
                self.assertEqual(row["status"], "ok", row["reason"])
                self.command(ASSAY, "validate", self.file, code=0)

    def test_changed_numbers_are_refused(self):
        self.train(2, "--network", "mlp:i64w32p20", "--batch", 16, "--steps", 16, "--parallel", "async")
        whole = json.loads(self.file.read_text())
        for name, change in (("updates_of_parts", 3), ("gradients_lost", -3), ("staleness_max", 7),
                             ("staleness_mean", 0.01), ("steps_of_slowest_worker", 1e6)):
            document = json.loads(json.dumps(whole))
            document["rows"][0]["metrics"][name]["value"] += change
            self.refused(document, name)
        document = json.loads(json.dumps(whole))
        document["rows"][0]["problem"]["bytes"] = 1e9
        self.refused(document, "/problem/bytes")

        self.train(2, "--network", "mlp:w64", "--batch", 16, "--steps", 16, "--parallel", "split:2")
        whole = json.loads(self.file.read_text())
        self.command(ASSAY, "validate", self.file, code=0)
        summed = whole["rows"][0]["metrics"]["summed_bytes"]["value"]
        for name, value in (("summed_bytes", summed * 1.01), ("summed_bytes", summed * 3), ("summed_bytes", 64), ("sums_of_pass", -5),
                            ("sums_of_pass", 1.5), ("sums_s", -1e9), ("sums_alone_s", 0), ("memory_of_rank_bytes", -1)):
            document = json.loads(json.dumps(whole))
            document["rows"][0]["metrics"][name]["value"] = value
            self.refused(document, name)

        for network in ("resnet18:w8s32c10", "resnet50:w8s32c10"):
            self.train(2, "--network", network, "--batch", 4, "--steps", 4, "--parallel", "split:2")
            self.command(ASSAY, "validate", self.file, code=0)
            whole = json.loads(self.file.read_text())
            for name in ("summed_bytes", "sums_of_pass"):
                document = json.loads(json.dumps(whole))
                document["rows"][0]["metrics"][name]["value"] *= 3
                self.refused(document, name)

    def refused(self, document, name):
        with self.subTest(name=name):
            self.file.write_text(json.dumps(document))
            self.assertIn(name, self.command(ASSAY, "validate", self.file, code=2).stderr)

    @unittest.skipUnless("avx512f" in pathlib.Path("/proc/cpuinfo").read_text(), "oneDNN knows but one kernel here")
    def test_ranks_that_compute_other_bits_are_refused(self):
        for way in (["async"], ["pipeline:2", "--accumulate", 2]):
            with self.subTest(way=way):
                words = [BIN / "assay-train", "--threads", 1, "--backend", "onednn", "--network", "resnet18:w8s32c10", "--batch", 8,
                         "--steps", 8, "--parallel", *way]
                done = self.command("mpirun.openmpi", "--oversubscribe", "-n", 1, *words, ":", "-n", 1, "-x", "ONEDNN_MAX_CPU_ISA=AVX2", *words,
                                    code=6, env=self.environment(**MPI))
                self.assertIn("rank 1 computes other bits than rank 0", done.stdout)

    def test_what_does_not_fit_is_refused(self):
        for way, more, words in (("async", ["--lag", 1], "--lag is for --parallel sync"), ("async", ["--accumulate", 2], "--accumulate"),
                                 ("stale:1", ["--control", "flat"], "--control is for"), ("server:1", ["--wire", "fp16"], "--wire is for"),
                                 ("server:2", [], "leaves no rank that trains"), ("async", ["--self-check", "yes"], "--self-check is for"),
                                 ("async", ["--data", "learnable:n64v8", "--epochs", 1, "--checkpoint", self.folder / "kept"], "--checkpoint is for")):
            with self.subTest(way=way, more=more):
                self.train(2, "--network", "mlp:i64w32", "--batch", 8, "--steps", 8, "--parallel", way, *more, code=6)
                self.assertIn(words, self.said)
        self.assertIn("needs 2 ranks or more", self.command(BIN / "assay-train", "--network", "mlp:i64w32", "--parallel", "async", code=6).stdout)
        for way in ("stale:0", "stale", "asink", "server:0", "async:1"):
            self.assertIn("--parallel", self.command(BIN / "assay-train", "--network", "mlp:i64w32", "--parallel", way, code=2).stderr)
        done = self.command(BIN / "assay-train", "--network", "mlp:i64w32", "--direction", "inference", "--parallel", "async", code=6)
        self.assertIn("--parallel async is for training", done.stdout)

    def test_a_killed_rank_is_named_and_the_epoch_that_is_lost(self):
        # server:1 has a server and a worker; ranks of the others are all alike, or stages.
        for way, killed, ranks in (("server:1", 2, 3), ("server:1", 0, 3), ("async", 1, 3), ("stale:1", 1, 3), ("sync", 1, 3),
                                   ("pipeline:2", 1, 2), ("split:2", 1, 2)):
            with self.subTest(way=way, killed=killed):
                self.out = self.folder / f"{way}-{killed}"
                suite = self.suite([{"benchmark": "train", "problem": ["mlp:w64"], "batch": ["16"], "threads": [1], "backend": ["native"], "steps": [8],
                                     "data": ["learnable:n2000v200"], "epochs": [1000000], "target": ["1"], "rate": ["1e-6"], "parallel": [way],
                                     **({"accumulate": ["2"]} if way == "pipeline:2" else {})}])
                process = self.start_suite(suite, "--launcher", f"mpirun.openmpi --oversubscribe -n {ranks}", env=self.environment(**MPI))
                self.wait_until(lambda: any(b"epoch 3" in file.read_bytes() for file in self.out.rglob("*") if file.is_file()), process)
                ranks = [event["rank_processes"] for event in self.journal() if event["event"] == "launch"][0]
                os.kill(int(ranks[killed]), signal.SIGKILL)
                process.wait(timeout=100)
                (row,) = self.rows()
                self.assertEqual(row["status"], "failed")
                for words in (f"rank {killed}", "signal 9 (Killed)", "loss "):  # the last line of its epochs
                    self.assertIn(words, row["reason"])
                self.assertEqual(self.children_at_work(), [])

    def test_beside_a_slow_rank_all_ways_are_right_and_asynchronous_workers_do_not_wait(self):
        """It compares counts of steps: how long they take is the machine's."""
        for way in ("sync", "stale:1", "async", "server:1", "pipeline:2", "split:2"):
            with self.subTest(way=way):
                row = self.train(3 if way == "server:1" else 2, "--network", "resnet18:w8s32c10", "--batch", 16, "--rate", 0.1, "--steps", 8,
                                 "--data", "learnable:n1024v64", "--epochs", 1, "--target", 0, "--max-time", 0.1, "--parallel", way,
                                 *(["--accumulate", 2] if way == "pipeline:2" else []), within=(SLOW_RANK, 1, 0.2))
                self.assertEqual(row["status"], "ok", row["reason"])
                self.command(ASSAY, "validate", self.file, code=0)
                metrics = {name: of["value"] for name, of in row["metrics"].items()}
                if way == "stale:1":
                    self.assertEqual(metrics["steps_of_slowest_worker"], metrics["steps_of_fastest_worker"])
                    self.assertLessEqual(metrics["largest_lead_steps"], 2)
                elif way in ("async", "server:1"):
                    self.assertLess(metrics["steps_of_slowest_worker"], 0.9 * metrics["steps_of_fastest_worker"])
                    self.assertGreater(metrics["largest_lead_steps"], 2)


if __name__ == "__main__":
    main(verbosity=2)
