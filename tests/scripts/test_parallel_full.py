#!/usr/bin/env python3
# full: a training for each network, way to be parallel and number of ranks
"""Every way to be parallel trains networks of vectors and images to their targets, on 2 and on 4 ranks."""
import json

from run_helper import ASSAY, BIN, RunTest, main

VECTORS = ["--optimizer", "adam", "--data", "learnable:n2000v300"]
# Network: options, images of a step, at most so many epochs, quality and target. An untrained one has an accuracy of 0.1, a correlation of 0.
NETWORKS = {"mlp:i256w64l3c10": ([*VECTORS, "--rate", 0.003], 16, 8, "accuracy", 0.5),
            "candle-p1b1:i256w64n16": ([*VECTORS, "--rate", 0.003], 16, 16, "correlation", 0.8),
            "candle-p1b2:i256w64c10": ([*VECTORS, "--rate", 0.01], 16, 12, "accuracy", 0.4),
            "resnet18:w8s32c10": (["--rate", 0.1, "--data", "learnable:n1920v200"], 16, 8, "accuracy", 0.5)}
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ways(ranks):
    return ["sync", "stale:1", "async", "server:1", f"pipeline:{ranks}", f"split:{ranks}"]


class EveryWay(RunTest):
    def train(self, network, ranks, way):
        words, batch, epochs, _, target = NETWORKS[network]
        file = self.folder / "row.json"
        file.unlink(missing_ok=True)
        if way.startswith("pipeline"):
            batch, words = batch // 4, [*words, "--accumulate", 4]
        elif not way.startswith("split"):
            batch //= ranks
        self.command("mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", ranks, BIN / "assay-train", "--network", network, "--batch", batch,
                     "--parallel", way, "--threads", 1, "--backend", "native", "--scaling", "none", "--steps", 4, "--max-time", 0.1,
                     "--epochs", epochs, "--target", target, "--out", file, *words, code=0, env=self.environment(**MPI))
        self.command(ASSAY, "validate", file, code=0)
        return json.loads(file.read_text())["rows"][0]

    def test_each_network_reaches_its_target_in_each_way(self):
        for network, (*_, quality, target) in NETWORKS.items():
            for ranks in (2, 4):
                for way in ways(ranks):
                    with self.subTest(network=network, ranks=ranks, way=way):
                        row = self.train(network, ranks, way)
                        self.assertEqual(row["status"], "ok", row.get("reason"))
                        self.assertGreaterEqual(row["epochs"][-1][quality], target)
                        self.assertEqual((row["parameters"]["parallel"], row["parameters"]["ranks"]), (way, ranks))


if __name__ == "__main__":
    main()
