#!/usr/bin/env python3
"""scripts/self-benchmark: a claim that one of several ratios proves is judged by all of them."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import re
import subprocess
import tempfile
import unittest

from run_helper import ASSAY, BIN

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OTHERS_FLAGS = {"--bind-to", "--cpu-list", "--build", "--preset", "--no-sandbox"}  # of mpirun, CMake and the browser
LOADER = importlib.machinery.SourceFileLoader("self_benchmark", str(SOURCE / "scripts" / "self-benchmark"))
SELF = importlib.util.module_from_spec(importlib.util.spec_from_loader("self_benchmark", LOADER))
LOADER.exec_module(SELF)


def joint(own, *others):
    names = [f"other{i}" for i in range(len(others))]
    verdicts = {"own": own, **{name: verdict for name, verdict in zip(names, others) if verdict}}
    return SELF.joint("own", verdicts, names)


def flags_of(*command):
    return set(FLAG.findall(subprocess.run([*map(str, command), "--help"], capture_output=True, text=True).stdout))


class Flags(unittest.TestCase):
    def test_each_flag_of_a_measurement_exists(self):
        """Most measurements are called by hand: nobody sees soon that a command of one is refused."""
        commands = re.findall(r"^  ([a-z]+)  ", subprocess.run([ASSAY, "--help"], capture_output=True, text=True).stdout, re.M)
        known = set.union(OTHERS_FLAGS, *map(flags_of, sorted(BIN.glob("assay*"))), *(flags_of(ASSAY, command) for command in commands))
        for folder in ("scripts", "tests", "ci"):
            for script in (SOURCE / folder).rglob("*"):
                if script.suffix in ("", ".py", ".sh") and script.is_file():
                    text = script.read_text(errors="replace")
                    known.update(re.findall(r"add_argument\(\s*\"(--[\w-]+)\"", text), re.findall(r"^\s*(--[\w-]+)(?:=\*)?\)", text, re.M),
                                 re.findall(r"\"(--[\w-]+)\" in sys.argv", text))
        for folder in ("self_benchmark", "support"):
            for script in sorted((SOURCE / "tests" / folder).rglob("*.py")):
                self.assertEqual(set(FLAG.findall(script.read_text())) - known, set(), script)


class Heads(unittest.TestCase):
    def test_pairs_are_enough_for_a_verdict(self):
        """A median of fewer than six pairs has no 95 % interval, so its verdict is always 'inconclusive'."""
        for ratio in SELF.all_ratios():
            if ratio.statistic == "median":
                self.assertGreaterEqual(ratio.pairs, 6, ratio.name)

    def test_a_file_may_have_several_ratios(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "fast.cpp"
            file.write_text("// ratio: {side} over b\n// target: >= {least}\n// each: \"\" side=a least=1\n// each: near side=\"the other\" least=2\n")
            told = [(ratio.name, ratio.what, ratio.target("any"), *ratio.command(pathlib.Path("build"))) for ratio in SELF.ratios_of(file)]
        self.assertEqual(told, [("fast", "a over b", (">=", 1), "build/self_benchmark/fast", "each=", "side=a", "least=1"),
                                ("fast_near", "the other over b", (">=", 2), "build/self_benchmark/fast", "each=near", "side=the other", "least=2")])


class LowerBounds(unittest.TestCase):
    """A peer that was stopped took longer than its time says."""

    def verdict(self, target, low, high, at_least, statistic="median"):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ratio.py"
            file.write_text(f"#!/usr/bin/env python3\n# ratio: a over b\n# target: {target}\n# pairs: 6\n# statistic: {statistic}\n")
            ratio = SELF.Ratio(file)
            found = {"value": (low + high) / 2, "low": low, "high": high, "least": low, "greatest": high, "n": 6}
            return SELF.judge(ratio, found, *ratio.target("any"), at_least)[0]

    def test_they_prove_what_they_are_above(self):
        for statistic in ("median", "max"):
            self.assertEqual(self.verdict(">= 3", 4, 5, True, statistic), "met")
            self.assertEqual(self.verdict("<= 3", 4, 5, True, statistic), "missed")

    def test_they_do_not_prove_what_they_are_below(self):
        for statistic in ("median", "max"):
            for target, verdict in ((">= 3", "missed"), ("<= 3", "met")):
                self.assertEqual(self.verdict(target, 1, 2, False, statistic), verdict)
                self.assertEqual(self.verdict(target, 1, 2, True, statistic), "inconclusive")


class Alternatives(unittest.TestCase):
    def test_one_that_is_met_is_enough(self):
        self.assertEqual(joint("met"), ("met", "own"))
        self.assertEqual(joint("met", "missed"), ("met", "own"))
        for own in ("missed", "inconclusive", "unavailable"):
            self.assertEqual(joint(own, "missed", "met"), ("met", "other1"))

    def test_missed_where_all_are_missed(self):
        self.assertEqual(joint("missed"), ("missed", None))
        self.assertEqual(joint("missed", "missed", "missed"), ("missed", None))

    def test_what_is_open_proves_nothing_and_excludes_nothing(self):
        for other in ("inconclusive", "unavailable", "failed", None):  # None: not measured
            self.assertEqual(joint("missed", "missed", other), ("inconclusive", None))
            self.assertEqual(joint("inconclusive", other), ("inconclusive", None))
        self.assertEqual(joint("inconclusive", "missed"), ("inconclusive", None))
        self.assertEqual(joint("unavailable", "missed"), ("unavailable", None))

    def test_a_failure_stays_one(self):
        self.assertEqual(joint("failed", "met"), ("failed", None))

    def test_lines_tell_the_joint_verdict(self):
        def ratio(folder, name, head):
            file = pathlib.Path(folder) / f"{name}.py"
            file.write_text(f"#!/usr/bin/env python3\n# ratio: a over b\n# target: >= 1\n{head}")
            return SELF.Ratio(file)
        with tempfile.TemporaryDirectory() as folder:
            ratios = [ratio(folder, "fast", "# or: near\n"), ratio(folder, "near", ""), ratio(folder, "lone", "")]
            SELF.check_alternatives(ratios)
            lines = [{"name": "fast", "verdict": "missed"}, {"name": "near", "verdict": "met"}, {"name": "lone", "verdict": "missed"}]
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                SELF.judge_together(lines, ratios)
            self.assertEqual([line["joint_verdict"] for line in lines], ["met", "met", "missed"])
            self.assertIn("met by near", said.getvalue())
            self.assertNotIn("lone", said.getvalue())
            with self.assertRaises(SystemExit):
                SELF.check_alternatives([ratio(folder, "wrong", "# or: none\n")])

    def test_every_alternative_of_the_measurements_exists(self):
        ratios = SELF.all_ratios()
        SELF.check_alternatives(ratios)
        self.assertIn("rnn_lstm_peak", next(ratio for ratio in ratios if ratio.name == "rnn_lstm_forward").alternatives)


class Order(unittest.TestCase):
    def test_what_tells_most_comes_first(self):
        names = [ratio.name for ratio in SELF.all_ratios()]
        unordered = [ratio.name for ratio in SELF.all_ratios() if ratio.order == 0]
        self.assertEqual(names[:len(unordered)], sorted(unordered))
        self.assertEqual((names[len(unordered)], names[-1]), ("gpu_launches", "gpu_suite"))


if __name__ == "__main__":
    unittest.main()
