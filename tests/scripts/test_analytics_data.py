#!/usr/bin/env python3
"""assay-pca, assay-kmeans and assay-svm on data sets of scikit-learn, under 1 to 4 ranks: results equal to scikit-learn's; formats; bad files."""
import json
import math
import shutil
import struct
import unittest

from run_helper import BIN, BUILD, SOURCE, RunTest, main

DATA = SOURCE / "tests" / "models" / "data"  # made by tests/support/make_analytics_data.py
GOLDEN = json.loads((DATA / "golden.json").read_text())
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
RANKS = (1, 2, 3, 4)


def launcher():
    """mpirun of the MPI that the plugin was built with, or None."""
    if not (BUILD / "lib/assay/libassay_mpi.so").exists():
        return None
    return shutil.which("mpirun.openmpi") or shutil.which("mpirun")


class AnalyticsTest(RunTest):
    def environment(self, **more):
        environment = super().environment(**{**MPI, **more})
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def start(self, ranks, program, *words, code=0):
        """The messages and the rows."""
        self.count = getattr(self, "count", 0) + 1
        out = self.folder / f"{self.count}.json"
        launched = () if ranks is None else (launcher(), "-n", ranks)
        done = self.command(*launched, BIN / f"assay-{program}", "--threads", 1, "--max-time", 0.005, "--out", out, *words, code=code)
        return done, json.loads(out.read_text())["rows"] if out.exists() else []

    def table(self, name, *lines):
        file = self.folder / name
        file.write_text("\n".join(lines) + "\n")
        return file


@unittest.skipUnless(launcher(), "the plugin mpi was not built, or there is no mpirun")
class EqualToScikitLearn(AnalyticsTest):
    def metrics(self, ranks, program, *words):
        for row in self.expect_ok(self.start(ranks, program, *words)[1], 1):
            self.assertEqual(row["parameters"]["ranks"], ranks)
            self.assertTrue(row["verification"]["passed"])
            return {name: metric["value"] for name, metric in row["metrics"].items()}

    def near(self, value, expected, tolerance):
        self.assertLessEqual(abs(value - expected), tolerance, f"{value} beside {expected}")

    def test_principal_components(self):
        for name in ("iris", "digits", "breast_cancer"):
            deviations = [math.sqrt(variance) for variance in GOLDEN["pca"][name]["variances"]]
            # The Gram matrix resolves variances to parts of the largest one, QR the deviations themselves.
            for algorithm, part in (("gram", 1e-7), ("tsqr", 1e-12)):
                for ranks in RANKS:
                    with self.subTest(name, algorithm=algorithm, ranks=ranks):
                        found = self.metrics(ranks, "pca", "--data", DATA / f"{name}.csv", "--algorithm", algorithm)
                        self.near(found["first_sd"], deviations[0], 1e-12 * deviations[0])
                        self.near(found["last_sd"], deviations[-1], part * deviations[0])
                        # Three pixels of the digits never change.
                        self.assertEqual(found["unresolved"], 3 if name == "digits" else 0)

    def test_clusters_after_the_last_iteration(self):
        for name, golden in GOLDEN["kmeans"].items():
            for ranks in RANKS:
                with self.subTest(name, ranks=ranks):
                    found = self.metrics(ranks, "kmeans", "--data", DATA / f"{name}.csv", "--clusters", len(golden["counts"]),
                                         "--iterations", 100, "--until-moved", 0)
                    self.near(found["inertia"], golden["inertia"], 1e-12 * golden["inertia"])
                    self.assertEqual(found["iterations"], golden["iterations"])
                    self.assertEqual((found["moved"], found["empty_clusters"]), (0, 0))

    def one_against_the_rest(self, name, label):
        head, *lines = (DATA / f"{name}.csv").read_text().splitlines()
        cells = [line.rpartition(",") for line in lines]
        return self.table(f"{name}-{label}.csv", head, *(f"{features},{int(target == str(label))}" for features, _, target in cells))

    def test_support_vectors(self):
        for name, gap in (("breast_cancer", 1e-6), ("iris", 1e-6), ("digits", 1e-9)):  # a digit lies near the border
            golden = GOLDEN["svm"][name]
            file = self.one_against_the_rest(name, golden["positive"]) if "positive" in golden else DATA / f"{name}.csv"
            for ranks in RANKS:
                with self.subTest(name, ranks=ranks):
                    found = self.metrics(ranks, "svm", "--data", file, "--gap", gap, "--evaluations", 20000, "--cost", golden["cost"])
                    self.assertLessEqual(found["objective"], golden["objective"] * (1 + gap))
                    # scikit-learn's own distance from the optimum: LIBLINEAR's tolerance of 1e-9 bounds derivatives.
                    self.assertGreaterEqual(found["objective"], golden["objective"] * (1 - 1e-8))
                    self.assertEqual(found["accuracy"], golden["accuracy"])


