#!/usr/bin/env python3
"""`assay model` as it is called: formats, exit codes, shipped baselines, messages."""
import copy
import csv
import io
import json
import math

from run_helper import ASSAY, SOURCE, RunTest, main

FORMULA = "log(time) ~ architecture + log(size) + workload"


def published(system, architecture, slower, rows=None):
    """A valid result file of published numbers."""
    result = {
        "schema": "assay-result/1",
        "run": {"id": f"run-{system}", "suite": None, "command": None, "seed": None, "started": None, "finished": None},
        "system": {"name": system},
        "environments": [{"host": "node", "hardware": {}, "software": {}, "volatile": {},
                          "hashes": {"hardware": None, "software": None}}],
        "rows": [],
    }
    for i, (workload, size) in enumerate([("PCA", 1e9), ("PCA", 2e9), ("PCA", 8e9), ("SVM", 1e9), ("SVM", 2e9), ("SVM", 8e9)]):
        seconds = slower * size * 1e-9 * (5 if workload == "SVM" else 1) * math.exp(0.02 * (i * 7 % 5 - 2))
        result["rows"].append({
            "id": f"{workload}/{size:g}", "names": [], "benchmark": workload.lower(), "problem": {"descriptor": f"{size:g}", "size": size},
            "environment": 0, "launch": 0, "attempt": 0, "parameters": {"workload": workload, "architecture": architecture},
            "status": "ok", "reason": None, "time_s": {"median": seconds}, "rates": {}, "published": True, "citation": "a book",
            "printed": {"value": seconds, "unit": "s", "text": str(seconds), "reason": None}})
    return result


