#!/usr/bin/env python3
"""scripts/peers/torch-rnn: seconds for each line that it reads, of results that it has checked, with the threads that were asked for."""
import json
import os
import subprocess
import unittest

from run_helper import SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
SCRIPT = SOURCE / "scripts" / "peers" / "torch-rnn"
SMALL = ["--hidden", "8", "--batch", "3", "--steps", "5", "--threads", "1"]
# A program that runs the script with a package that is changed.
CHANGED = """
import importlib.machinery, importlib.util, sys
import torch
sys.argv = [{script!r}] + {arguments!r}
loader = importlib.machinery.SourceFileLoader("peer", {script!r})
peer = importlib.util.module_from_spec(importlib.util.spec_from_loader("peer", loader))
loader.exec_module(peer)
def after(kind, change):
    forward = kind.forward
    kind.forward = lambda self, x: (change(forward(self, x)[0]), None)
{change}
sys.exit(peer.main())
"""


@unittest.skipUnless(PEERS.exists(), "PyTorch is not installed (scripts/bootstrap --with-peers brings it)")
class PeerTorchRnn(RunTest):
    def peer(self, *words, code=0, lines=2, change=None, **environment):
        words = [*SMALL, *words]
        command = [SCRIPT, *words] if change is None else [PEERS, "-c", CHANGED.format(script=str(SCRIPT), arguments=words, change=change)]
        done = subprocess.run(list(map(str, command)), text=True, input="\n" * lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment(**environment), timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_answers_a_line_with_seconds(self):
        for words in (["--cell", "lstm"], ["--cell", "gru_lbr"], ["--cell", "gru_lbr", "--precision", "bf16"]):
            with self.subTest(words):
                head, *seconds = self.peer(*words).stdout.splitlines()
                self.assertRegex(json.loads(head)["peer"], "^PyTorch 2")
                self.assertEqual([float(s) > 0 for s in seconds], [True] * 2)

    def test_a_wrong_result_has_no_time(self):
        for cell, kind, wrong in (("lstm", "LSTM", "y * 1.001"), ("gru_lbr", "GRU", "y * 1.001"), ("lstm", "LSTM", "y.flip(2)"),
                                  # Of no row that is compared.
                                  ("lstm", "LSTM", "y.index_fill(1, torch.tensor([1]), float('nan'))")):
            with self.subTest(wrong, cell=cell):
                done = self.peer("--cell", cell, code=7, change=f"after(torch.nn.{kind}, lambda y: {wrong})")
                self.assertIn("the result is wrong", done.stderr)
                self.assertEqual(done.stdout, "")

    @unittest.skipIf((os.cpu_count() or 1) < 2, "there is one processor")
    def test_as_many_threads_as_were_asked_for(self):
        change = "after(torch.nn.LSTM, lambda y: print('threads', torch.get_num_threads(), file=sys.stderr) or y)"
        told = self.peer("--cell", "lstm", change=change, OMP_NUM_THREADS="2").stderr
        self.assertEqual({line for line in told.splitlines() if line.startswith("threads")}, {"threads 1"})


if __name__ == "__main__":
    main()
