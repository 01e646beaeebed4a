#!/usr/bin/env python3
"""assay-train: every network trains and infers here, verified as ResNet-50 is; unknown networks and fields are refused."""
import json
import shutil

from run_helper import BIN, SOURCE, RunTest, main

SMALL = {"mlp": "mlp:i64w32p20", "candle-p1b1": "candle-p1b1:i64w32n12", "candle-p1b2": "candle-p1b2:i64w32", "resnet18": "resnet18:w8s32c10", "resnet50": "resnet50:w8s32c10",
         **{name: f"{name}:h32w48c4d8" for name in ("tiramisu", "deeplab", "deepcam")}}

# Their losses are sums over pixels.
RATES = {"tiramisu": 1e-6, "deeplab": 1e-6}


class Train(RunTest):
    def row(self, *words, code=0, launcher=(), **variables):
        file = self.folder / "row.json"
        usual = [word for flag, value in (("--batch", 16), ("--steps", 2)) if flag not in words for word in (flag, value)]
        done = self.command(*launcher, BIN / "assay-train", "--threads", 1, *usual, "--out", file, *words, code=code,
                            env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **variables))
        self.said = done.stdout + done.stderr
        return json.loads(file.read_text())["rows"][0]

    def test_every_network_is_listed_and_has_a_small_form_here(self):
        listed = self.command(BIN / "assay", "list", "networks", code=0).stdout
        names = {line.split()[0] for line in listed.splitlines() if ":" not in line and line.split()} & {*SMALL}
        self.assertEqual(names, {*SMALL}, listed)
        cases = json.loads(self.command(BIN / "assay-train", "--network", "all", "--list", "--json").stdout)
        self.assertEqual({case["settings"]["problem"].split(":")[0] for case in cases}, {*SMALL})

    def test_steps_of_each_network_are_those_of_the_reference_trainer(self):
        for name, network in SMALL.items():
            for precision in ("fp32", "bf16"):
                with self.subTest(network=name, precision=precision):
                    row = self.row("--network", network, "--precision", precision, "--self-check", "yes", "--backend", "native",
                                   "--rate", RATES.get(name, 0.1))
                    self.assertEqual(row["status"], "ok", row.get("reason"))
                    self.assertIn("5 steps of a small network by a reference trainer", row["verification"]["reference"])
                    self.assertRegex(row["id"], f"^train/training/{precision}/.*{name}:")

    def test_fp16_and_ranks_with_optimizers_of_second_moments(self):
        for name, more in (("mlp", ["--optimizer", "adam"]), ("candle-p1b1", ["--optimizer", "adam"]), ("candle-p1b2", ["--optimizer", "rmsprop", "--alpha", 0.9])):
            for precision, ranks in (("fp16", 1), ("bf16", 2)):
                with self.subTest(network=name, precision=precision):
                    launcher = ["mpirun", "--oversubscribe", "-n", ranks] if ranks > 1 else []
                    steps = ["--accumulate", 2, "--lag", 1] if ranks > 1 else []
                    row = self.row("--network", SMALL[name], "--precision", precision, "--self-check", "yes", "--backend", "native", "--rate", 0.001,
                                   *more, *steps, launcher=launcher)
                    self.assertEqual(row["status"], "ok", row.get("reason"))

    def test_a_training_with_moments_continues(self):
        common = ["--network", SMALL["mlp"], "--optimizer", "adam", "--rate", 0.01, "--lag", 1, "--data", "learnable:n64v32", "--target", 1,
                  "--unreached", "kept", "--backend", "native", "--schedule", "constant"]
        whole = self.row(*common, "--epochs", 2)
        file = self.folder / "state"
        self.row(*common, "--epochs", 1, "--checkpoint", file)
        rest = self.row(*common, "--epochs", 2, "--checkpoint", file, "--restart", "yes")
        self.assertEqual(rest["epochs"][-1]["training_loss"], whole["epochs"][-1]["training_loss"])

    def test_inference_of_each_network(self):
        for name, network in SMALL.items():
            with self.subTest(network=name):
                row = self.row("--network", network, "--direction", "inference")
                self.assertEqual(row["status"], "ok", row.get("reason"))

    def test_vectors_are_learnt(self):
        row = self.row("--network", "mlp:w64", "--data", "learnable:n2000v300", "--epochs", 8, "--rate", 1, "--target", 0.85,
                       "--backend", "native", code=0)
        self.assertEqual(row["status"], "ok", row.get("reason"))
        self.assertGreaterEqual(row["epochs"][-1]["accuracy"], 0.85)

    def test_each_vector_network_reaches_a_target_in_each_precision_on_one_and_two_ranks(self):
        adam = ["--optimizer", "adam", "--scaling", "none", "--data", "learnable:n2000v300", "--batch", 20, "--steps", 0, "--max-time", 0.1]
        for network, quality, target, more in (
                ("mlp:i256w64l2c10", "accuracy", 0.5, ["--rate", 0.003, "--epochs", 6]),
                ("candle-p1b1:i256w64n16", "correlation", 0.92, ["--rate", 0.003, "--epochs", 6]),
                ("candle-p1b2:i256w64c10", "accuracy", 0.4, ["--rate", 0.01, "--epochs", 10])):
            for precision in ("fp32", "bf16", "fp16"):
                for ranks in (1, 2):
                    with self.subTest(network=network, precision=precision, ranks=ranks):
                        launcher = ["mpirun", "--oversubscribe", "-n", ranks] if ranks > 1 else []
                        row = self.row("--network", network, "--precision", precision, "--target", target, "--backend", "native", *adam, *more,
                                       launcher=launcher)
                        self.assertEqual(row["status"], "ok", row.get("reason"))
                        self.assertGreaterEqual(row["metrics"][quality]["value"], target)
                        self.assertEqual(row["metrics"][f"time_to_{quality}_s"]["value"], row["epochs"][-1]["seconds"])
                        named = {key for key in ("accuracy", "correlation", "iou") if key in row["metrics"] or key in row["epochs"][-1]}
                        self.assertEqual(named, {quality})
                        self.assertIn(f", {quality} {row['epochs'][-1][quality]:.4f}", self.said)

    def test_no_reader_takes_a_correlation_for_an_accuracy(self):
        self.row("--network", "candle-p1b1:i64w32n12", "--data", "learnable:n200v40", "--epochs", 2, "--target", 0.2, "--optimizer", "adam",
                 "--rate", 0.003, "--scaling", "none", "--backend", "native")
        file = self.folder / "row.json"
        self.command(BIN / "assay", "validate", file, code=0)
        table = self.command(BIN / "assay", "table", "--epochs", file, code=0).stdout
        self.assertIn("correlation fp32", table)
        self.assertNotIn("accuracy", table)
        self.assertIn("correlation 0.", self.command(BIN / "assay", "table", file, code=0).stdout)
        document = json.loads(file.read_text())
        row = document["rows"][0]
        row["metrics"] = {key.replace("correlation", "accuracy"): value for key, value in row["metrics"].items()}
        for epoch in row["epochs"]:
            epoch["accuracy"] = epoch.pop("correlation")
        file.write_text(json.dumps(document))
        self.assertIn("this network has correlation", self.command(BIN / "assay", "validate", file, code=2).stderr)

    def test_losses_are_held_against_those_of_known_trainings(self):
        shutil.copytree(SOURCE / "results-schema", self.folder / "results-schema")
        for name, wrong_rate in (("mlp", "0.03"), ("candle-p1b1", "0.0003"), ("candle-p1b2", "0.1"), ("tiramisu", "1e-05")):
            with self.subTest(name):
                file = self.folder / "results-schema/loss-bands" / f"{name}.json"
                bands = json.loads(file.read_text())
                settings = bands["settings"]
                words = ["--network", settings["problem"], "--target", 1, "--unreached", "kept", "--steps", 1, "--seed", 11,
                         *(word for key in ("data", "batch", "optimizer", "scaling", "epochs") for word in (f"--{key}", settings[key]))]
                known = self.row(*words, "--rate", settings["rate"])
                self.assertEqual(known["status"], "ok", known["reason"])
                self.assertIn(f"losses within the band of {name} fp32", known["verification"]["reference"])
                settings["rate"] = wrong_rate  # as of a trainer that takes another rate than it is told
                file.write_text(json.dumps(bands))
                wrong = self.row(*words, "--rate", wrong_rate, code=3, ASSAY_DATA_PATH=str(self.folder))
                self.assertEqual(wrong["status"], "incorrect")
                self.assertRegex(wrong["reason"], rf"^the loss of (training|validation) is .*, outside .*, the band of {name} fp32 \(10 seeds\)")

    def test_weight_decay_is_part_of_the_case_and_judged(self):
        common = ["--network", SMALL["candle-p1b2"], "--backend", "native", "--optimizer", "rmsprop", "--rate", 0.001]
        row = self.row(*common, "--weight-decay", "2e-5", "--self-check", "yes")
        self.assertEqual(row["status"], "ok", row.get("reason"))
        self.assertIn("/weight_decay=2e-05", row["id"])
        self.assertEqual(row["executed"]["weight_decay"], 2e-05)
        self.assertIn("weight_decay", row["step_parameters"])
        self.assertNotIn("weight_decay", self.row(*common)["id"])
        self.row(*common, "--weight-decay", 0)
        self.row("--network", "mlp:i64w32", "--backend", "native", "--optimizer", "lars", "--weight-decay", 0, "--self-check", "yes")
        self.assertIn("weight-decay", self.command(BIN / "assay-train", *common, "--weight-decay", 2, code=2).stderr)

    def test_what_is_unknown_is_refused(self):
        for words, reason in ((("--network", "mpl"), "mlp"), (("--network", "mlp:q4"), "q"), (("--network", "mlp:i0"), "i is 0"), (("--network", "mlp:p100"), "p is 100"),
                              (("--network", "candle-p1b2:w30"), "multiple of 4"),
                              (("--network", "mlp", "--data", "generated"), "files have square images"),
                              (("--network", "mlp", "--beta1", "0.5"), "--optimizer sgd has none"),
                              (("--network", "mlp", "--precision", "bf16", "--weight-gradients", "16bit"), "has none")):
            with self.subTest(words=words):
                done = self.command(BIN / "assay-train", *words, code=2)
                self.assertIn(reason, done.stderr)

    def test_fields_may_follow_an_at_sign(self):
        cases = json.loads(self.command(BIN / "assay-train", "--network", "mlp@w64", "--network", "mlp:i96w8@w64", "--list", "--json").stdout)
        self.assertEqual([case["settings"]["problem"] for case in cases], ["mlp:i1024w64l2c10", "mlp:i96w64l2c10"])


if __name__ == "__main__":
    main(verbosity=2)
