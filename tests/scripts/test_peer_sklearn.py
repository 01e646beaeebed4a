#!/usr/bin/env python3
"""scripts/peers/sklearn_bench: a result file of one row, of the same problem as the row of Assay's program, unless its result is wrong;
seconds for each line that it reads; what it times, with how many threads, and what it refuses."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
SCRIPT = SOURCE / "scripts" / "peers" / "sklearn_bench"
SHORT = ["--threads", "1", "--max-time", "0.05"]
LOADER = importlib.machinery.SourceFileLoader("sklearn_bench", str(SCRIPT))
BENCH = importlib.util.module_from_spec(importlib.util.spec_from_loader("sklearn_bench", LOADER))
LOADER.exec_module(BENCH)
# A program that runs the script with a package that is changed.
CHANGED = """
import importlib.machinery, importlib.util, sys
sys.argv = [{script!r}] + {arguments!r}
loader = importlib.machinery.SourceFileLoader("peer", {script!r})
peer = importlib.util.module_from_spec(importlib.util.spec_from_loader("peer", loader))
loader.exec_module(peer)
import sklearn.cluster, sklearn.decomposition, sklearn.svm, threadpoolctl
def after(kind, change):
    fit = kind.fit
    def changed(self, *data):
        fit(self, *data)
        change(self)
        return self
    kind.fit = changed
{change}
sys.exit(peer.main())
"""


class Times(RunTest):
    def test_iterations_are_timed_without_what_surrounds_them(self):
        clock = [0.0]

        def iterate(seconds):
            clock[0] += seconds
        module = types.SimpleNamespace(lloyd_iter_chunked_dense=iterate)

        def fit(iterations, calls=1):
            clock[0] += 100
            for _ in range(iterations):
                module.lloyd_iter_chunked_dense(2)
            for _ in range(calls):  # the last assignment
                module.lloyd_iter_chunked_dense(50)
            clock[0] += 100
        with mock.patch.object(BENCH.time, "perf_counter", lambda: clock[0]):
            self.assertEqual(BENCH.iterations_alone(module, fit, 10), 20)
            for calls in (0, 2):
                with self.assertRaises(BENCH.Untimed):
                    BENCH.iterations_alone(module, lambda iterations: fit(iterations, calls), 10)
        self.assertIs(module.lloyd_iter_chunked_dense, iterate)

    def written(self, times):
        """The row of a fit whose runs give these seconds."""
        data, out = self.folder / "x.npy", self.folder / "row.json"
        data.write_bytes(b"x")
        args = types.SimpleNamespace(analysis="kmeans", data=data, labels=None, intelex=True, threads=1, start="0,1", iterations=10, runs=2, out=out)
        table = types.SimpleNamespace(shape=(4, 2), dtype=mock.MagicMock(itemsize=8, __str__=lambda _: "float64"))
        told = {"reference": "none", "error": 0, "bound": 1, "metrics": {"inertia": BENCH.analytics_row.metric(1)}}
        with contextlib.suppress(BENCH.Untimed):
            BENCH.analytics_row.write(args, table, ("scikit-learn-intelex", "1"), lambda: (lambda: next(times), told))
        self.command(ASSAY, "validate", out, code=0)
        (row,) = json.loads(out.read_text())["rows"]
        return row

    def test_a_difference_that_is_no_time_fails_the_row(self):
        self.assertEqual(BENCH.difference(3, 1), 2)
        with self.assertRaisesRegex(BENCH.Untimed, "too busy"):
            BENCH.difference(2, 2)
        row = self.written(BENCH.difference(*pair) for pair in [(3, 1), (3, 1), (1, 3)])  # the second of the timed runs
        self.assertEqual((row["status"], row["time_s"], row["samples_s"], row["metrics"] if "metrics" in row else {}), ("failed", None, [], {}))
        self.assertIn("too busy", row["reason"])

    def test_the_first_run_is_no_sample(self):
        row = self.written(iter([9, 1, 2]))
        self.assertEqual((row["samples_s"], row["time_s"]["warmup_s"], row["problem"]["size"]), ([1, 2], 9, 64))
        self.assertAlmostEqual(row["rates"]["input_bytes_per_s"], 64 / 1.5)

    def test_where_assay_is_not_built(self):
        with mock.patch.dict(os.environ, ASSAY_BIN_DIR=str(self.folder)):
            self.assertEqual(self.written(iter([1, 1, 1]))["status"], "ok")

    def test_the_optimum_is_below_a_result_by_its_gap(self):
        file = self.folder / "optimum.json"
        file.write_text(json.dumps({"rows": [{"metrics": {"objective": {"value": 10}, "duality_gap": {"value": 0.25}}}]}))
        self.assertEqual((BENCH.analytics_row.lower_bound(str(file)), BENCH.analytics_row.lower_bound("2.5")), (7.5, 2.5))


class Refusals(RunTest):
    def test_bad_flags(self):
        data = self.folder / "x.npy"
        data.touch()
        for words, said in ((["kmeans"], "needs --start"), (["svm", "--optimum", 1], "needs --labels"), (["pca", "--runs", 0], "--runs"),
                            (["svm", "--labels", data], "needs --optimum"), (["pca", "--data", self.folder / "no.npy"], "no.npy"),
                            (["svm", "--labels", data, "--optimum", 1, "--intelex"], "no LinearSVC"),
                            (["svm", "--labels", data, "--optimum", "no.json"], "neither a number nor a result file"),
                            (["svm", "--labels", data, "--optimum", data], "neither a number nor a result file")):
            with self.subTest(words):
                self.assertIn(said, self.command(SCRIPT, "--data", data, *words, code=2).stderr)

    def test_a_package_that_is_not_there(self):
        said = io.StringIO()
        with mock.patch.dict(sys.modules, numpy=None), mock.patch.object(BENCH, "PEERS", self.folder / "python3"), \
                mock.patch.object(sys, "argv", [str(SCRIPT), "pca", "--data", __file__]), mock.patch.dict(os.environ), \
                contextlib.redirect_stderr(said):
            self.assertEqual(BENCH.main(), 3)
        self.assertIn("numpy is not installed (scripts/bootstrap --with-peers", said.getvalue())


@unittest.skipUnless(PEERS.exists(), "scikit-learn is not installed (scripts/bootstrap --with-peers brings it)")
class PeerSklearn(RunTest):
    def table(self, name, rows=2000, file="x.npy"):
        self.command(BIN / "assay-dataset", f"{name}:n{rows}d6{'k3' if name == 'clusters' else ''}", "--out", self.folder / file,
                     *(["--labels", self.folder / "y.npy"] if name == "classes" else []), code=0)
        return self.folder / file

    def run_script(self, *words, code=0, lines=0, change=None, **environment):
        words = [str(w) for w in (*words, "--threads", "1")]
        command = [SCRIPT, *words] if change is None else [PEERS, "-c", CHANGED.format(script=str(SCRIPT), arguments=words, change=change)]
        done = subprocess.run(list(map(str, command)), text=True, input="\n" * lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment(**{"ASSAY_BIN_DIR": str(BIN), **environment}), timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def peer(self, *words, **more):
        file = self.folder / "peer.json"
        self.run_script(*words, "--runs", 8, "--out", file, **more)
        self.command(ASSAY, "validate", file, code=0)
        (row,) = json.loads(file.read_text())["rows"]
        return row

    def expect_incorrect(self, row, reason):
        self.assertEqual((row["status"], row["time_s"], row["samples_s"], row["rates"]), ("incorrect", None, [], {}))
        self.assertIn(reason, row["reason"])
        self.assertNotIn("metrics", row)

    def ours(self, program, data, *more, file="ours.json"):
        self.command(BIN / program, "--data", data, *more, *SHORT, "--out", self.folder / file, code=0)
        return json.loads((self.folder / file).read_text())["rows"][0]

    def check_beside(self, ours, row):
        self.assertEqual(row["parameters"]["data"], ours["parameters"]["data"])
        self.assertEqual(row["problem"]["size"], ours["problem"]["size"])
        self.assertEqual(row["time_s"]["n"], 8)
        told = json.loads(self.command(ASSAY, "table", self.folder / "ours.json", "--baseline", self.folder / "peer.json", "--format", "json",
                                       code=0).stdout)
        (speedup,) = [record["speedup"] for record in told["rows"] if record.get("speedup")]
        self.assertAlmostEqual(speedup * ours["time_s"]["median"] / row["time_s"]["median"], 1)
        told = json.loads(self.command(ASSAY, "compare", self.folder / "peer.json", self.folder / "ours.json", "--vary", "backend",
                                       "--format", "json").stdout)
        self.assertFalse(told["refused"], told["mismatches"])
        (pair,) = told["rows"]
        self.assertAlmostEqual(pair["ratio"] * row["time_s"]["median"] / ours["time_s"]["median"], 1)

    def check_deviations(self, ours, row, error):
        for name in ("first_sd", "last_sd"):
            self.assertAlmostEqual(row["metrics"][name]["value"] / ours["metrics"][name]["value"], 1, delta=error)

    def test_components(self):
        # More than a piece of what the hash is made of; a name that ids write otherwise.
        data = self.table("normal", 100000, "é 1.npy")
        ours, row = self.ours("assay-pca", data), self.peer("pca", "--data", data)
        self.check_deviations(ours, row, 1e-9)
        self.check_beside(ours, row)

    def test_components_of_fp32(self):
        data, narrow = self.table("normal"), self.folder / "narrow.npy"
        convert = "import numpy, sys; numpy.save(sys.argv[2], numpy.load(sys.argv[1]).astype(sys.argv[3]))"
        self.command(PEERS, "-c", convert, data, narrow, "float32", code=0)
        ours, row = self.ours("assay-pca", narrow, "--precision", "fp32"), self.peer("pca", "--data", narrow)
        self.check_deviations(ours, row, 1e-4)
        self.check_beside(ours, row)
        self.command(PEERS, "-c", convert, data, narrow, "int64", code=0)
        self.assertIn("holds int64", self.run_script("pca", "--data", narrow, code=2).stderr)

    def test_bad_files_are_refused(self):
        data = self.table("classes")
        labels, bad, three = (self.folder / f"{name}.npy" for name in ("y", "bad", "three"))
        change = "import numpy, sys; x = numpy.load(sys.argv[1]); exec(sys.argv[3]); numpy.save(sys.argv[2], x)"
        self.command(PEERS, "-c", change, data, bad, "x[7, 2] = numpy.nan", code=0)
        self.command(PEERS, "-c", change, labels, three, "x[7] = 0", code=0)
        text = self.folder / "x.csv"
        text.write_text("1,2\n3,4\n")
        for words, said in ((["pca", "--data", bad], "row 8, column 3 is not finite"), (["pca", "--data", text], "cannot be read as NPY"),
                            (["kmeans", "--data", data, "--start", "1,x"], "from 0 to 1999"), (["kmeans", "--data", data, "--start", "1,2000"], "from 0 to 1999"),
                            (["svm", "--data", data, "--optimum", 1, "--labels", three], "-1 or +1"),
                            (["svm", "--data", data, "--optimum", 1, "--labels", data], "-1 or +1")):
            with self.subTest(words):
                out = self.folder / "no.json"
                done = self.run_script(*words, "--out", out, code=2)
                self.assertIn(said, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                self.assertFalse(out.exists())

    def test_wrong_components_have_no_time(self):
        data = self.table("normal")
        for wrong in ("self.components_[2] *= 1 + 1e-6", "self.explained_variance_[3] *= 1 + 1e-6", "self.components_[0, 0] = float('nan')"):
            with self.subTest(wrong):
                change = f"def wrong(self):\n    {wrong}\nafter(sklearn.decomposition.PCA, wrong)"
                self.expect_incorrect(self.peer("pca", "--data", data, code=7, change=change), "residual or orthogonality")

    def test_centroids(self):
        data = self.table("normal")
        program = "import make_analytics_data as made; print(*made.starting_rows(2000, 3), sep=',')"
        start = self.command(PEERS, "-c", program, env=self.environment(PYTHONPATH=str(SOURCE / "tests" / "support")), code=0).stdout.strip()
        ours, row = self.ours("assay-kmeans", data, "--clusters", 3), self.peer("kmeans", "--data", data, "--start", start)
        self.assertAlmostEqual(row["metrics"]["inertia"]["value"] / ours["metrics"]["inertia"]["value"], 1, delta=1e-12)
        self.check_beside(ours, row)

    def test_wrong_centroids_have_no_time(self):
        words = ["kmeans", "--data", self.table("normal"), "--start", "3,141,59"]
        for wrong in ("self.cluster_centers_[1, 2] += 0.01", "self.cluster_centers_[0, 0] = float('nan')"):
            with self.subTest(wrong):
                change = f"def wrong(self):\n    {wrong}\nafter(sklearn.cluster.KMeans, wrong)"
                self.expect_incorrect(self.peer(*words, code=7, change=change), "centroids differ")
        self.expect_incorrect(self.peer("kmeans", "--data", self.table("clusters"), "--start", "3,141,59", code=7), "the centroids rest")

    def test_iterations_of_intelex_are_those_asked_for(self):
        words = ["kmeans", "--data", self.table("normal"), "--start", "3,141,59", "--iterations", 7, "--intelex"]
        # A clock by which an iteration takes 1 s, and 5 s what surrounds them.
        change = """
