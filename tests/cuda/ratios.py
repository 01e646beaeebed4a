#!/usr/bin/env python3
"""Each ratio of the group gpu of scripts/self-benchmark, from its first call to its pairs: Assay on the fake GPU, beside it
scripts/peers/pytorch_kernels on a fake PyTorch (fake_torch/torch.py) and a script in place of pytorch_resnet50. The numbers say nothing."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import sys
import unittest

from run_helper import BUILD, SOURCE, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME", "CUBLAS_SONAME", "CUSOLVER_SONAME"))
CUPTI = FAKES / os.environ["CUPTI_SONAME"]
LOADER = importlib.machinery.SourceFileLoader("self_benchmark", str(SOURCE / "scripts" / "self-benchmark"))
SELF = importlib.util.module_from_spec(importlib.util.spec_from_loader("self_benchmark", LOADER))
LOADER.exec_module(SELF)
RATIOS = {ratio.name: ratio for ratio in SELF.all_ratios()}
CASES = [{"benchmark": "conv", "problem": ["mb1ic4ih6oc4oh4kh3"], "precision": ["fp32", "fp16"], "direction": ["forward", "bwd_data", "bwd_weights"],
          "backend": ["cuda"], "device": ["gpu"], "algorithm": ["auto"]}]
# The copy that is the measure of others is too large for the fake GPU.
STREAM = """#!/usr/bin/env python3
import json, os, sys
words = {word: following for word, following in zip(sys.argv, sys.argv[1:]) if word.startswith("--")}
held = {} if os.environ.get("FAKE_GPU_HOLDS") != "0" else {"host_included": "all"}
gpu = {"gpu": "fake GPU of the tests", "cudnn": "9.19.0", "l2_bytes": 1048576}
row = {"id": words["--problem"], "status": "ok", "problem": {"bytes": 65536, "flops": 65536}, "samples_s": [1e-6] * 10,
       "time_s": {"median": 1e-6, "clock_s": 0, **held}}
if os.environ.get("FAKE_GPU_COUNT") == "0":
    row.update(status="unsupported", reason="cuda: unavailable: no GPU")
json.dump({"environments": [{"software": {"libraries": {"cuda": gpu}, "assay": {}}}], "run": {"started": "2026-01-01T00:00:00Z"}, "rows": [row]},
          open(words["--out"], "w"))
"""
# A peer whose steps take half a second.
PEER = """#!/usr/bin/env python3
import json, os, sys
if os.environ.get("FAKE_PEER_ENDS"):
    print("no compiler here", file=sys.stderr)
    sys.exit(int(os.environ["FAKE_PEER_ENDS"]))
print(json.dumps({"peer": "PyTorch 2.0 (fake)", "cudnn": "9.19.0", "gpu": "fake GPU of the tests", "folders": [], "words": sys.argv[1:]}), flush=True)
for _ in sys.stdin:
    print(0.5, flush=True)
