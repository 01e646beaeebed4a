#!/usr/bin/env python3
"""Networks for segmentation learn generated weather to a stated intersection over union."""
import json

from run_helper import BIN, RunTest, main

# network: optimizer, at most so many epochs of 120 samples, IoU. It is 0.32 if no event is found.
TRAININGS = {"deepcam": (["--optimizer", "adam", "--rate", 0.02], 7, 0.55),
             "deeplab": (["--optimizer", "larc-adam", "--rate", 0.003, "--lag", 1], 6, 0.42),
             "tiramisu": (["--optimizer", "adam", "--rate", 0.01], 5, 0.40)}


class Segmentation(RunTest):
    def rows(self, network, *words, ranks):
        file = self.folder / "row.json"
        launcher = ["mpirun", "--oversubscribe", "-n", ranks] if ranks > 1 else []
        self.command(*launcher, BIN / "assay-train", "--network", f"{network}:h32w32c4d8", "--threads", 1, "--backend", "native", "--scaling", "none",
                     "--out", file, *words, code=0, env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        return json.loads(file.read_text())["rows"]

    def learns(self, network, precisions, ranks):
        how, epochs, target = TRAININGS[network]
        rows = self.rows(network, *how, "--batch", 4 // ranks, "--precision", ",".join(precisions), "--data", "learnable:n120v24",
                         "--epochs", epochs, "--target", target, "--seed", 1, ranks=ranks)
        self.assertEqual([row["parameters"]["precision"] for row in rows], list(precisions))
        for row in rows:
            with self.subTest(row["id"]):
                self.assertEqual((row["status"], row["parameters"]["ranks"]), ("ok", ranks), row.get("reason"))
                self.assertGreaterEqual(row["metrics"]["iou"]["value"], target)
                self.assertNotIn("accuracy", row["metrics"])

    def test_networks_learn_to_a_target(self):
        """Each network, and each precision, on one and on two ranks; all combinations: test_segmentation_full.py."""
        for network, *precisions in (("deepcam", "fp32", "bf16"), ("deeplab", "fp16", "fp32"), ("tiramisu", "bf16", "fp16")):
            for ranks, precision in enumerate(precisions, 1):
                self.learns(network, [precision], ranks)

    def test_the_sizes_of_the_papers_are_those_without_fields(self):
        cases = json.loads(self.command(BIN / "assay-train", "--network", "tiramisu,deeplab,deepcam", "--list", "--json", code=0).stdout)
        self.assertEqual([case["settings"]["problem"] for case in cases],
                         ["tiramisu:h768w1152c16d1r2", "deeplab:h768w1152c16d1r2", "deepcam:h768w1152c16d1r8"])

    def test_sizes_that_halve_unevenly_are_refused(self):
        for network, reason in (("tiramisu:h40w48", "Use a multiple of 16"), ("deeplab:h30w48", "Use a multiple of 8"),
                                ("deepcam:d3", "Use 1, 2, 4, 8 or 16"), ("deeplab:w0", "w is 0"), ("deeplab:q2", "q")):
            done = self.command(BIN / "assay-train", "--network", network, "--list", code=2)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    main(verbosity=2)
