#!/usr/bin/env python3
"""A network is added to a copy of the tree by one file: its training and its inference are verified as those of ResNet-50 are."""
import json

from run_helper import main
from tree_copy_helper import PARTS, TreeCopyTest


class AddNetwork(TreeCopyTest):
    parts = (*PARTS, "comm", "datasets", "models")

    def row(self, program, *words):
        file = self.folder / "row.json"
        self.command(program, "--network", "convnet:s32c5", "--batch", 16, "--threads", 1, "--backend", "reference", "--steps", 2, "--out", file,
                     *words, env=self.environment_of_copy(), code=0)
        row = json.loads(file.read_text())["rows"][0]
        self.assertEqual(row["status"], "ok", row.get("reason"))
        self.assertTrue(row["verification"]["passed"])
        return row

    def test_network(self):
        self.add(("network",), ["models/convnet/networks.cpp"])
        programs, _, _ = self.build("assay-train", "assay_backend_reference")
        program = programs / "assay-train"
        row = self.row(program, "--self-check", "yes")
        self.assertRegex(row["id"], "^train/training/fp32/.*convnet:s32c5")
        self.assertEqual(row["problem"], {"classes": 5, "global_batch_size": 16, "image_size": 32, **row["problem"]})
        self.assertIn("5 steps of a small network by a reference trainer", row["verification"]["reference"])
        self.assertEqual({layer["layer"] for layer in row["layers"]} & {"conv1", "bn2", "fc"}, {"conv1", "bn2", "fc"})
        self.row(program, "--direction", "inference")
        trained = self.row(program, "--data", "learnable:n64v32", "--epochs", 1, "--target", 0)
        self.assertEqual(len(trained["epochs"]), 1)


if __name__ == "__main__":
    main(verbosity=2)