"""


class Ratios(RunTest):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        peers = self.tree / "scripts" / "peers"
        shutil.copytree(SELF.FOLDER, self.tree / "tests" / "self_benchmark", ignore=shutil.ignore_patterns("*.cpp", "*.hpp", "__pycache__"))
        peers.mkdir(parents=True)
        for name in ("pytorch_kernels", "torch_clock.py"):
            shutil.copy(SOURCE / "scripts" / "peers" / name, peers)
        (peers / "pytorch_resnet50").write_text(PEER)
        (peers / "pytorch_resnet50").chmod(0o755)
        (self.tree / "suites").symlink_to(SOURCE / "suites")
        self.suite_file = self.suite(CASES)
        shutil.copytree(BUILD / "bin", self.folder / "build" / "bin", symlinks=True, copy_function=lambda file, to: os.symlink(file, to))
        (self.folder / "build" / "bin" / "assay-stream").unlink()
        (self.folder / "build" / "bin" / "assay-stream").write_text(STREAM)
        (self.folder / "build" / "bin" / "assay-stream").chmod(0o755)

    def ratio(self, name, code=0, preload=PRELOAD, **variables):
        """What a ratio prints."""
        environment = self.environment(**{
            "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay"), "ASSAY_BUILD_DIR": str(self.folder / "build"), "ASSAY_CUDA_TRACE": "0",
            "PYTHONPATH": str(SOURCE / "tests" / "cuda" / "fake_torch"), "LD_PRELOAD": preload, "FAKE_GPU_WORK_US": "8", **variables})
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        script = self.tree / "tests" / "self_benchmark" / RATIOS[name].file.name
        done = self.command(sys.executable, script, *RATIOS[name].words, "--pairs", 2, "--small", "--suite", self.suite_file, env=environment,
                            code=code)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def test_each_prints_its_pairs(self):
        names = [name for name in RATIOS if name.startswith("gpu_")]
        self.assertGreater(len(names), 30)
        for name in names:
            if name == "gpu_kernels":
                continue
            with self.subTest(name):
                told = self.ratio(name)
                if name == "gpu_conv_bf16":  # the fake cuDNN proposes transforms of which no check can tell
                    self.assertRegex(told["note"], r"without \w+ mb1ic4ih6oc4oh4kh3 \(.*cannot tell a wrong result from a right one")
                if name == "gpu_bandwidth":
                    self.assertRegex(told["note"], r"fp16 norm forward [0-9]+ % \([0-9]+ % with each input read once\)")
                self.assertIn("pairs", told, told)
                self.assertGreater(min(min(pair) for pair in told["pairs"]), 0)
                self.assertEqual((told["card"], len(told["date"])), ("fake GPU of the tests", 10))
                self.assertEqual("peer" in told, "PyTorch" in RATIOS[name].what)

    @unittest.skipUnless(CUPTI.exists(), "built without CUPTI")
    def test_samples_beside_cupti(self):
        kernel = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_tensor16x8x16_execute_kernel"
        told = self.ratio("gpu_kernels", preload=f"{PRELOAD}:{CUPTI}", ASSAY_CUDA_TRACE="1", FAKE_CUPTI_KERNELS=kernel, FAKE_CUPTI_US="8")
        self.assertEqual(len(told["pairs"]), 2, told)
        for longer, shorter in told["pairs"]:
            self.assertAlmostEqual(longer / shorter, 1, delta=1e-3)
        self.assertIn("skip", self.ratio("gpu_kernels"))

    def test_pairs_are_of_both_sides(self):
        for told in (self.ratio("gpu_training_tf32_b256_compiled"), self.ratio("gpu_inference")):
            self.assertEqual({pair[0] for pair in told["pairs"]}, {0.5})
        # 3 directions; the one case counts twice, and each run of the fake PyTorch takes 1 ms.
        rows = self.folder / "rows"
        rows.mkdir()
        told = self.ratio("gpu_conv_fp16", ASSAY_GPU_ROWS=str(rows))
        self.assertEqual(len(json.loads((rows / "gpu_conv_fp16-000.json").read_text())["rows"]), 6)
        self.assertRegex(told["note"], "^forward 3.00 ms by PyTorch, [0-9.]+ by Assay; bwd_data 3.00 ")
        self.assertNotIn("without", told["note"])
        for theirs, ours in told["pairs"]:
            self.assertAlmostEqual(theirs, 3 * 3e-3)
            self.assertAlmostEqual(ours / 8e-6, round(ours / 8e-6), delta=0.01)

    def test_no_ratio_without_a_right_peer(self):
        for variables, reason in (({"FAKE_TORCH_GPU": "0"}, "finds no GPU"),
                                  ({"FAKE_TORCH_CUDNN": "91400"}, "Assay has cuDNN 9.19.0, PyTorch 9.14.0")):
            self.assertIn(reason, self.ratio("gpu_conv_fp16", **variables)["skip"])
        self.assertIn("errs by 1.0e+00", self.ratio("gpu_triad", code=1, FAKE_TORCH_ERROR="1"))
        self.assertIn("waits for the GPU by itself", self.ratio("gpu_kmeans", code=1, FAKE_TORCH_HOLDS="0"))
        for ends, code in ((2, 0), (3, 0), (7, 1)):
            told = self.ratio("gpu_training_fp16_b64_compiled", code=code, FAKE_PEER_ENDS=str(ends))
            self.assertIn("no compiler here", told["skip"] if code == 0 else told)

    def test_convolutions_in_fp32_are_in_fp32(self):
        sys.path[:0] = [str(SOURCE / "scripts" / "peers"), str(SOURCE / "tests" / "cuda" / "fake_torch")]
        import torch
        import torch_clock
        for precision in ("tf32", "fp32", "fp16"):
            torch_clock.prepare(torch, precision)
            allowed = {torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32}
            self.assertEqual((torch.backends.cudnn.benchmark, allowed), (True, {precision == "tf32"}))

    def test_no_ratio_without_a_gpu(self):
        for name in ("gpu_launches", "gpu_bandwidth", "gpu_conv_fp32", "gpu_setup_median", "gpu_smoke", "gpu_suite"):
            self.assertRegex(self.ratio(name, FAKE_GPU_COUNT="0")["skip"], "cuda: unavailable: ")

    def test_no_ratio_of_a_sample_with_the_hosts_time(self):
        for name in ("gpu_launches", "gpu_conv_fp16", "gpu_hinge"):
            self.assertIn("contains the host's time", self.ratio(name, code=1, FAKE_GPU_HOLDS="0"))

    def test_a_suite_that_is_not_whole_proves_no_limit(self):
        kept = {"ASSAY_GPU_SUITE": str(self.folder / "suite")}
        told = self.ratio("gpu_setup_worst", **kept)
        self.assertEqual((told["at_least"], len(told["pairs"])), (False, 6))
        times = self.folder / "suite.times"
        times.write_text(times.read_text().replace(" 0 ", " 6 "))  # rows are missing
        self.assertTrue(self.ratio("gpu_setup_worst", **kept)["at_least"])
        self.assertFalse(self.ratio("gpu_setup_median", **kept)["at_least"])
        told = self.ratio("gpu_suite", **kept)  # goes on, and is whole
        self.assertEqual((told["at_least"], len(times.read_text().split())), (False, 6))
        times.write_text(times.read_text() + "\n17 ")  # a run that was killed
        told = self.ratio("gpu_suite", **kept)
        self.assertEqual((told["at_least"], told["note"]), (True, "6 ok, and a run that was killed"))
        self.assertFalse(self.ratio("gpu_setup_worst", **kept)["at_least"])
        result = self.folder / "suite" / "result.json"
        for status in ("incorrect", "failed"):
            document = json.loads(result.read_text())
            document["rows"][0].update(status=status, reason="2 of 3 elements")
            result.write_text(json.dumps(document))
            self.assertRegex(self.ratio("gpu_suite", code=1, **kept), f"1 of 6 rows are wrong: .* is {status}: 2 of 3 elements")
            self.assertRegex(self.ratio("gpu_setup_median", **kept)["note"], f"1 {status}, 5 ok")


if __name__ == "__main__":
    main()
