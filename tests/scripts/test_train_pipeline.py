#!/usr/bin/env python3
"""--parallel pipeline:P makes the steps of plain accumulation and trains to the same losses; split:K and groups of both train to the target; what does not fit is refused."""
import json
import shutil
import unittest

from run_helper import ASSAY, AT_ONCE, BIN, RunTest, main

# A small form of each network, and options with which its steps stay finite.
SMALL = {"mlp": ["mlp:i64w32l6c10p20", "--rate", 0.01], "candle-p1b2": ["candle-p1b2:i64w32", "--optimizer", "rmsprop", "--rate", 0.001],
         "candle-p1b1": ["candle-p1b1:i64w32n12", "--optimizer", "adam", "--rate", 0.001], "resnet18": ["resnet18:w4s32c10", "--rate", 0.01],
         "deeplab": ["deeplab:h32w32c4d16", "--rate", 1e-6]}
PASSES = 4


@unittest.skipIf(shutil.which("mpirun") is None, "there is no mpirun in PATH")
class TrainPipeline(RunTest):
    def row(self, ranks, *words, code=0, batch=4):
        file = self.folder / "row.json"
        for old in self.folder.glob("row.json*"):
            old.unlink()
        self.command("mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks, BIN / "assay-train", "--threads", 1, "--batch", batch,
                     "--backend", "native", "--scaling", "none", "--accumulate", PASSES, "--steps", 3, "--out", file, *words, code=code,
                     env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **AT_ONCE))
        row = json.loads(file.read_text())["rows"][0]
        if row["status"] == "ok":
            self.command(ASSAY, "validate", file, code=0)
        return row

    def expect_plain_accumulation(self, row, ranks):
        self.assertEqual(row["status"], "ok", row.get("reason"))
        metrics = {name: metric["value"] for name, metric in row["metrics"].items()}
        self.assertGreater(metrics["judged_steps"], 0)
        self.assertEqual(metrics["judged_steps_equal_bits"], metrics["judged_steps"])
        self.assertAlmostEqual(metrics["bubble_balanced"], (ranks - 1) / (PASSES + ranks - 1))
        self.assertAlmostEqual(sum(metrics[f"stage{i + 1}_flops_share"] for i in range(ranks)), 1)
        self.assertEqual(row["problem"]["global_batch_size"], 4 * PASSES)  # of all stages together
        return metrics

    def test_every_network_has_the_gradients_of_plain_accumulation(self):
        for name, network in SMALL.items():
            every = [(2, "", "bf16"), (4, ":fill-drain", "fp32"), (2, ":fill-drain", "bf16"), (4, "", "fp32")]
            for ranks, schedule, precision in every if name == "mlp" else every[:2]:
                with self.subTest(network=name, ranks=ranks, schedule=schedule, precision=precision):
                    row = self.row(ranks, "--network", *network, "--parallel", f"pipeline:{ranks}{schedule}", "--precision", precision)
                    metrics = self.expect_plain_accumulation(row, ranks)
                    slots = [metrics[f"stage{i + 1}_slots"] for i in range(ranks)]
                    self.assertEqual(slots, [PASSES] * ranks if schedule else [min(PASSES, ranks - i) for i in range(ranks)])

    def test_fp16_with_a_dynamic_loss_scale(self):
        row = self.row(2, "--network", *SMALL["resnet18"], "--parallel", "pipeline:2", "--precision", "fp16")
        self.expect_plain_accumulation(row, 2)
        file = self.folder / "row.json"
        whole = file.read_text()
        for name in ("bubble", "bubble_predicted", "bubble_balanced", "stage1_bubble", "stage2_slots", "stage1_flops_share", "judged_steps_equal_bits"):
            with self.subTest(changed=name):
                document = json.loads(whole)
                document["rows"][0]["metrics"][name]["value"] += 1
                file.write_text(json.dumps(document))
                self.assertIn(name, self.command(ASSAY, "validate", file, code=2).stderr)

    def test_trainings_reach_their_target_with_the_losses_of_one_rank(self):
        for network, batch, more in (("mlp:w64", 4, ["--data", "learnable:n2000v300", "--epochs", 6, "--rate", 0.06, "--target", 0.8]),
                                     ("resnet18:w4s32c5", 4, ["--data", "learnable:n480v100", "--epochs", 6, "--rate", 0.1, "--target", 0.6])):
            with self.subTest(network=network):
                words = ["--network", network, *more]
                plain = self.row(1, *words)
                self.assertEqual(plain["status"], "ok", plain.get("reason"))
                for ranks in (2, 4):
                    row = self.row(ranks, *words, "--parallel", f"pipeline:{ranks}")
                    self.expect_plain_accumulation(row, ranks)
                    self.assertEqual([epoch["training_loss"] for epoch in row["epochs"]],
                                     [epoch["training_loss"] for epoch in plain["epochs"]])
                    self.assertEqual([epoch["accuracy"] for epoch in row["epochs"]], [epoch["accuracy"] for epoch in plain["epochs"]])

    def expect_target(self, ranks, network, way, target, *words):
        row = self.row(ranks, "--network", network, "--parallel", way, "--target", target, *words)
        self.assertEqual(row["status"], "ok", row.get("reason"))
        self.assertGreaterEqual(row["epochs"][-1]["accuracy"], target)
        return {name: metric["value"] for name, metric in row["metrics"].items()}, row

    def test_divided_layers_train_to_the_target(self):
        for network, ranks, more in (("mlp:w64", 2, []), ("mlp:w64l3", 4, ["--precision", "bf16"])):
            with self.subTest(network=network, ranks=ranks):
                metrics, row = self.expect_target(ranks, network, f"split:{ranks}", 0.8, "--data", "learnable:n2000v300", "--epochs", 8, "--rate",
                                                  0.06, *more)
                self.assertIn("in fp64 against the undivided ones", row["verification"]["reference"])
                self.assertGreater(metrics["summed_bytes"], 0)

    def test_divided_convolutions_train_to_the_target(self):
        for ranks, way, divided in ((2, "split:2", 2), (4, "split:4", 4), (4, "split:2*sync", 2), (4, "pipeline:2*sync", 0)):
            with self.subTest(way=way):
                rate = 0.2 if "sync" in way else 0.1  # of twice as many images in a step
                metrics, row = self.expect_target(ranks, "resnet18:w4s32c5", way, 0.5, "--data", "learnable:n960v100", "--epochs", 6, "--rate", rate)
                self.assertEqual(row["problem"]["global_batch_size"], 4 * PASSES * (2 if "sync" in way else 1))
                if divided:
                    self.assertEqual(metrics["sums_of_pass"], 16)  # one forward and one backward in each of 8 blocks
                    self.assertGreater(metrics["divided_flops_share"], 0.5)
                    self.assertAlmostEqual(metrics["rank_flops_share"], 1 - metrics["divided_flops_share"] * (1 - 1 / divided))

    def test_other_shares_are_found(self):
        row = self.row(2, "--network", *SMALL["resnet18"], "--parallel", "split:2", "--precision", "fp16")
        self.assertEqual(row["status"], "ok", row.get("reason"))
        file = self.folder / "row.json"
        whole = file.read_text()
        for name in ("divided_flops_share", "rank_flops_share", "sums_predicted_s"):
            with self.subTest(changed=name):
                document = json.loads(whole)
                document["rows"][0]["metrics"][name]["value"] += 0.01
                file.write_text(json.dumps(document))
                self.assertIn("_share" if "share" in name else name, self.command(ASSAY, "validate", file, code=2).stderr)

    def test_divided_layers_of_candle(self):
        for name in ("candle-p1b1", "candle-p1b2"):
            for ranks, precision in ((2, "bf16"), (4, "fp32")):
                with self.subTest(network=name, ranks=ranks):
                    row = self.row(ranks, "--network", *SMALL[name], "--parallel", f"split:{ranks}", "--precision", precision)
                    self.assertEqual(row["status"], "ok", row.get("reason"))

    def test_what_does_not_fit_is_unsupported(self):
        mlp = ["--network", *SMALL["mlp"]]
        for words, reason in ((["--network", "candle-p1b2:i64w32", "--parallel", "pipeline:9"], "needs 2 ranks or more|there are 2 ranks"),
                              ([*mlp, "--parallel", "pipeline:3"], "there are 2 ranks"),
                              ([*mlp, "--parallel", "pipeline:2", "--lag", 1], "lag"),
                              ([*mlp, "--parallel", "split:2"], "no two layers"),
                              ([*mlp, "--parallel", "split:2*sync"], "there are 2 ranks"),
                              (["--network", "resnet18:w8s32c10", "--parallel", "split:2*sync", "--data", "generated:n64c10w40h40"], "files are read ahead"),
                              (["--network", "resnet18:w8s32c10", "--parallel", "split:2", "--optimizer", "larc"], "norms of whole parameters")):
            with self.subTest(words=words):
                row = self.row(2, *words, code=6)
                self.assertEqual(row["status"], "unsupported", row)
                self.assertRegex(row["reason"], reason)


if __name__ == "__main__":
    main()
