#!/usr/bin/env python3
"""assay mllog: the log of a run that MLPerf's compliance checker accepts, and every reason for which another run has none."""
import copy
import json
import re
import subprocess
import sys

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
GOLDEN = SOURCE / "tests" / "golden" / "mllog"
WHO = ["--org", "Example Lab", "--platform", "testbed"]
NETWORK = "d50w64s224c1000"
# The parameters of a run on ImageNet. Its images are not here, so its epochs are made up.
PARAMETERS = {"data": "tfrecord:n1281167c1000:0123456789ab", "validation": "tfrecord:n50000c1000:ba9876543210",
              "schedule": "poly:2:0.0001", "epochs": 8, "warmup": 2, "target": "0.759", "validate_every": 4}


def epochs():
    made = []
    for epoch in range(1, 9):
        start = 1700000000.25 + 1000 * epoch
        made.append({"epoch": epoch, "seconds": 1000.0 * epoch, "training_loss": 7 - 0.5 * epoch, "images_per_s": 1500.0,
                     "started_unix_s": start, "trained_unix_s": start + 900, "ended_unix_s": start + 900})
        if epoch % 4 == 0:
            made[-1].update({"accuracy": {4: 0.5, 8: 0.7612}[epoch], "validation_loss": 3 - epoch / 4, "ended_unix_s": start + 990})
    return made


def checker():
    """A Python that has mlperf_logging, or None."""
    for python in (sys.executable, PEERS):
        try:
            if subprocess.run([python, "-c", "import mlperf_logging, yaml"], stderr=subprocess.DEVNULL).returncode == 0:
                return python
        except OSError:
            pass
    return None


