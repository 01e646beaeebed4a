#!/usr/bin/env python3
"""scripts/peers/pytorch_kernels on a processor: it times what it has found right. tests/cuda/ratios.py has its clock of a GPU."""
import json
import subprocess
import unittest

from run_helper import SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
SCRIPT = SOURCE / "scripts" / "peers" / "pytorch_kernels"
CONVS = ("mb2ic4ih9oc8oh5kh3sh2ph1", "g2mb2ic8ih6oc12oh4kh3", "mb1ic4ih9iw6oc8oh5ow3kh3kw4sh2sw1ph1pw0", "mb2ic4ih9oc4oh5kh3dh1")
WORKS = [("conv", ",".join(CONVS), "fp32"), ("conv", ",".join(CONVS), "bf16"), ("copy", "n4096", "fp64"), ("triad", "n4096", "fp64"),
         ("pca", "n2000d9", "fp64"), ("kmeans", "n2000d9k3i10", "fp64")]
# Each of these is wrong, and the same computation in fp64 or by other means is not.
FAULTS = {"conv": "c = torch.nn.functional.conv2d; torch.nn.functional.conv2d = lambda x, *more: c(x, *more) * (1 if x.dtype == torch.float64 else 1.01)",
          "triad": "a = torch.add; torch.add = lambda b, c, alpha, out: a(b, c, alpha=alpha + 1e-6, out=out)",
          "pca": "e = torch.linalg.eigh; torch.linalg.eigh = lambda x: e(x * (1 + 1e-6))",
          "kmeans": "a = torch.addmm; torch.addmm = lambda d, x, c, alpha: a(d, x, c, alpha=-alpha)"}
PROGRAM = """
import importlib.machinery, importlib.util, sys, torch
{fault}
sys.argv = [{script!r}, *{words!r}]
sys.path.insert(0, {folder!r})
loader = importlib.machinery.SourceFileLoader("peer", {script!r})
peer = importlib.util.module_from_spec(importlib.util.spec_from_loader("peer", loader))
loader.exec_module(peer)
sys.exit(peer.main())
"""


@unittest.skipUnless(PEERS.exists(), "PyTorch is not installed (scripts/bootstrap --with-peers brings it)")
class PeerPytorchKernels(RunTest):
    def peer(self, work, problem, precision, lines=2, fault=""):
        words = [work, "--problem", problem, "--precision", precision, "--device", "cpu"]
        program = PROGRAM.format(fault=fault, script=str(SCRIPT), words=words, folder=str(SCRIPT.parent))
        return subprocess.run([PEERS, "-c", program], text=True, input="\n" * lines, capture_output=True, env=self.environment(), timeout=600)

    def test_answers_a_line_with_the_seconds_of_each_case(self):
        for work, problem, precision in WORKS:
            with self.subTest(work=work, precision=precision):
                done = self.peer(work, problem, precision)
                self.assertEqual(done.returncode, 0, done.stderr)
                head, *lines = map(json.loads, done.stdout.splitlines())
                self.assertRegex(head["peer"], "^PyTorch 2")
                self.assertEqual([len(line) for line in lines], [12 if work == "conv" else 1] * 2)
                self.assertGreater(min(seconds for line in lines for seconds in line.values()), 0)

    def test_a_wrong_result_gives_no_time(self):
        for work, problem, precision in WORKS:
            if work in FAULTS and precision != "bf16":
                with self.subTest(work):
                    done = self.peer(work, problem, precision, fault=FAULTS[work])
                    self.assertEqual((done.returncode, done.stdout), (7, ""), done.stderr)
                    self.assertIn(" errs by ", done.stderr)


if __name__ == "__main__":
    main()
