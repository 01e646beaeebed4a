#!/usr/bin/env python3
"""The ratios to scikit-learn (tests/self_benchmark/support/analytics.py): which peer is used, which time is divided by which, and when there is no ratio."""
import contextlib
import importlib.util
import io
import json
import unittest
from unittest import mock

from run_helper import SOURCE, RunTest, main

SPEC = importlib.util.spec_from_file_location("analytics", SOURCE / "tests" / "self_benchmark" / "support" / "analytics.py")
ANALYTICS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ANALYTICS)
# A peer of these seconds, which ends after some runs or at once.
PEER = """#!/usr/bin/env python3
import json, sys
_, told, seconds, runs, code, said = sys.argv
if told:
    print(told, flush=True)
    for line, _ in zip(sys.stdin, range(int(runs))):
        print(seconds, flush=True)
print(said, file=sys.stderr)
sys.exit(int(code))
"""


class Ratios(RunTest):
    def setUp(self):
        super().setUp()
        script = self.folder / "scripts" / "peers" / "sklearn_bench"
        script.parent.mkdir(parents=True)
        script.write_text(PEER)
        script.chmod(0o755)

    def peer(self, seconds=2.0, name="scikit-learn 1", runs=100, code=0, said="", **more):
        told = json.dumps({"peer": name, **more}) if name else ""
        with mock.patch.object(ANALYTICS, "SOURCE", self.folder):
            made = ANALYTICS.Peer(told, seconds, runs, code, said)
        self.addCleanup(made.errors.close)
        self.addCleanup(made.process.stdout.close)
        self.addCleanup(made.end)
        return made

    def against(self, peers):
        """What is told, and the exit."""
        told, errors = io.StringIO(), io.StringIO()
        with mock.patch.object(ANALYTICS, "seconds_of", lambda *words: 0.5), contextlib.redirect_stdout(told), \
                contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
            ANALYTICS.against(peers() if callable(peers) else peers, "assay-pca", ["--threads", 2], 3, 2)
        return json.loads(told.getvalue() or "null"), end.exception.code

    def test_the_fastest_peer_over_ours(self):
        told, code = self.against([self.peer(3.0), self.peer(2.0, "scikit-learn-intelex 2"), self.peer(4.0, "another")])
        self.assertEqual((code, told["pairs"], told["at_least"]), (0, [[2.0, 0.5]] * 3, False))
        for part in ("scikit-learn-intelex 2; scikit-learn 1 3 s", "another 4 s", "against assay-pca --threads 2"):
            self.assertIn(part, told["note"])

    def test_a_peer_that_was_stopped_is_a_lower_bound(self):
        self.assertTrue(self.against([self.peer(at_least=True)])[0]["at_least"])

    def test_without_the_package_there_is_no_ratio(self):
        missing = {"name": None, "code": 3, "said": "sklearn is not installed"}
        self.assertEqual(self.against([self.peer(**missing), self.peer(**missing)]), ({"skip": "sklearn is not installed"}, 0))
        told, _ = self.against([self.peer(1.0), self.peer(**missing)])
        self.assertEqual(told["pairs"], [[1.0, 0.5]] * 3)

    def test_a_peer_without_a_time_is_no_ratio(self):
        told, code = self.against([self.peer(runs=3, code=5, said="the machine is too busy")])
        self.assertEqual((told, code), ({"skip": "the machine is too busy"}, 0))

    def test_a_wrong_result_is_a_failure(self):
        told, code = self.against(lambda: [self.peer(name=None, code=7, said="components differ")])
        self.assertIsNone(told)
        self.assertIn("ended with 7: components differ", code)
        told, code = self.against([self.peer(runs=3, code=7, said="centroids differ")])
        self.assertIsNone(told)
        self.assertIn("centroids differ", code)

    def test_the_first_of_a_pair_takes_turns(self):
        order = []

        def side(name, seconds):
            return lambda: order.append(name) or seconds
        self.assertEqual(ANALYTICS.alternate(3, side("a", 1), side("b", 2)), [[1, 2]] * 3)
        self.assertEqual("".join(order), "abbaab")


if __name__ == "__main__":
    main()