class Mllog(RunTest):
    result = None

    def trained(self):
        """The result of a real run, of a small network."""
        if Mllog.result is None:
            file = self.folder / "trained.json"
            self.command(BIN / "assay-resnet50", "--problem", "d18w8s32c5", "--batch", 32, "--threads", 1, "--max-time", 0.05, "--data",
                         "learnable:n320v100", "--epochs", 1, "--target", 0, "--rate", 0.8, "--seed", 1, "--out", file, code=0)
            Mllog.result = json.loads(file.read_text())
        return copy.deepcopy(Mllog.result)

    def submission(self, **changed):
        """The same file as if it were of ResNet-50 on ImageNet."""
        result = self.trained()
        row = result["rows"][0]
        # A row without the extents of its problem and without layers: nothing is recomputed from them.
        row["problem"] = {"descriptor": NETWORK, "flops": None, "bytes": None, "amounts": {},
                          "global_batch_size": row["problem"]["global_batch_size"]}
        row["rates"] = {}
        row.pop("layers", None)
        row.pop("layers_sum", None)
        self.put(row, **{**PARAMETERS, **changed})
        row["epochs"] = epochs()
        self.finish(row)
        row["setup_s"]["before_training"] = 100.0
        return result

    def put(self, row, **parameters):
        """Parameters, and the id that the form of ids makes of them."""
        row["parameters"].update(parameters)

        def part(match):
            name, omitted = match["value"] or match["named"], match["omitted"]
            value = row["problem"]["descriptor"] if name == "problem" else str(row["parameters"][name])
            if match["value"]:
                return value
            return "" if omitted is None or value == omitted else f"/{name}={value}"

        row["id"] = re.sub(r"\{(?P<value>[^}]*)\}|\[/(?P<named>[^]=]*)(=(?P<omitted>[^]]*))?\]", part, row["id_form"])

    def finish(self, row):
        last = row["epochs"][-1]
        for metric, name in (("epochs", "epoch"), ("accuracy",) * 2, ("validation_loss",) * 2, ("time_to_accuracy_s", "seconds")):
            row["metrics"][metric]["value"] = last[name]

    def log(self, result, *words, code=0):
        file = self.folder / "result.json"
        file.write_text(json.dumps(result))
        done = self.command(ASSAY, "mllog", file, *WHO, *words, code=code)
        if code != 0:
            self.assertEqual(done.stdout, "")
        return done.stderr if code else done.stdout

    def test_golden_logs(self):
        for rule in ("lars", "sgd"):
            with self.subTest(rule):
                self.assertEqual(self.log(self.submission(optimizer=rule)), (GOLDEN / f"{rule}.log").read_text())

    def test_what_the_submitter_says(self):
        out = self.folder / "run.log"
        self.log(self.submission(), "--status", "research", "--cache-cleared", "--out", out)
        lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in out.read_text().splitlines()]
        said = {line["key"]: line["value"] for line in lines}
        self.assertEqual((said["submission_status"], said["cache_clear"], said["submission_org"]), ("research", True, "Example Lab"))
        times = [line["time_ms"] for line in lines]
        self.assertEqual(times, sorted(times))
        self.assertIn("--status", self.log(self.submission(), "--status", "soon", code=2))
        self.assertIn("--org", self.log(self.submission(), "--org", "", code=2))

    def test_the_compliance_checker_accepts_it(self):
        python = checker()
        if python is None:
            self.skipTest("mlperf_logging is not installed (scripts/bootstrap --with-peers brings it)")

        def judged(text):
            file = self.folder / "result_0.txt"
            file.write_text(text)
            done = self.command(python, "-m", "mlperf_logging.compliance_checker", "--usage", "training", "--ruleset", "3.1.0", "--werror",
                                "--log_output", self.folder / "checker.log", file)
            return done.returncode == 0 and "SUCCESS" in done.stderr

        for rule in ("lars", "sgd"):
            text = self.log(self.submission(optimizer=rule))
            self.assertTrue(judged(text), rule)
            self.assertFalse(judged(text.replace("0.7612", "0.7412")), "the checker judges nothing")
            self.assertFalse(judged(text.replace("end_learning_rate", "end_rate")), "the checker judges nothing")

    def test_a_run_that_is_no_submission_says_every_reason(self):
        said = self.log(self.trained(), code=6)
        for reason in ("d18w8s32c5", "--data learnable:n320v100", "--validation none", "--schedule cosine", "its accuracy"):
            self.assertIn(reason, said)
        self.assertEqual(said.count("/rows/0: "), 5, said)

    def test_each_reason_alone(self):
        def epochs_without(row, change):
            change(row["epochs"])
            self.finish(row)

        changes = {
            "neither sgd nor lars": lambda row: self.put(row, optimizer="larc"),
            "--schedule poly:2:0.001": lambda row: self.put(row, schedule="poly:2:0.001"),
            "not a multiple of 0.001": lambda row: self.put(row, rate="0.801"),
            "neither 0 nor 0.1": lambda row: self.put(row, smoothing="0.2"),
            "50000 images": lambda row: self.put(row, validation="tfrecord:n49999c1000:ba"),
            "1281167 images": lambda row: self.put(row, data="generated:n1281167c1000"),
            "--max-bad-samples 3": lambda row: self.put(row, max_bad_samples=3),
            "--restart": lambda row: self.put(row, restart="yes"),
            "--trial 1": lambda row: self.put(row, trial=1),
            "--lag 1": lambda row: self.put(row, lag=1),
            "the momentum": lambda row: row["executed"].update(momentum=0.95),
            "the weight decay": lambda row: row["executed"].update(weight_decay=0.0003),
            "start time of the process": lambda row: row["setup_s"].pop("before_training"),
            "epoch 3 has no trained_unix_s": lambda row: row["epochs"][2].update(trained_unix_s=1.0),
            "epoch 1 has no started_unix_s": lambda row: row.update(
                epochs=[{name: number for name, number in epoch.items() if not name.endswith("_unix_s")} for epoch in row["epochs"]]
            ),
            "its accuracy 0.758 ": lambda row: epochs_without(row, lambda all: all[-1].update(accuracy=0.758)),
            "its accuracy 1 ": lambda row: epochs_without(row, lambda all: all[-1].update(accuracy=1.0)),
            "after epoch 4 and then after 7": lambda row: epochs_without(row, lambda all: all[6].update(accuracy=0.7)),
            "its first epoch is 2": lambda row: row["epochs"].pop(0),
            "throughput only": lambda row: row.pop("epochs"),
            "inference": lambda row: self.put(row, direction="inference"),
        }
        # Every reader refuses these already, since the row contradicts itself.
        contradictory = {"1281167 images", "the momentum", "the weight decay", "epoch 3 has no trained_unix_s",
                         "its accuracy 0.758 ", "after epoch 4 and then after 7", "its first epoch is 2"}
        for reason, change in changes.items():
            with self.subTest(reason):
                result = self.submission(optimizer="sgd")
                change(result["rows"][0])
                if reason in contradictory:
                    self.assertIn("Do not use this row.", self.log(result, code=2))
                    continue
                said = self.log(result, code=6)
                self.assertIn(reason, said)
                self.assertEqual(said.count("/rows/0: "), 1, said)
        published = self.command(ASSAY, "mllog", SOURCE / "results-schema" / "baselines" / "v100.json", *WHO, code=6).stderr
        self.assertIn("the row is published", published)

    def test_a_file_of_several_runs(self):
        result = self.submission()
        again = copy.deepcopy(result["rows"][0])
        again["launch"] = 1
        result["rows"].append(again)
        self.assertIn("--row", self.log(result, code=2))
        self.assertIn(":::MLLOG", self.log(result, "--row", 1))
        self.assertIn("--row", self.log(result, "--row", 2, code=2))
        self.put(again, optimizer="larc")
        self.assertIn(":::MLLOG", self.log(result))
        self.assertIn("neither sgd nor lars", self.log(result, "--row", 1, code=6))


if __name__ == "__main__":
    main(verbosity=2)