def values_of(npy):
    """The fp64 numbers of an NPY file of version 1."""
    content = npy.read_bytes()
    (head,) = struct.unpack_from("<H", content, 8)
    return [value for (value,) in struct.iter_unpack("<d", content[10 + head:])]


class Formats(AnalyticsTest):
    """301 rows, which 2 and 3 ranks do not divide."""

    def files(self):
        """One has its labels in another file; some have a plus in their names, which else stands between two files."""
        (self.folder / "c++").mkdir()
        npy, labels = self.folder / "c++" / "x+.npy", self.folder / "c++" / "y.npy"
        self.command(BIN / "assay-dataset", "classes:n301d7", "-o", npy, "--labels", labels, code=0)
        values, signs = values_of(npy), values_of(labels)
        rows = [list(map(repr, values[at:at + 7])) for at in range(0, len(values), 7)]
        csv = self.table("c++/x.csv", ",".join("abcdefg") + ",label", *(",".join([*row, f"{sign:g}"]) for row, sign in zip(rows, signs)))
        libsvm = self.table("x.svm", *(" ".join([f"{sign:+g}", *(f"{i}:{v}" for i, v in enumerate(row, 1))]) for row, sign in zip(rows, signs)))
        return f"{npy}+{labels}", csv, libsvm

    def test_each_holds_the_generated_table(self):
        files = [["--data", file] for file in self.files()]
        for program, tables in (("pca", files), ("kmeans", files), ("svm", [["--problem", "n301d7"], *files])):
            for ranks in (None, 2, 3) if launcher() else (None,):
                with self.subTest(program, ranks=ranks):
                    metrics = [self.expect_ok(self.start(ranks, program, *table)[1], 1)[0]["metrics"] for table in tables]
                    self.assertEqual(metrics, metrics[:1] * len(tables))

    def test_a_size_beside_a_file_is_refused(self):
        for words in (("--rows", 60), ("--rows-per-rank", 60), ("--rows", 60, "--features", 3), ("--bytes", "8kB"), ("--problem", "n60d4")):
            for program in ("pca", "kmeans", "svm"):
                with self.subTest(words, program=program):
                    done = self.command(BIN / f"assay-{program}", "--data", DATA / "breast_cancer.csv", *words, "--list", code=2)
                    self.assertIn("has no use here (with the other settings the problem is n569d30 in every case)", done.stderr)
        # It is the size of the other table.
        done = self.command(BIN / "assay-pca", "--data", f"{DATA / 'iris.csv'},normal", "--rows", 60, "--features", 3, "--list", code=0)
        self.assertEqual([line.split("/")[5] for line in done.stdout.splitlines()], ["n150d4", "n60d3"])

    def test_one_call_sweeps_threads_and_their_binding(self):
        out = self.folder / "rows.json"
        self.command(BIN / "assay-kmeans", "--problem", "n301d7", "--threads", "1,2", "--smt", "any,1", "--max-time", 0.005, "--out", out)
        rows = json.loads(out.read_text())["rows"]
        self.assertEqual([(row["parameters"]["threads"], row["parameters"]["smt"]) for row in rows], [(1, "any"), (1, 1), (2, "any"), (2, 1)])
        self.assertEqual({row["status"] for row in rows[:3]}, {"ok"})
        self.assertIn(rows[3]["status"], ("ok", "unsupported"))  # there may be one core


