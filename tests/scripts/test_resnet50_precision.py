#!/usr/bin/env python3
"""assay-resnet50 in precisions other than fp32: emulated, gradients of filters in 16 bits, tf32."""
import json

from run_helper import ASSAY, BIN, RunTest, main

SMALL = ("--problem", "d18w8s32c5", "--threads", 1, "--max-time", 0.05)


class Precision(RunTest):
    def row(self, *words, batch=4, code=0):
        file = self.folder / "row.json"
        file.unlink(missing_ok=True)
        self.command(BIN / "assay-resnet50", *SMALL, "--batch", batch, *words, "--out", file, code=code)
        self.command(ASSAY, "validate", file, code=0)
        return json.loads(file.read_text())["rows"][0]

    def refused(self, *words):
        return self.command(BIN / "assay-resnet50", *SMALL, *words, code=2).stderr

    def test_emulated_precision(self):
        for precision in "bf16", "fp16":
            row = self.row("--emulate", precision)
            self.assertEqual((row["status"], row["parameters"]["precision"]), ("ok", "fp32"), row["reason"])
            self.assertIn(f"/emulate={precision}", row["id"])
            self.assertIn(f"emulated {precision}", row["executed"]["implementation"])
            self.assertEqual(row["executed"]["storage"], precision)
            self.assertNotIn(f"matrices in {precision}", row["executed"]["implementation"])
            self.assertEqual(row["parameters"]["loss_scale"], "dynamic" if precision == "fp16" else "none")
            for name in ("gradients_zero_percent", "gradients_not_finite", "weights_stale_percent", "steps_skipped", "loss_scale"):
                self.assertIn(name, row["metrics"])
        self.assertNotIn("emulate", self.row()["id"])
        self.assertIn("computes in fp32", self.refused("--emulate", "bf16", "--precision", "bf16"))
        row = self.row("--emulate", "bf16", "--data", "learnable:n640v200", "--epochs", 3, "--rate", 0.8, "--target", 0.5, batch=32)
        self.assertEqual(row["status"], "ok", row["reason"])

    def test_gradients_of_filters_in_16_bits(self):
        for words in (["--precision", "bf16"], ["--precision", "fp16"], ["--emulate", "bf16"]):
            for made in "16bit", "wide":
                row = self.row(*words, "--backend", "native", "--weight-gradients", made)
                self.assertEqual((row["status"], f"/weight_gradients={made}" in row["id"]), ("ok", made == "16bit"), row["reason"])
                self.assertEqual("20 gradients of filters made in" in row["executed"]["implementation"], made == "16bit")
        self.assertEqual(self.row("--precision", "fp16")["parameters"]["weight_gradients"], "wide")  # which processors have
        # A row that does not say how its gradients were made is none.
        row = json.loads((self.folder / "row.json").read_text())
        row["rows"][0]["parameters"]["weight_gradients"] = "16bit"
        row["rows"][0]["id"] = row["rows"][0]["id"].replace("/loss_scale", "/weight_gradients=16bit/loss_scale")
        (self.folder / "changed.json").write_text(json.dumps(row))
        self.assertIn("the problem of the layer", self.command(ASSAY, "validate", self.folder / "changed.json", code=2).stderr)
        self.assertIn("fp32 has no 16-bit tensors", self.refused("--weight-gradients", "16bit"))
        self.assertIn("Use 16bit, wide or auto", self.refused("--precision", "fp16", "--weight-gradients", "8bit"))

    def test_tf32_needs_a_backend_that_has_it(self):
        for words in ([], ["--direction", "inference"], ["--backend", "reference"]):
            row = self.row("--precision", "tf32", *words, code=6)
            self.assertRegex(row["reason"], "no backend computes conv1 forward .* has no tf32")


if __name__ == "__main__":
    main()
