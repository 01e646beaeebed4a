#!/usr/bin/env python3
"""scripts/peers/pytorch_resnet50: what it times it has checked, its result file is one of Assay's, and its network and values are
those of the golden files."""
import json
import pathlib
import re
import subprocess
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
SCRIPT = SOURCE / "scripts" / "peers" / "pytorch_resnet50"
RESNET = BIN / "assay-resnet50"
SMALL = ["--depth", "18", "--width", "8", "--image-size", "32", "--classes", "10", "--batch", "4", "--threads", "1"]
# A program that runs the script with a fault in it; fp64 is computed by a process without.
FAULTY = """
import importlib.machinery, importlib.util, sys
sys.path.insert(0, {folder!r})
import torch, resnet
sys.argv = [{script!r}] + {arguments!r}
loader = importlib.machinery.SourceFileLoader("peer", {script!r})
peer = importlib.util.module_from_spec(importlib.util.spec_from_loader("peer", loader))
loader.exec_module(peer)
{fault}
sys.exit(peer.main())
"""
SCALED = """
backward = torch.Tensor.backward
def scaled(self, *more):
    backward(self, *more)
    {what}
torch.Tensor.backward = scaled
network = resnet.network
def kept(*of):
    global made
    made = network(*of)
    return made
resnet.network = kept
"""


