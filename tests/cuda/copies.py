#!/usr/bin/env python3
"""assay-copy between a fake GPU (fake/cudart.cpp) and the host: what is copied where, errors, links. Nothing here says anything of
a real link."""
import json
import os
import pathlib

from run_helper import ASSAY, BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME"))
NVML = str(FAKES / "libnvidia-ml.so.1")


class Copies(RunTest):
    def rows(self, *words, code=0, **variables):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        environment = self.environment(**{"LD_PRELOAD": PRELOAD, "ASSAY_CUDA_TRACE": "0", **variables})
        self.command(BIN / "assay-copy", "--backend", "cuda", "--max-time", "0.001", "--min-samples", 2, "--out", out, *words,
                     env=environment, code=code)
        self.document = json.loads(out.read_text())
        return self.document["rows"]

    def test_every_path_is_right(self):
        for guarded in ("0", "1"):
            rows = self.rows("--from", "pinned,gpu0", "--to", "gpu0", "--direction", "one,both", "--problem", "8,1M",
                             FAKE_GPU_GUARDED=guarded)
            rows += self.rows("--from", "gpu0", "--to", "pinned", "--direction", "one,both", "--problem", "8,1M",
                              FAKE_GPU_GUARDED=guarded)
            for words in (("--from", "pageable", "--to", "gpu0"), ("--from", "gpu0", "--to", "pageable")):
                rows += self.rows(*words, "--problem", "8,1M", FAKE_GPU_GUARDED=guarded)
                row = self.rows(*words, "--direction", "both", "--problem", "8", code=6, FAKE_GPU_GUARDED=guarded)[0]
                self.assertIn("not at once", row["reason"])
            self.assertEqual(len(rows), 16)
            for row in rows:
                self.assertEqual(row["status"], "ok", row["reason"])
                paths = 2 if row["parameters"].get("direction") == "both" else 1
                self.assertEqual(row["verification"]["checked"], paths * row["problem"]["buffer_bytes"] // 8)
                self.assertEqual(row["parameters"]["device"], "gpu")

    def test_the_gpu_proves_what_lies_in_its_memory(self):
        # 4 MiB each; small tensors by which the kernels are proved cross, and little else.
        for direction in ("one", "both"):
            row = self.rows("--from", "gpu0", "--to", "gpu0", "--direction", direction, "--problem", "4M", FAKE_GPU_CROSSES="2000000")[0]
            self.assertEqual(row["status"], "ok", row["reason"])
        row = self.rows("--from", "gpu0", "--to", "gpu0", "--problem", "4M", FAKE_GPU_CROSSES="2000000", FAKE_GPU_LAUNCHES="0", code=7)[0]
        self.assertIn("copying", row["reason"])

    def test_two_gpus(self):
        for row in self.rows("--from", "gpu0,gpu1", "--to", "gpu0,gpu1", "--direction", "one,both", "--problem", "64K", FAKE_GPU_COUNT="2"):
            self.assertEqual(row["status"], "ok", row["reason"])
            how = ", peer" if row["parameters"]["from"] != row["parameters"]["to"] else ""
            self.assertEqual(row["executed"]["implementation"], "cudaMemcpyAsync" + how)
        row = self.rows("--from", "gpu0", "--to", "gpu1", "--problem", "64K", FAKE_GPU_COUNT="2", FAKE_GPU_PEERS="0")[0]
        self.assertEqual(row["executed"]["implementation"], "cudaMemcpyAsync, staged by the host")
        row = self.rows("--from", "gpu0", "--to", "gpu1", "--problem", "64K", code=6)[0]
        self.assertIn("sees 1 GPUs, of which none is gpu1", row["reason"])

    def test_what_fails_and_what_is_no_copy_of_it(self):
        row = self.rows("--from", "pinned", "--to", "gpu0", "--problem", "64K", code=7, FAKE_GPU_CROSSES="100000")[0]
        self.assertEqual((row["status"], row["rates"]), ("failed", {}))
        self.assertIn("copying", row["reason"])
        row = self.rows("--from", "pinned", "--to", "pageable", "--problem", "64K", code=6)[0]
        self.assertIn("Use --backend native", row["reason"])
        row = self.rows("--from", "numa0", "--to", "gpu0", "--problem", "64K", code=6)[0]
        self.assertIn("not numa0", row["reason"])

    def test_the_link_bounds_the_rate(self):
        words = ("--from", "pinned", "--to", "gpu0", "--problem", "64K")
        self.assertNotIn("link_bw", self.rows(*words, LD_PRELOAD=f"{PRELOAD}:{NVML}")[0]["executed"])
        row = self.rows(*words, LD_PRELOAD=f"{PRELOAD}:{NVML}", FAKE_NVML_GENERATION="1", FAKE_NVML_WIDTH="1", code=7)[0]
        self.assertIn("/rates/copy_bw", row["reason"])  # the fake is faster than one lane of 2 Gbit/s
        row = self.rows(*words, LD_PRELOAD=f"{PRELOAD}:{NVML}", FAKE_NVML_GENERATION="6")[0]
        self.assertAlmostEqual(row["executed"]["link_bw"], 16 * 64e9 / 8 * 242 / 256, delta=1)
        grace = self.rows(*words, LD_PRELOAD=f"{PRELOAD}:{NVML}", FAKE_NVML_GENERATION="1", FAKE_NVML_WIDTH="1", FAKE_GPU_HOST_TABLES="1")[0]
        self.assertNotIn("link_bw", grace["executed"])
        other = self.rows("--from", "pinned", "--to", "gpu1", "--problem", "64K", LD_PRELOAD=f"{PRELOAD}:{NVML}", FAKE_NVML_GENERATION="6",
                          FAKE_GPU_COUNT="2")[0]
        self.assertNotIn("link_bw", other["executed"])
        row = self.rows(*words, LD_PRELOAD=f"{PRELOAD}:{NVML}", FAKE_NVML_GENERATION="6")[0]
        row["executed"]["link_bw"] = row["rates"]["copy_bw"] / 2
        file = self.folder / "edited.json"
        file.write_text(json.dumps(self.document))
        self.assertIn("/rates/copy_bw", self.command(ASSAY, "validate", file, code=2).stderr)


if __name__ == "__main__":
    main()