class Model(RunTest):
    def setUp(self):
        super().setUp()
        self.old = self.write("old", published("old", "P8", 3.0))
        self.new = self.write("new", published("new", "P9", 1.5))

    def write(self, name, document):
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document))
        return file

    def model(self, *words, code=0):
        return self.command(ASSAY, "model", *words, code=code)

    def document(self, *words):
        return json.loads(self.model(*words, "--format", "json").stdout)

    def refused(self, *words, names=(), code=2):
        done = self.model(*words, code=code)
        self.assertEqual(done.stdout, "", "talk on stdout")
        for name in names:
            self.assertIn(name, done.stderr)

    def test_formats_and_out(self):
        document = self.document(self.old, self.new, "--formula", FORMULA)
        speedup = {coefficient["term"]: coefficient["speedup"] for coefficient in document["coefficients"]}
        self.assertAlmostEqual(speedup["architecture[P9]"], 2, delta=0.1)
        self.assertEqual(document["reference"], {"architecture": "P8", "workload": "PCA"})
        self.assertIn("--formula 'log(time) ~ ", document["command"])
        file = self.folder / "model.json"
        self.assertEqual(self.model(self.old, self.new, "--formula", FORMULA, "--format", "json", "--out", file).stdout, "")
        self.assertIn("assay-model/1", self.command(ASSAY, "validate", file, code=0).stdout)
        for form, part in (("terminal", "architecture[P9]"), ("markdown", r"| architecture\[P9\] |")):
            self.assertIn(part, self.model(self.old, self.new, "--formula", FORMULA, "--format", form).stdout)
        rows = list(csv.DictReader(io.StringIO(self.model(self.old, self.new, "--formula", FORMULA, "--format", "csv").stdout)))
        self.assertEqual([float(row["estimate"]) for row in rows], [coefficient["estimate"] for coefficient in document["coefficients"]])

    def test_the_first_file_is_the_reference(self):
        forth = self.document(self.old, self.new, "--formula", FORMULA)["coefficients"][1]
        back = self.document(self.new, self.old, "--formula", FORMULA)["coefficients"][1]
        self.assertEqual(back["term"], "architecture[P8]")
        self.assertAlmostEqual(forth["speedup"] * back["speedup"], 1, 12)
        asked = self.document(self.old, self.new, "--formula", FORMULA, "--reference", "architecture=P9,workload=SVM")
        self.assertEqual(asked["reference"], {"architecture": "P9", "workload": "SVM"})

    def test_predictions_begin_where_a_column_comes_again(self):
        words = [self.old, self.new, "--formula", FORMULA]
        for asked in (["--predict", "architecture=P9,size=4e9,workload=PCA", "--predict", "workload=PCA,architecture=P8,size=64e9"],
                      ["--predict", "architecture=P9,size=4e9,workload=PCA,workload=PCA,architecture=P8,size=64e9"]):
            two = self.document(*words, *asked)["predictions"]
            self.assertEqual([prediction["given"]["architecture"] for prediction in two], ["P9", "P8"])
            self.assertEqual([[out["column"] for out in prediction["extrapolated"]] for prediction in two], [[], ["size"]])
            self.assertAlmostEqual(two[0]["value"], 6, delta=0.3)
        self.refused(*words, "--predict", "architecture=P9", names=["no value for size"])
        self.refused(*words, "--predict", "architecture", names=["--predict", "architecture=Power9"])

    def test_bad_input(self):
        words = [self.old, self.new, "--formula"]
        self.refused(*words, "log(time) ~ architectur", names=["'architectur'", "Did you mean 'architecture'?"])
        self.refused(*words, "log(time) ~ lgo(size)", names=["character 13", "'log'"])
        self.refused(*words, "log(time)", names=["'~'"])
        self.refused(*words, "log(workload) ~ architecture", names=["is text"])
        self.refused(*words, FORMULA, "--reference", "architecture=P7", names=["P7", "P8"])
        self.refused(*words, FORMULA, "--reference", "architecture=P8,architecture=P9", names=["twice"])
        self.refused(*words, FORMULA, "--cluster", "lunch", names=["Did you mean 'launch'?"])
        self.refused(*words, FORMULA, "--format", "jsn", names=["json"])
        self.refused(*words, FORMULA, "--out", "/proc/nowhere/x", names=["/proc/nowhere"])
        self.refused(self.old, names=["--formula"])
        self.refused("sumit", "--formula", FORMULA, names=["Did you mean 'summit'?"])
        self.refused(self.folder / "absent.json", "--formula", FORMULA, names=["absent.json"])
        self.refused(self.old, "--formula", "log(time) ~ workload:factor(size)", names=["6 observations cannot determine 6 coefficients"])
        truncated = self.folder / "truncated.json"
        truncated.write_text(self.old.read_text()[:-40])
        self.refused(truncated, "--formula", FORMULA, names=["truncated.json"])

    def test_nothing_to_model(self):
        none = published("old", "P8", 3.0)
        for row in none["rows"]:
            row.update(status="failed", reason="it broke", time_s=None)
        self.refused(self.write("none", none), "--formula", FORMULA, names=["6: failed"], code=6)
        self.refused(self.write("empty", {**none, "rows": []}), "--formula", FORMULA, names=["no row"], code=6)
        apart = copy.deepcopy(published("old", "P8", 3.0))
        for i, row in enumerate(apart["rows"]):
            row["parameters"] = {"workload": "PCA"} if i % 2 else {"architecture": "P8"}
        self.refused(self.write("apart", apart), "--formula", FORMULA, names=["no value of architecture"], code=6)

    def test_shipped_numbers_give_the_documents_model(self):
        """The Power8/Power9 numbers, by name, against the numbers that statsmodels gives for the printed table."""
        golden = json.loads((SOURCE / "tests" / "golden" / "model" / "power.json").read_text())
        document = self.document("summitdev", "summit", "--formula", golden["formula"])
        self.assertEqual(document["n"], len(golden["rows"]))
        self.assertTrue(document["published"])
        mine = {coefficient["term"]: coefficient for coefficient in document["coefficients"]}
        for theirs in golden["expected"]["coefficients"]:
            for field in ("estimate", "se"):
                self.assertAlmostEqual(mine[theirs["term"]][field] / theirs[field], 1, delta=1e-9)


if __name__ == "__main__":
    main(verbosity=2)