@unittest.skipUnless(PEERS.exists(), "PyTorch is not installed (scripts/bootstrap --with-peers brings it)")
class PeerPytorch(RunTest):
    def peer(self, *words, lines=0, code=0, before=()):
        words = [str(w) for w in (*before, SCRIPT, *SMALL, *words)]
        done = subprocess.run(words, text=True, input="\n" * lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment(), timeout=600)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def row(self, file, told="ok"):
        document = json.loads(pathlib.Path(file).read_text())
        self.assertIn("(assay-result/1, 1 row", self.command(ASSAY, "validate", file, code=0).stdout)
        self.assertEqual(document["rows"][0]["status"], told)
        return document["rows"][0]

    def test_answers_a_line_with_seconds(self):
        for more in ([], ["--precision", "bf16"], ["--mode", "inference"], ["--mode", "inference", "--frozen"],
                     ["--mode", "inference", "--compile"]):
            with self.subTest(more):
                head, *seconds = self.peer(*more, lines=3).stdout.splitlines()
                self.assertRegex(json.loads(head)["peer"], "^PyTorch 2")
                self.assertGreater(json.loads(head)["peak_bytes"], 0)
                self.assertEqual([float(s) > 0 for s in seconds], [True] * 3)

    def test_writes_a_result_file(self):
        file = self.folder / "r.json"
        self.peer("--steps", 24, "--out", file)
        row = self.row(file)  # validate has recomputed its statistics
        self.assertEqual(row["time_s"]["n"], 24)
        self.assertAlmostEqual(row["rates"]["images_per_s"] * row["time_s"]["median"], 4)
        self.assertIn("throughput only", row["note"])
        self.assertIn("images/s", self.command(ASSAY, "table", file, code=0).stdout)
        self.assertIn("throughput only", self.command(ASSAY, "table", file, "--columns", "rate,convergence", code=0).stdout)
        # The same parameters say what a step computes as in our rows.
        ours = self.ours("--steps", 1)
        self.assertEqual(set(row["step_parameters"]) - {"algorithm"}, set(ours["step_parameters"]))
        self.peer("--steps", 6, "--out", file, "--mode", "inference")
        self.assertNotIn("throughput only", self.row(file)["note"])

    def ours(self, *words, before=(), file="ours.json"):
        self.command(*before, RESNET, "--problem", "d18w8s32c10", "--batch", 4, "--threads", 1, *words, "--out", self.folder / file, code=0)
        return json.loads((self.folder / file).read_text())["rows"][0]

    def check_beside(self, ours, peer):
        """A ratio stands beside our row; both name every parameter."""
        self.assertLessEqual(set(ours["parameters"]), set(peer["parameters"]))
        text = self.command(ASSAY, "table", self.folder / "ours.json", "--baseline", self.folder / "r.json", code=0).stdout
        ratio = ours["rates"]["images_per_s"] / peer["rates"]["images_per_s"]
        speedup = float(re.search(r"eager +([0-9.]+)", text).group(1))
        self.assertAlmostEqual(speedup / ratio, 1, delta=0.01)

    def test_stands_beside_our_row(self):
        for mode, words in (("train", []), ("train", ["--precision", "bf16"]), ("inference", ["--direction", "inference"])):
            with self.subTest(mode=mode, words=words):
                file = self.folder / "r.json"
                self.peer("--steps", 6, "--out", file, "--mode", mode, *(words if mode == "train" else []))
                more = ["--weight-gradients", "16bit"] if "bf16" in words else []  # as autograd makes them
                self.check_beside(self.ours("--steps", 6, *words, *more), self.row(file))
        self.peer("--steps", 6, "--out", file)
        self.ours("--steps", 6, "--rate", 0.2)
        text = self.command(ASSAY, "table", self.folder / "ours.json", "--baseline", file, code=0).stdout
        self.assertNotIn("speedup", text)

    def test_ranks_of_torchrun(self):
        file = self.folder / "r.json"
        self.peer("--steps", 5, "--out", file, before=[PEERS, "-m", "torch.distributed.run", "--nproc-per-node", "2"])
        row = self.row(file)
        self.assertEqual(row["parameters"]["ranks"], 2)
        self.assertIn("DistributedDataParallel", row["executed"]["implementation"])
        self.assertAlmostEqual(row["rates"]["images_per_s"] * row["time_s"]["median"], 8)

    def test_a_wrong_result_gives_no_time(self):
        fault = SCALED.format(what="made.layer3[1].conv1.weight.grad.mul_(0.95)")
        lost = "resnet.optimizer = lambda model, rate: torch.optim.SGD(model.parameters(), lr=rate, weight_decay=0.1)"
        logits = "forward = peer.Trainer.forward\npeer.Trainer.forward = lambda *given: forward(*given) * 1.001"
        later = "peer.Trainer.submit = lambda *given: float('nan')"
        for mode, name, lines in (("train", "norm", fault), ("train", "updated weight", lost), ("inference", "logits", logits),
                                  ("inference", "not finite", later)):
            with self.subTest(name):
                file = self.folder / "wrong.json"
                program = FAULTY.format(folder=str(SCRIPT.parent), script=str(SCRIPT), fault=lines,
                                        arguments=[*SMALL, "--mode", mode, "--steps", "3", "--out", str(file)])
                done = self.command(PEERS, "-c", program, code=7)
                self.assertIn(name, done.stderr)
                row = self.row(file, "incorrect")
                self.assertEqual((row["time_s"], row["samples_s"], row["rates"]), (None, [], {}))

    def test_golden_files(self):
        """The test uses the smallest network; the values are those that assay::Values gives (seed 0x123456789abcdef,
        rank 3)."""
        program = f"""
import sys
sys.path[:0] = [{str(SCRIPT.parent)!r}, {str(SOURCE / "tests" / "models" / "resnet50")!r}]
import golden, json, resnet, torch
images = resnet.values(0x123456789abcdef, "images", (1000002,), 3)
found = golden.trained(golden.CASES[0], torch.float64)
print(json.dumps([found, [float(images[i]) for i in (0, 1, 262147, 1000001)]]))
"""
        found, values = json.loads(self.command(PEERS, "-c", program, code=0).stdout)
        golden = json.loads((SOURCE / "tests" / "models" / "resnet50" / "d18w16s32c10b8.json").read_text())
        for name in ("losses", "logits"):
            for a, b in zip(found[name], golden[name], strict=True):
                self.assertAlmostEqual(a / b, 1, delta=1e-7)
        self.assertEqual(list(found["gradients"]), list(golden["gradients"]))
        for name, (norm, product) in found["gradients"].items():
            self.assertAlmostEqual(norm / golden["gradients"][name][0], 1, delta=1e-7)
            self.assertAlmostEqual((product - golden["gradients"][name][1]) / norm, 0, delta=1e-7)
        self.assertEqual(values, VALUES)

    def test_fp16_scales_its_loss_or_is_refused(self):
        """Not every PyTorch computes it on every processor."""
        file = self.folder / "r.json"
        done = self.command(SCRIPT, *SMALL, "--precision", "fp16", "--steps", 3, "--out", file)
        if done.returncode == 2:
            self.assertRegex(done.stderr, r"--precision fp16: PyTorch .* cannot on this cpu \(.+\)\. Use bf16")
            self.assertFalse(file.exists())
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        row = self.row(file)
        self.assertEqual((row["parameters"]["precision"], row["parameters"]["loss_scale"]), ("fp16", "dynamic"))
        self.assertIn("autocast to fp16, GradScaler", row["executed"]["implementation"])

    def test_fp16_is_refused_where_autocast_computes_in_another_type(self):
        wide = """
class Wide(torch.autocast):
    def __init__(self, device, dtype, **more):
        super().__init__(device, torch.bfloat16, **more)
torch.autocast = Wide
"""
        program = FAULTY.format(folder=str(SCRIPT.parent), script=str(SCRIPT), fault=wide, arguments=[*SMALL, "--precision", "fp16"])
        self.assertIn("autocast computes in torch.bfloat16", self.command(PEERS, "-c", program, code=2).stderr)

    def test_bad_input(self):
        self.assertIn("--frozen", self.peer("--frozen", code=2).stderr)
        self.assertIn("--cuda-graph needs a GPU", self.peer("--cuda-graph", code=2).stderr)
        frozen = self.peer("--cuda-graph", "--device", "cuda", "--mode", "inference", "--frozen", code=2)
        self.assertIn("are different ways to run a step", frozen.stderr)
        self.assertIn("tf32 needs a GPU", self.peer("--precision", "tf32", code=2).stderr)
        # As if there were none, also where there is one.
        blind = ["env", "CUDA_VISIBLE_DEVICES="]
        self.assertIn("finds no GPU", self.peer("--cuda-graph", "--device", "cuda", code=2, before=blind).stderr)


VALUES = [-0.071196146309375763, 0.11536707729101181, 0.22231131792068481, -0.87508130073547363]

if __name__ == "__main__":
    main()
