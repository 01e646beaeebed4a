#!/usr/bin/env python3
"""`assay validate` says what it did: whose statistics were recomputed, and whose were taken as they are."""
import json

from run_helper import ASSAY, SOURCE, RunTest, group, main

ARCHIVE = SOURCE / "tests" / "golden" / "results" / "statistics_1.json"


class Validate(RunTest):
    def told(self, file):
        return self.command(ASSAY, "validate", file, code=0).stdout

    def test_statistics(self):
        self.assertIn("6 rows, statistics of version 1 recomputed", self.told(ARCHIVE))
        document = json.loads(ARCHIVE.read_text())
        document["run"]["statistics"] = 7
        for row in document["rows"]:
            row["time_s"]["p95"] = row["time_s"]["p99"]  # another estimator
        file = self.folder / "newer.json"
        file.write_text(json.dumps(document))
        told = self.told(file)
        self.assertIn("6 rows, statistics of version 7 not recomputed", told)
        self.assertIn("this Assay has version 1", told)
        self.command(ASSAY, "table", file, code=0)
        document["run"]["statistics"] = 1
        file.write_text(json.dumps(document))
        done = self.command(ASSAY, "validate", file, code=2)
        self.assertIn("/time_s/p95", done.stderr)

    def test_two_versions_are_not_compared(self):
        document = json.loads(ARCHIVE.read_text())
        document["run"].update(statistics=7, id="newer")
        file = self.folder / "newer.json"
        file.write_text(json.dumps(document))
        for words, code in ((["table", "--by", "precision"], 2), (["accept", "--criteria", "acceptance"], 2),
                            (["model", "--formula", "log(time) ~ direction"], 2), (["gather", "--out", self.folder / "gathered"], 2),
                            (["compare", "--vary", "nothing"], 6)):
            with self.subTest(words[0]):
                done = self.command(ASSAY, words[0], ARCHIVE, file, *words[1:], code=code)
                self.assertIn("statistics", done.stderr + done.stdout)

    def test_published_numbers_have_no_statistics(self):
        told = self.told(SOURCE / "results-schema" / "baselines" / "titan.json")
        self.assertNotIn("statistics", told)

    def test_what_the_reader_refuses(self):
        said = {"value": 1, "assumed": "the test"}
        scale = {"schema": "assay-scale/1", "name": "x", "compute": [{"batch": 8, "images_per_s": said, "backward_part": said}],
                 "gradients": {"elements": said, "tensors": said, "element_bytes": said, "bucket_bytes": said},
                 "levels": [{"name": "network", "alpha_s": said, "bytes_per_s": said}], "algorithms": ["ring"], "ranks": [1, 2],
                 "curves": [{"batch": 8}],
                 "published": [{"algorithm": "ddl", "batch": 8, "ranks": 2, "quantity": "efficiency", "value": 1, "citation": "c"}]}
        criteria = {"schema": "assay-criteria/1", "name": "x", "nodes": 1, "rows": {"include": ["("]}}
        events = {"schema": "assay-events/1", "events": [{"time": "the day before", "text": "x"}]}
        launcher = {"schema": "assay-launcher/1", "name": "x", "description": "x", "command": ["start", "{rank}"]}
        for document, place in ((criteria, "/rows/include/0"), (scale, "/published/0/algorithm"), (events, "/events/0/time"),
                                (launcher, "unknown placeholder 'rank'")):
            with self.subTest(document["schema"]):
                file = self.folder / "x.json"
                file.write_text(json.dumps(document))
                self.assertIn(place, self.command(ASSAY, "validate", file, code=2).stderr)

    def test_a_run_names_its_version(self):
        self.run_suite(self.suite([group(["direct"], backend="reference")]), "--launches", "2", code=0)
        self.assertEqual(json.loads((self.out / "result.json").read_text())["run"]["statistics"], 1)
        self.assertIn("2 rows, statistics of version 1 recomputed", self.told(self.out))


if __name__ == "__main__":
    main()
