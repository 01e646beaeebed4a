#!/usr/bin/env python3
"""`assay validate` says what it did: whose statistics were recomputed, and whose were taken as they are."""
import copy
import json

from run_helper import ASSAY, BIN, SOURCE, RunTest, group, main

ARCHIVE = SOURCE / "tests" / "golden" / "results" / "statistics_1.json"
SCHEMA = json.loads((SOURCE / "results-schema" / "result.schema.json").read_text())
NEW = "of_a_newer_version"


def closed_places(value, node=None, place=()):
    """The places of a result at which its schema names all fields."""
    node = SCHEMA if node is None else node
    if "$ref" in node:
        node = SCHEMA["definitions"][node["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from closed_places(part, node.get("items", {}), (*place, index))
    if isinstance(value, dict):
        others = node.get("additionalProperties", True)
        if others is False:
            yield place
        for name, part in value.items():
            yield from closed_places(part, node.get("properties", {}).get(name, others if isinstance(others, dict) else {}), (*place, name))


def at(document, place):
    for step in place:
        document = document[step]
    return document


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

    def newer(self, name, run, **more):
        """A file of a later minor version, with a new field at every place that may have one."""
        document = {**json.loads(ARCHIVE.read_text()), "schema": "assay-result/1.3", **more}
        document["run"].update(id=run, **{NEW: {"deep": [run]}})
        document["system"][NEW] = {"deep": [run]}
        for place in list(closed_places(document)):
            at(document, place)[NEW] = {"deep": [run, *place]}
        file = self.folder / "runs" / name / "result.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(document))
        return file, document

    def test_new_fields_are_a_fault_in_a_file_of_this_version(self):
        document = json.loads(ARCHIVE.read_text())
        places = {tuple("*" if isinstance(step, int) else step for step in place): place for place in closed_places(document)}
        self.assertTrue({(), ("rows", "*"), ("rows", "*", "time_s"), ("rows", "*", "verification"), ("environments", "*"),
                         ("environments", "*", "hashes")} <= set(places))
        file = self.folder / "x.json"
        for place in places.values():
            for schema, code in (("assay-result/1", 2), ("assay-result/1.0", 2), ("assay-result/1.1", 0), ("assay-result/2", 2)):
                with self.subTest(place=place, schema=schema):
                    changed = {**copy.deepcopy(document), "schema": schema}
                    at(changed, place)[NEW] = 1
                    file.write_text(json.dumps(changed))
                    done = self.command(ASSAY, "validate", file, code=code)
                    if schema == "assay-result/1":
                        self.assertIn("/".join(map(str, ("", *place, NEW))), done.stderr)
        suite = self.suite([group(["direct"], backend="reference")])
        suite.write_text(json.dumps({**json.loads(suite.read_text()), "schema": "assay-suite/1.1"}))
        self.assertIn("newer version of Assay", self.command(ASSAY, "validate", suite, code=2).stderr)

    def test_a_newer_file_is_read_by_all_and_loses_nothing(self):
        first, one = self.newer("one", "one")
        self.command(ASSAY, "history", self.folder / "runs", code=0)
        second, two = self.newer("two", "two")
        self.assertIn("assay-result/1.3, 6 rows", self.told(first))
        for words, code in ((["table"], 0), (["table", "--by", "precision"], 0), (["report", "--out", self.folder / "r.html"], 0),
                            (["accept", "--criteria", "acceptance"], 6)):
            with self.subTest(words[0]):
                self.command(ASSAY, *words[:1], first, *words[1:], code=code)
        self.command(ASSAY, "compare", first, second, "--vary", "nothing", code=5)  # too few launches
        ours = self.folder / "ours.json"
        document = json.loads(ARCHIVE.read_text())
        document["run"]["id"] = "ours"
        ours.write_text(json.dumps(document))
        gathered = self.folder / "gathered.json"
        self.command(ASSAY, "gather", first, ours, second, "--system", "here", "--out", gathered, code=0)
        self.assertIn("assay-result/1.3, 18 rows", self.told(gathered))
        whole = json.loads(gathered.read_text())
        for number, part in enumerate((one, document, two)):
            run, rest = whole["run"]["gathered"][number], {name: part[name] for name in part if name not in ("schema", "rows", "environments")}
            for row, its in zip(whole["rows"][6 * number:6 * number + 6], part["rows"]):
                self.assertEqual({**row, "environment": its["environment"]}, its)
            count = len(part["environments"])
            self.assertEqual(whole["environments"][count * number:count * number + count], part["environments"])
            for name, value in rest["run"].items():
                self.assertEqual(run["of_run"].get(name, whole["run"].get(name)), value)
            own = run.get("of_result", {})
            self.assertEqual(own.get(NEW, whole.get(NEW)), part.get(NEW))
            self.assertEqual(own.get("system", whole["system"]).get(NEW), part["system"].get(NEW))
        self.command(ASSAY, "compare", gathered, self.newer("three", "three")[0], "--vary", "nothing", code=5)

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

    def test_a_program_alone_names_scale_and_allocator(self):
        out = self.folder / "alone.json"
        words = (BIN / "assay-stream", "--problem", "triad_n4096", "--max-time", "0.01", "--quiet", "--out", out)
        for given, run in (((), {"scale": None, "allocator": None}), (("--allocator", "system"), {"scale": None, "allocator": "system"})):
            self.command(*words, *given, code=0)
            header = json.loads(out.read_text())["run"]
            self.assertEqual({name: header[name] for name in run}, run)
            self.assertEqual((header["max_time"], "min_samples" in header), (0.01, False))
        self.told(out)

    def test_a_run_names_its_version(self):
        self.run_suite(self.suite([group(["direct"], backend="reference")]), "--launches", "2", code=0)
        self.assertEqual(json.loads((self.out / "result.json").read_text())["run"]["statistics"], 1)
        self.assertIn("2 rows, statistics of version 1 recomputed", self.told(self.out))


if __name__ == "__main__":
    main()