@unittest.skipUnless(launcher(), "the plugin mpi was not built, or there is no mpirun")
class BadFiles(AnalyticsTest):
    def refused(self, program, file, *parts, ranks=None, words=()):
        # One function reads the files of all three, on every rank: that ranks end together is tried with one program.
        for count in ranks or ((None, 2) if program == "kmeans" else (None,)):
            with self.subTest(file=file.name, program=program, ranks=count):
                done, rows = self.start(count, program, "--data", file, *words, code=2)
                for part in (file.name, *parts):
                    self.assertIn(part, done.stderr)
                self.assertNotIn("report this", done.stderr)
                self.assertEqual(rows, [])

    def test_values_that_are_no_numbers(self):
        lines = ["a,b,label"] + [f"{i},{i * i % 7},{i % 2}" for i in range(40)]
        for wrong, column in (("1,nan,0", "column 2"), ("1,,0", "column 2"), ("inf,2,0", "column 1"), ("1,two,0", "column 2")):
            file = self.table("numbers.csv", *lines[:31], wrong, *lines[31:])
            for program in ("pca", "kmeans", "svm"):
                self.refused(program, file, "row 31", column)

    def test_rows_of_unequal_length(self):
        lines = ["a,b,label"] + [f"{i},{i * i % 7},{i % 2}" for i in range(40)]
        for wrong in ("1,0", "1,2,3,0"):
            file = self.table("ragged.csv", *lines[:31], wrong, *lines[31:])
            for program in ("pca", "kmeans", "svm"):
                self.refused(program, file, "row 31")

    def test_labels(self):
        self.refused("svm", DATA / "iris.csv", "the label of row 101 is 2", ranks=(None, 2))
        self.refused("svm", self.table("three.csv", "a,b,label", "1,2,1", "3,4,0", "5,6,-1"), "the label of row 2 is 0", "row 3 is -1")
        self.refused("svm", self.table("none.csv", "a,b", "1,2", "3,4"), "no labels")
        self.refused("svm", self.table("one.csv", "a,b,label", "1,2,1", "3,4,1"), "all labels are 1")

    def test_rows_that_are_all_equal(self):
        file = self.table("equal.csv", "a,b,label", *["1,2,0", "1,2,1"] * 20)
        for program in ("pca", "kmeans", "svm"):
            self.refused(program, file, "all rows are equal")

    def test_values_that_cannot_be_squared(self):
        for scale, words, said, programs in (("e200", (), "values are too large", ("pca", "kmeans", "svm")), ("e-200", (), "below 1e-100", ("pca", "kmeans")),
                                             ("e20", ("--precision", "fp32"), "values are too large", ("pca", "kmeans", "svm"))):
            file = self.table("squares.csv", "a,b,label", *[f"{i}{scale},{i * i % 7}{scale},{i % 2}" for i in range(40)])
            for program in programs:
                rows = self.start(None, program, "--data", file, *words, code=6)[1]
                self.assertEqual([row["status"] for row in rows], ["unsupported"])
                self.assertIn(said, rows[0]["reason"])

    def test_more_clusters_than_rows(self):
        file = self.table("three.csv", "1,2", "3,5", "4,1")
        done, _ = self.start(None, "kmeans", "--data", file, "--clusters", 4, code=2)
        self.assertIn("4 are more than the 3 rows", done.stderr)
        self.expect_ok(self.start(None, "kmeans", "--data", file, "--clusters", 3)[1], 1)

    def test_fewer_rows_than_ranks(self):
        file = self.table("three.csv", "a,b,label", "1,2,0", "3,5,1", "4,1,0")
        for program, words in (("pca", ()), ("kmeans", ("--clusters", 1)), ("svm", ("--gap", 0.1))):
            rows = self.start(4, program, "--data", file, *words, code=6)[1]
            self.assertEqual([row["status"] for row in rows], ["unsupported"])
            self.assertIn("3 rows are fewer than 4 ranks", rows[0]["reason"])
            self.expect_ok(self.start(3, program, "--data", file, *words)[1], 1)

    def test_a_file_that_is_not_there(self):
        for program in ("pca", "kmeans", "svm"):
            self.refused(program, self.folder / "absent.csv")


if __name__ == "__main__":
    main()
