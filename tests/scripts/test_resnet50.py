#!/usr/bin/env python3
"""assay-resnet50: rows of training and inference, files, ranks, checkpoints, and what bad input gives."""
import json
import re
import os
import shutil
import time
import unittest

from run_helper import ASSAY, BIN, BUILD, SOURCE, RunTest, main

RESNET, DATASET = BIN / "assay-resnet50", BIN / "assay-dataset"
SMALL = {"--problem": "d18w8s32c5", "--batch": 4, "--threads": 1, "--max-time": 0.05}
RANKS = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def options(words):
    """The words of a small network, and `words`, of which the last one counts."""
    pairs = dict(SMALL)
    pairs.update(zip(words[::2], words[1::2]))
    return [word for pair in pairs.items() for word in pair]


class Resnet(RunTest):
    def row(self, *words, code=0, before=(), **more):
        file = self.folder / "row.json"
        file.unlink(missing_ok=True)
        done = self.command(*before, RESNET, *options(words), "--out", file, code=code, **more)
        self.said = done.stderr
        self.command(ASSAY, "validate", file, code=0)
        return json.loads(file.read_text())["rows"][0]

    def refused(self, *words):
        return self.command(RESNET, *options(words), code=2).stderr

    def images(self, text="images:n40c5w40h36", *words):
        done = self.command(DATASET, text, "-o", self.folder / "set", *words)
        if "unsupported" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / "set"

    def test_a_row_is_images_per_second(self):
        row = self.row("--steps", 7)
        self.assertEqual((row["status"], len(row["samples_s"])), ("ok", 7))
        self.assertAlmostEqual(row["rates"]["images_per_s"], 4 / row["time_s"]["median"], delta=1e-3 * row["rates"]["images_per_s"])
        self.assertLessEqual({"images_per_s", "flops_per_s"}, set(row["rates"]))
        self.assertIn("throughput only", row["verification"]["reference"])
        self.assertIn("62 gradients", row["verification"]["reference"])
        for name in ("forward_s", "backward_s", "update_s", "input_percent", "exposed_communication_percent", "loss_of_last_step"):
            self.assertIn(name, row["metrics"])
        self.assertIn("operations by", row["executed"]["implementation"])
        # Weights, gradients and velocities of 0.2 million parameters alone are 2 MB.
        self.assertTrue(2e6 < row["metrics"]["peak_memory_bytes"]["value"] < 2e8, row["metrics"])
        inference = self.row("--direction", "inference")
        self.assertEqual(inference["status"], "ok")
        self.assertNotIn("backward_s", inference["metrics"])
        self.assertTrue(5e5 < inference["metrics"]["peak_memory_bytes"]["value"] < 2e8, inference["metrics"])  # weights: 8e5

    def test_layers_are_timed(self):
        for words, runs in ((["--accumulate", 2], 2), (["--direction", "inference"], 1)):
            with self.subTest(words):
                row = self.row(*words)
                layers = {(layer["layer"], layer["direction"]): layer for layer in row["layers"]}
                self.assertEqual(len(layers), len(row["layers"]))
                conv = layers["layer2.0.conv1", "forward"]
                self.assertEqual((conv["operation"], conv["runs"]), ("conv", runs))
                self.assertAlmostEqual(conv["rates"]["flops_per_s"] * conv["seconds"], conv["flops"], delta=1e-6 * conv["flops"])
                self.assertEqual(conv["problem"], "mb4ic8ih8oc16oh4kh3sh2ph1")
                # All operations of a step are there, and none twice.
                self.assertAlmostEqual(sum(layer["flops"] * layer["runs"] for layer in row["layers"]), row["problem"]["flops"],
                                       delta=1e-6 * row["problem"]["flops"])
                self.assertEqual(("parameters", "update") in layers, runs == 2)
                text = self.command(ASSAY, "table", self.folder / "row.json", "--layers", code=0).stdout
                self.assertIn("layer2.0.conv1", text)
                self.assertIn("No ceilings", text)
                self.assertLessEqual(max(map(len, text.splitlines())), 120)
                self.assertEqual(len(self.command(ASSAY, "table", self.folder / "row.json", "--layers", "--format", "csv", code=0).stdout.splitlines()),
                                 1 + len(layers))
        row = self.row("--epochs", 1, "--data", "learnable:n40v10", "--target", 1, code=9)
        self.assertNotIn("layers", row)
        self.command(ASSAY, "table", self.folder / "row.json", "--layers", code=2)

    def test_assay_run_compares_layers_with_their_ceilings(self):
        suite = self.folder / "small.json"
        suite.write_text(json.dumps({"schema": "assay-suite/1", "name": "small", "cases": [
            {"benchmark": "resnet50", "problem": ["d18w8s32c5"], "batch": ["4"], "threads": ["1"], "steps": ["5"]}]}))
        self.command(ASSAY, "run", suite, "--out", self.folder / "run", code=0)
        row = json.loads((self.folder / "run/result.json").read_text())["rows"][0]
        self.assertIsNotNone(row["ceiling"], row["ceiling_reason"])
        bounds = {layer["ceiling"]["bound_by"] for layer in row["layers"] if layer["ceiling"]}
        self.assertIn("compute", bounds)
        self.assertTrue(bounds - {"compute"}, bounds)
        for layer in row["layers"]:
            self.assertTrue(layer["ceiling"] or layer["ceiling_reason"], layer)
        text = self.command(ASSAY, "table", self.folder / "run", "--layers", code=0).stdout
        self.assertIn("of ceiling", text)

    def test_backends_and_optimizers(self):
        for words in (["--backend", "native"], ["--backend", "onednn"], ["--backend", "reference"], ["--optimizer", "lars"],
                      ["--optimizer", "larc", "--smoothing", 0.1], ["--precision", "bf16"], ["--precision", "fp16"],
                      ["--precision", "fp64", "--backend", "reference"]):
            with self.subTest(words):
                self.assertEqual(self.row(*words)["status"], "ok")
        self.row("--backend", "auto")
        environment = json.loads((self.folder / "row.json").read_text())["environments"][0]
        self.assertLessEqual({"native", "reference"}, set(environment["software"]["libraries"]), "what it may have chosen")

    def test_accumulated_gradients(self):
        for more in ([], ["--data", "learnable:n40v10"], ["--data", "learnable:n40v10", "--epochs", 1, "--target", 0]):
            with self.subTest(more):
                row = self.row("--accumulate", 3, *more)
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertIn("/accumulate=3", row["id"])
                self.assertEqual(row["problem"]["global_batch_size"], 12)
                self.assertAlmostEqual(row["rates"]["images_per_s"] * row["time_s"]["median"], 12)
        self.assertNotIn("accumulate", self.row("--accumulate", 1)["id"])
        self.assertIn("--accumulate 11", self.refused("--accumulate", 11, "--data", "learnable:n40v10", "--epochs", 1))
        self.refused("--accumulate", 0)
        row = self.row("--accumulate", 2, "--direction", "inference", code=6)
        self.assertIn("--accumulate 2", row["reason"])
        if shutil.which("mpirun"):
            row = self.row("--accumulate", 2, before=["mpirun", "-n", 2], env=RANKS)
            self.assertEqual((row["status"], row["problem"]["global_batch_size"]), ("ok", 16), row["reason"])

    @unittest.skipUnless(shutil.which("mpirun"), "unsupported: no mpirun")
    def test_control_messages(self):
        for control, more in (("flat", []), ("tree:2", ["--lag", 1]), ("flat", ["--accumulate", 2, "--data", "learnable:n40v10"])):
            with self.subTest((control, more)):
                row = self.row("--control", control, *more, before=["mpirun", "-n", 3], env=RANKS)
                self.assertEqual((row["status"], row["parameters"]["control"]), ("ok", control), row["reason"])
                # Rank 0 has two neighbours, each of which sends and gets a message of the one bucket.
                self.assertEqual(row["metrics"]["control_messages"]["value"], 4)
        self.assertIn("--control flat has no use", self.refused("--control", "flat"))  # one rank agrees with itself
        self.assertIn("--control tree:1", self.refused("--control", "tree:1"))

    def test_gradient_lag(self):
        for more in ([], ["--accumulate", 2, "--data", "learnable:n40v10"], ["--precision", "fp16"],
                     ["--data", "learnable:n40v10", "--epochs", 2, "--target", 0]):
            with self.subTest(more):
                row = self.row("--lag", 1, *more)
                self.assertEqual((row["status"], row["parameters"]["lag"]), ("ok", 1), row["reason"])
                self.assertIn("/lag=1", row["id"])
                self.assertIn("exposed_communication_percent", row["metrics"])
        self.assertNotIn("lag", self.row("--lag", 0)["id"])
        self.refused("--lag", 2)
        row = self.row("--lag", 1, "--direction", "inference", code=6)
        self.assertIn("--lag 1", row["reason"])
        file = self.folder / "checkpoint"
        words = ["--batch", 32, "--data", "learnable:n320v100", "--epochs", 2, "--target", 0, "--checkpoint", file]
        self.row(*words, "--lag", 1)
        whole = file.read_bytes()
        self.assertIn("its lag is 1, here 0", self.refused(*words, "--restart", "yes"))
        self.assertEqual(file.read_bytes(), whole)
        words[words.index("--target") + 1] = 1  # else nothing is left to train
        row = self.row(*words, "--unreached", "kept", "--lag", 1, "--restart", "yes")
        self.assertEqual([epoch["epoch"] for epoch in row["epochs"]], [2])

    def test_gradient_lag_of_ranks(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        for words in ([], ["--allreduce", "ring"], ["--allreduce", "shared_memory"], ["--allreduce-transport", "gloo"], ["--wire", "bf16"],
                      ["--data", "learnable:n320v100", "--batch", 16, "--epochs", 1, "--target", 0]):
            with self.subTest(words):
                row = self.row("--lag", 1, *words, before=["mpirun", "-n", 2], env=RANKS)
                self.assertEqual(row["status"], "ok", row["reason"])

    def test_a_small_training_is_compared_with_a_reference(self):
        words = ["--self-check", "yes", "--accumulate", 2, "--lag", 1, "--optimizer", "larc"]
        for before, more in (([], []), (["mpirun", "-n", 2], ["--wire", "bf16"])):
            with self.subTest(before):
                row = self.row(*words, *more, before=before, env=RANKS)
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertIn("5 steps of a small network by a reference trainer", row["verification"]["reference"])
                self.assertNotIn("self_check", row["id"])
        row = self.row("--direction", "inference", "--self-check", "yes", code=6)
        self.assertIn("--self-check yes is for training", row["reason"])

    def test_fields_of_the_problem_have_flags(self):
        small = ["--depth", 18, "--width", 8, "--image-size", 32, "--classes", 5]
        self.command(RESNET, *small, "--batch", 4, "--threads", 1, "--steps", 3, "--out", self.folder / "flags.json", code=0)
        row = json.loads((self.folder / "flags.json").read_text())["rows"][0]
        self.assertEqual(row["id"], self.row("--steps", 3)["id"])
        self.assertEqual(set(row["parameters"]), set(self.row()["parameters"]))

        def listed(*words):
            lines = self.command(RESNET, *words, "--list", code=0).stdout.splitlines()
            return [re.search("d[0-9]+w[0-9]+s[0-9]+c[0-9]+", line).group() for line in lines]

        self.assertEqual(listed("--depth", "18,50", "--classes", 7), ["d18w64s224c7", "d50w64s224c7"])
        self.assertEqual(listed("--problem", "d18w8s32c5,d50w4", "--classes", 7), ["d18w8s32c7", "d50w4s224c7"])
        for words in (["--depth", 34], ["--depth", "x"], ["--width", 0], ["--problem", "imagenet", "--depth", 18]):
            self.refused(*words) if "--problem" not in words else self.command(RESNET, *words, "--list", code=2)

    def test_published_rows_are_of_the_whole_network_alone(self):
        named = self.command(RESNET, "--list", code=0).stdout
        self.assertRegex(named, r"d50w64s224c1000/.*imagenet/resnet50-imagenet")
        self.assertIn("imagenet", self.command(RESNET, "--problem", "imagenet@s64", "--list", code=2).stderr)
        self.assertNotIn("imagenet", self.command(RESNET, "--problem", "d50w64s64c1000", "--list", code=0).stdout)

    def test_a_row_of_the_whole_network_stands_beside_published_ones(self):
        for name in "results-schema", "suites":
            shutil.copytree(SOURCE / name, self.folder / name)
        imagenet = self.folder / "suites/problems/resnet50/imagenet.json"  # a small network; test_long_lists_resnet50.py runs the whole one
        imagenet.write_text(imagenet.read_text().replace('"descriptor":"resnet50-imagenet"', f'"descriptor":"{SMALL["--problem"]}"'))
        environment = self.environment(ASSAY_DATA_PATH=str(self.folder))
        done = self.command(RESNET, "--batch", 1, "--steps", 1, "--threads", 1, "--out", self.folder / "row.json", code=0, env=environment)
        self.expect_published(done, SMALL["--problem"])
        self.assertNotIn("baseline_reason", self.row())  # of other networks there are none, and nobody asked

    def expect_published(self, done, problem):
        row = json.loads((self.folder / "row.json").read_text())["rows"][0]
        self.assertEqual((row["status"], row["problem"]["descriptor"]), ("ok", problem), row["reason"])
        self.assertEqual((row["baseline"]["system"], row["baseline"]["published"]), ("fugaku", True))
        self.assertRegex(done.stdout, r"(?m)^    fugaku: .* images/s \(published\), speedup .*batch 36 x 4 or 75 x 4")
        self.assertRegex(done.stdout, r"(?m)^    v100: .* images/s \(published\), speedup ")

    def test_training_reaches_an_accuracy_or_is_no_result(self):
        words = ["--batch", 32, "--data", "learnable:n640v200", "--epochs", 3, "--rate", 0.8]
        row = self.row(*words, "--target", 0.5)
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertGreaterEqual(row["metrics"]["accuracy"]["value"], 0.5)
        self.assertGreater(row["metrics"]["time_to_accuracy_s"]["value"], 0)
        self.assertIn("epoch 1: loss", self.said)
        epochs = row["epochs"]
        self.assertEqual([epoch["epoch"] for epoch in epochs], list(range(1, len(epochs) + 1)))
        self.assertEqual(len(epochs), self.said.count("; validation: loss"))
        for epoch in epochs:
            self.assertIn(f"epoch {epoch['epoch']}: loss {epoch['training_loss']:.4f}", self.said)
            self.assertIn(f"loss {epoch['validation_loss']:.4f}, accuracy {epoch['accuracy']:.4f}", self.said)
            self.assertLess(epoch["started_unix_s"], epoch["trained_unix_s"])
            self.assertLess(epoch["trained_unix_s"], epoch["ended_unix_s"])
        self.assertLess(abs(epochs[-1]["ended_unix_s"] - time.time()), 100)
        self.assertGreater(row["setup_s"]["before_training"], row["setup_s"]["verify"])
        self.assertNotIn("throughput only", row["verification"]["reference"])
        row = self.row(*words, "--target", 1, "--epochs", 1, code=9)
        self.assertNotIn("epochs", row)
        self.assertEqual(row["status"], "target missed")
        self.assertTrue(row["verification"]["passed"])
        self.assertIn("not 1 (--target)", row["reason"])
        self.assertIsNone(row["time_s"])
        row = self.row(*words, "--epochs", 10, "--rate", 100, "--schedule", "constant", "--backend", "native", "--steps", 1, code=3)
        self.assertEqual(row["status"], "incorrect")
        self.assertRegex(row["reason"], "^training diverged: .* Use a smaller learning rate")
        self.assertFalse(row["rates"])

    def test_a_throughput_stands_beside_the_convergence_of_its_steps(self):
        words = ["--batch", 32, "--steps", 3, "--rate", 0.8]
        training = ["--data", "learnable:n640v200", "--epochs", 3, "--target", 0.5]
        files = []
        for name, more in (("throughput", []), ("other", ["--optimizer", "lars"]), ("trained", training),
                           ("missed", [*training, "--optimizer", "lars", "--target", 1, "--epochs", 1])):
            self.row(*words, *more, code=9 if name == "missed" else 0)
            files.append((self.folder / "row.json").rename(self.folder / f"{name}.json"))
        rows = json.loads(self.command(ASSAY, "table", *files, "--format", "json", code=0).stdout)["rows"]
        names = {("sgd", 0): "throughput", ("lars", 0): "other", ("sgd", 3): "trained", ("lars", 1): "missed"}
        learnt, hashes = ({names[row["parameters"]["optimizer"], row["parameters"]["epochs"]]: row[field] for row in rows}
                          for field in ("convergence", "step_hash"))
        self.assertRegex(learnt["throughput"], r"^accuracy 0\.\d+ in [1-3] epochs? of learnable:n640v200$")
        self.assertEqual((learnt["trained"], learnt["other"], learnt["missed"]), (learnt["throughput"], "throughput only", None))
        self.assertEqual((hashes["throughput"], hashes["other"]), (hashes["trained"], hashes["missed"]))
        self.assertNotEqual(hashes["throughput"], hashes["other"])
        text = self.command(ASSAY, "table", *files, "--columns", "result,rate,convergence", code=0).stdout
        self.assertIn("throughput only", text)
        self.assertIn(learnt["throughput"], text)
        self.assertIn("throughput only", self.command(RESNET, *options(words), code=0).stdout)

    def test_losses_outside_the_band_of_a_known_training_are_incorrect(self):
        words = ["--batch", 32, "--steps", 1, "--data", "learnable:n320v100", "--epochs", 2, "--target", 1, "--unreached", "kept"]
        row = self.row(*words)
        self.assertNotIn("band", row["verification"]["reference"])
        shutil.copytree(SOURCE / "results-schema", self.folder / "results-schema")
        free = ["backend", "threads", "steps", "target", "unreached"]
        band = {"name": "fp32", "settings": {"precision": "fp32"}, "seeds": [1, 2, 3, 4, 5]}
        settings = {name: str(value) for name, value in row["parameters"].items() if name not in [*free, "precision", "allocator"]}

        def judged(factor, *more, code=0, **changed):
            for loss in ("training_loss", "validation_loss"):
                band[loss] = [[factor * part * epoch[loss] for epoch in row["epochs"]] for part in (0.98, 0.99, 1, 1.01, 1.02)]
            (self.folder / "results-schema/loss-bands/mine.json").write_text(json.dumps({
                "schema": "assay-loss-bands/1", "made": "by a test", "free": free, "bands": [band],
                "settings": {**settings, "problem": row["problem"]["descriptor"], **changed}}))
            return self.row(*words, *more, code=code, env=self.environment(ASSAY_DATA_PATH=str(self.folder)))

        kept = judged(1)
        self.assertEqual(kept["status"], "ok", kept["reason"])
        self.assertIn("losses within the band of mine fp32", kept["verification"]["reference"])
        for factor in 0.8, 1.25:
            wrong = judged(factor, code=3)
            self.assertEqual(wrong["status"], "incorrect")
            self.assertRegex(wrong["reason"], r"^the loss of training is .* after epoch 1, outside .*, the band of mine fp32 \(5 seeds\)")
            self.assertFalse(wrong["rates"])
        # The band that is shipped, of seeds that are not among its own.
        known = self.row("--problem", "d18w16s32c10", "--data", "learnable:n2000v500", "--batch", 32, "--rate", 0.1, "--epochs", 3,
                         "--target", 0.9, "--seed", 11)
        self.assertIn("losses within the band of learnable fp32", known["verification"]["reference"])
        # Another training has no band: by a setting of the file, and by one that it does not name.
        self.assertEqual(judged(1.25, rate="0.2")["status"], "ok")
        del settings["smoothing"]
        self.assertEqual(judged(1.25, "--smoothing", 0.1)["status"], "ok")
        self.assertEqual(judged(1.25, code=3)["status"], "incorrect")

    def test_a_checkpoint_continues(self):
        file = self.folder / "checkpoint"
        words = ["--batch", 32, "--data", "learnable:n320v100", "--epochs", 2, "--checkpoint", file]
        first = self.row(*words, "--target", 0)  # after the first epoch
        self.assertGreater(first["metrics"]["checkpoint_bytes_per_s"]["value"], 0)
        self.assertNotIn("checkpoint", first["id"])  # equal work is one series, wherever the file is
        row = self.row(*words, "--target", 0, "--restart", "yes")  # it is reached: nothing is left to train
        self.assertEqual(row["metrics"]["epochs"]["value"], 1)
        row = self.row(*words, "--target", 1, "--unreached", "kept", "--restart", "yes")
        self.assertEqual([epoch["epoch"] for epoch in row["epochs"]], [2])
        whole = file.read_bytes()
        for change, text in ((lambda b: b[:-1], "truncated"), (lambda b: b[:-5] + bytes([b[-5] ^ 1]) + b[-4:], "damaged")):
            with self.subTest(text):
                file.write_bytes(change(whole))
                damaged = file.read_bytes()
                self.refused(*words, "--restart", "yes")
                self.assertEqual(file.read_bytes(), damaged, "a refused checkpoint was overwritten")
        file.write_bytes(whole)
        self.assertIn("d18w8s32c5", self.refused(*words, "--restart", "yes", "--problem", "d18w4s32c5"))
        self.assertEqual(file.read_bytes(), whole)
        self.assertIn("its batch is 32, here 16", self.refused(*words, "--restart", "yes", "--batch", 16))
        self.assertIn("would be overwritten", self.refused(*words, "--rate", 0.2))
        self.assertEqual(file.read_bytes(), whole)
        self.refused(*words, "--restart", "yes", "--checkpoint", self.folder / "none-there")
        result = (self.folder / "row.json").read_bytes()
        self.assertIn("--restart yes", self.refused(*words, "--checkpoint", self.folder / "row.json"))
        self.assertEqual((self.folder / "row.json").read_bytes(), result)
        self.refused(*words, "--checkpoint", file / "in-a-file")
        # Two trainings would write one file: refused before the first of them is made.
        new = self.folder / "new"
        told = self.refused(*words, "--checkpoint", new, "--trial", "0,1")
        self.assertIn(f"--checkpoint {new}: 2 cases train", told)
        self.assertNotIn("epoch 1", told)
        self.assertFalse(new.exists())
        kept = options([*words, "--checkpoint", new, "--epochs", "0,2"])
        at = kept.index("--max-time")
        self.command(RESNET, *kept[:at], *kept[at + 2:], "--list", code=0)  # one of two cases trains
        self.assertIn("--checkpoint has one value, but 2 are given", self.refused(*words, "--checkpoint", f"{new},{file}"))
        self.assertFalse(new.exists())

    def test_files(self):
        images = self.images()
        row = self.row("--data", images, "--epochs", 1, "--target", 0)
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertIn("tfrecord:n40c5:", row["id"])
        self.assertIn("validated by the images of training", row["verification"]["reference"])
        self.assertGreater(row["metrics"]["input_percent"]["value"], 0)
        for name in ("stall_percent", "decode_s_per_image", "read_s_per_image", "encoded_bytes_per_image", "read_bytes_per_image"):
            self.assertIn(name, row["metrics"])
        self.assertGreater(row["metrics"]["mean_images_per_s"]["value"], 0)
        self.assertEqual((row["metrics"]["page_cache_percent"]["value"], row["metrics"]["bad_samples"]["value"]), (100, 0))
        self.assertNotIn("stall_percent", self.row("--data", "learnable:n40v10")["metrics"])
        for augment in "crop", "shift", "none":
            row = self.row("--data", images, "--augment", augment)
            self.assertEqual((row["status"], row["parameters"]["augment"]), ("ok", augment), row["reason"])
        self.assertIn("--augment shift has no use here", self.refused("--augment", "shift"))
        self.refused("--data", images, "--batch", 41)
        self.refused("--data", self.folder / "nothing")
        self.refused("--data", images, "--problem", "d18w8s32c3")  # labels beyond the classes
        more = self.folder / "more"
        self.command(DATASET, "images:n14c7w40h36", "-o", more, "--as", "folder", code=0)
        told = self.refused("--data", images, "--validation", more, "--epochs", 1, "--target", 0)
        self.assertIn(f"{more} has 7 classes, the network 5", told)
        for data, same in ((images, images), ("generated:n16c5w40h36files1", "generated:n8c5w40h36files1")):
            self.assertIn("these are images of --data", self.refused("--data", data, "--validation", same, "--epochs", 1, "--target", 0))
        for other in ("learnable:n320v100", "synthetic"):
            self.assertIn("has no use here", self.refused("--data", other, "--validation", images))

    def test_files_that_are_not_in_the_page_cache(self):
        images = self.images("images:n200c5w200h150")
        self.assertIn("--page-cache cold has no use here", self.refused("--page-cache", "cold"))
        row = self.row("--data", images, "--page-cache", "cold", "--steps", 10, code=None)
        if row["status"] == "failed":  # a file system in memory
            return self.assertIn("stay in the page cache", row["reason"])
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertGreater(row["metrics"]["read_bytes_per_image"]["value"], 0)
        self.assertLess(row["metrics"]["page_cache_percent"]["value"], 100)

    def test_bad_samples_are_fatal_with_their_place(self):
        images = self.images()
        file = next(images.parent.glob("set*"))
        file = file if file.is_file() else next(file.iterdir())
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data)
        self.assertIn("offset", self.refused("--data", images, "--epochs", 1, "--target", 0))
        # Once, though training and validation find it, and each of two ranks.
        launchers = [[], ["mpirun", "-n", 2]] if shutil.which("mpirun") else [[]]
        for before in launchers:
            row = self.row("--data", images, "--steps", 1, "--epochs", 2, "--target", 1, "--unreached", "kept", "--max-bad-samples", 1,
                           before=before, env=RANKS)
            self.assertEqual((row["status"], row["metrics"]["bad_samples"]["value"]), ("ok", 1), row["reason"])
        # The limit is for all ranks together: whichever of them finds the second one.
        data[len(data) // 4] ^= 0xFF
        file.write_bytes(data)
        for before in launchers:
            told = self.command(*before, RESNET, *options(["--data", images, "--steps", 1, "--epochs", 2, "--target", 1, "--max-bad-samples", 1]), code=2,
                                env=RANKS).stderr
            self.assertIn("--max-bad-samples is 1", told)
            self.assertIn("offset", told)

    def test_ranks_train_together(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        row = self.row("--data", "learnable:n320v100", "--batch", 16, "--epochs", 1, "--target", 0, before=["mpirun", "-n", 2], env=RANKS)
        self.assertEqual((row["status"], row["parameters"]["ranks"], row["problem"]["global_batch_size"]), ("ok", 2, 32), row["reason"])

    def test_ranks_add_gradients_in_every_way(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        for words in (["--allreduce", "ring"], ["--allreduce", "shared_memory"], ["--transport", "gloo"], ["--transport", "mpi"],
                      ["--wire", "bf16"], ["--wire", "fp16"]):
            with self.subTest(words):
                row = self.row(*words, before=["mpirun", "-n", 2], env=RANKS)
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertIn("gradients added by", row["executed"]["implementation"])
        self.assertIn("--allreduce ring has no use here", self.refused("--allreduce", "ring"), "one rank adds nothing")

    def test_ranks_add_gradients_over_the_mpi_of_their_launcher(self):
        for launcher, backend in (("mpirun.openmpi", "mpi"), ("mpirun.mpich", "mpich")):
            if shutil.which(launcher) is None or not (BUILD / "lib" / "assay" / f"libassay_{backend}.so").exists():
                continue
            with self.subTest(launcher):
                row = self.row("--allreduce", "ring", before=[launcher, "-n", 2], env=RANKS)
                self.assertEqual((row["status"], row["parameters"]["allreduce_transport"]), ("ok", "auto"), row["reason"])
                self.assertIn("gradients added by", row["executed"]["implementation"])

    def test_bad_options(self):
        for words in (["--problem", "d34"], ["--problem", "d18w0"], ["--batch", 0], ["--rate", "-1"], ["--smoothing", 1], ["--target", 2],
                      ["--epochs", 1], ["--restart", "yes"], ["--schedule", "steps"], ["--loss-scale", "fixed:3"], ["--data", "learnable:x3"],
                      ["--data", "learnable:n2v1", "--batch", 4]):
            with self.subTest(words):
                self.refused(*words)
        # Options that would change nothing, but stand in the row's id.
        for words in (["--restart", "yes", "--checkpoint", "none-there"], ["--label-base", 1], ["--max-bad-samples", 1],
                      ["--checkpoint", self.folder / "none-there"], ["--target", 0.5], ["--unreached", "kept"], ["--validate-every", 2]):
            with self.subTest(words):
                self.assertIn(f"{words[0]} {words[1]} has no use here", self.refused(*words))
        row = self.row("--device", "gpu", code=6)
        self.assertEqual(row["status"], "unsupported")
        for direction in "training", "inference":  # a backend of GPUs computes nothing on a processor
            row = self.row("--backend", "cuda", "--direction", direction, code=6)
            self.assertEqual(row["status"], "unsupported")
            self.assertIn("cuda computes no operation of the network", row["reason"])


if __name__ == "__main__":
    main(verbosity=2)