import daal4py, sklearnex.cluster
clock = [0.0]
peer.time.perf_counter = lambda: clock[0]
class KMeans(sklearn.cluster.KMeans):
    def fit(self, x):
        clock[0] += 5 + self.max_iter
        return super().fit(x)
sklearnex.cluster.KMeans = KMeans
"""
        head, *seconds = self.run_script(*words, lines=2, change=change).stdout.splitlines()
        self.assertRegex(json.loads(head)["peer"], "^scikit-learn-intelex [0-9]")
        self.assertEqual(list(map(float, seconds)), [7, 7])

    def test_plane(self):
        data = self.table("classes")
        both = f"{data}+{self.folder / 'y.npy'}"
        ours = self.ours("assay-svm", both)
        self.ours("assay-svm", both, "--gap", "1e-6", file="optimum.json")
        svm = ["svm", "--data", data, "--labels", self.folder / "y.npy", "--optimum"]
        row = self.peer(*svm, self.folder / "optimum.json")
        self.assertAlmostEqual(row["metrics"]["objective"]["value"] / ours["metrics"]["objective"]["value"], 1, delta=2e-3)
        self.assertAlmostEqual(row["metrics"]["accuracy"]["value"], ours["metrics"]["accuracy"]["value"], delta=0.01)
        self.check_beside(ours, row)
        # Not the quality that the id names, and a bound that is none: no time.
        for factor, reason in ((0.5, "not enough"), (1.5, "no lower bound")):
            self.expect_incorrect(self.peer(*svm, ours["metrics"]["objective"]["value"] * factor, code=7), reason)

    def test_as_few_passes_as_reach_the_optimum(self):
        data = self.table("classes")
        self.ours("assay-svm", f"{data}+{self.folder / 'y.npy'}", "--gap", "1e-6", file="optimum.json")
        svm = ["svm", "--data", data, "--labels", self.folder / "y.npy", "--optimum", self.folder / "optimum.json", "--quality", "1e-4"]

        def told(*words):
            return json.loads(self.run_script(*svm, *words).stdout)
        found = told()
        self.assertFalse(found["at_least"])
        self.assertLessEqual(found["over_optimum"], 1e-4)
        fewer = told("--passes", max(passes for passes in BENCH.PASSES if passes < found["passes"]))
        self.assertTrue(fewer["at_least"])
        self.assertGreater(fewer["over_optimum"], 1e-4)
        stopped = told("--longest", 0)
        self.assertEqual((stopped["passes"], stopped["at_least"]), (1, True))
        self.assertIn("not enough", stopped["peer"])

    def test_answers_a_line_with_seconds(self):
        data = self.table("normal")
        for words in (["pca"], ["kmeans", "--start", "3,141,59"], ["pca", "--intelex"]):
            with self.subTest(words):
                head, *seconds = self.run_script(*words, "--data", data, lines=3).stdout.splitlines()
                self.assertRegex(json.loads(head)["peer"], "^scikit-learn(-intelex)? [0-9]")
                self.assertEqual([float(s) > 0 for s in seconds], [True] * 3)

    @unittest.skipIf((os.cpu_count() or 1) < 2, "there is one processor")
    def test_as_many_threads_as_its_id_says(self):
        change = """
def tell(self):
    print("threads", *(pool["num_threads"] for pool in threadpoolctl.threadpool_info()), file=sys.stderr)
after(sklearn.decomposition.PCA, tell)
"""
        told = self.run_script("pca", "--data", self.table("normal"), change=change, OMP_NUM_THREADS="2").stderr
        self.assertEqual({word for line in told.splitlines() if line.startswith("threads") for word in line.split()}, {"threads", "1"})


if __name__ == "__main__":
    main()
