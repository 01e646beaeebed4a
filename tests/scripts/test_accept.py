#!/usr/bin/env python3
"""`assay accept` as a command: a fleet of 64, JUnit XML that any reader takes, what it refuses."""
import hashlib
import json
import math
import random
import re
import xml.etree.ElementTree

from run_helper import ASSAY, SOURCE, RunTest, main
import make_results

MARKUP = "n63<script>&\"'\x1b[31m\x00\ufffe]]>"


class Accept(RunTest):
    def fleet(self, hosts, slow=None, wrong=None, spread=0.01):
        self.results = self.folder / "results" / "nodes"
        self.results.mkdir(parents=True)
        chance = random.Random(5)
        for i, host in enumerate(hosts):
            own = math.exp(chance.gauss(0, spread)) if host != slow else 1.08
            document = make_results.document(rows=4, launches=5, hosts=(host,), seed=1, noise_seed=i, variation=0.005, slow={"conv": own},
                                             statuses={"c0002": "incorrect"} if host == wrong else None, run={"id": f"run-{i}"})
            state = {"load": [0.1, 0.1, 0.1], "temperature_celsius": 60, "throttle_events": None, "memory_available_bytes": 1e11}
            document["environments"][0]["volatile"] = document["environments"][0]["volatile_after"] = state
            (self.results / f"{i}.json").write_text(json.dumps(document))

    def accept(self, *words, criteria="acceptance", code):
        return self.command(ASSAY, "accept", self.results, "--criteria", criteria, *words, code=code)

    def criteria(self, **more):
        document = json.loads((SOURCE / "suites" / "criteria" / "acceptance.json").read_text())
        document.update(more)
        file = self.folder / "criteria.json"
        file.write_text(json.dumps(document))
        return file

    def test_a_fleet_of_64(self):
        hosts = [f"n{i:02}" for i in range(63)] + [MARKUP]
        self.fleet([host for host in hosts if host != "n40"], slow="n17", wrong="n30")
        criteria, junit, out = self.criteria(nodes=hosts), self.folder / "junit.xml", self.folder / "acceptance.json"
        done = self.accept("--format", "json", "--out", out, "--junit", junit, criteria=criteria, code=3)
        self.assertRegex(done.stderr, "assay accept: .*INCORRECT.*64 nodes")
        self.command(ASSAY, "validate", out, criteria, code=0)
        document = json.loads(out.read_text())
        verdicts = {node["node"]: node["verdict"] for node in document["nodes"]}
        self.assertEqual({node: verdict for node, verdict in verdicts.items() if verdict != "PASS"},
                         {"n17": "PERF-FAIL", "n30": "INCORRECT", "n40": "MISSING"})
        self.assertEqual(document["stragglers"][0]["node"], "n17")
        # The met limits are the criteria and every result, by hashes that sha256sum gives.
        self.assertEqual(document["criteria"]["content"], json.loads(criteria.read_text()))
        self.assertEqual(document["criteria"]["sha256"], hashlib.sha256(criteria.read_bytes()).hexdigest())
        self.assertEqual({result["file"]: result["sha256"] for result in document["results"]},
                         {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in self.results.glob("*.json")})
        limits = {limit["criterion"]: limit for limit in document["limits"]}
        self.assertEqual((limits["present, correct and complete"]["met"], limits["present, correct and complete"]["judged"]), (251, 256))
        self.assertEqual(limits["at most 5 % slower than the other nodes"]["judged"], 251)
        # Thousands of nodes may be missing: each is one entry, and the rows that it lacks are named once, for all nodes.
        nodes = {node["node"]: node for node in document["nodes"]}
        self.assertEqual((nodes["n40"]["rows"], nodes["n40"].get("rows_missing"), nodes["n40"]["reason"]), ([], 4, "the node has no result"))
        self.assertEqual([(row["id"], row["names"]) for row in nodes["n17"]["rows"]], [(row["id"], row["names"]) for row in document["judged"]])
        self.assertEqual(nodes["n17"]["rows_missing"], 0)

        suites = {suite.get("name"): suite for suite in xml.etree.ElementTree.parse(junit).getroot()}
        self.assertEqual(len(suites), 64)
        self.assertIn("n63<script>&\"'\ufffd[31m\ufffd\ufffd]]>", suites)
        for name, suite in suites.items():
            for attribute, element in (("tests", "."), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                found = suite.findall("testcase") if element == "." else suite.findall(f"testcase/{element}")
                self.assertEqual(int(suite.get(attribute)), len(found), name)
            self.assertEqual(int(suite.get("failures")) > 0, name in ("n17", "n30"), name)
            self.assertEqual(int(suite.get("errors")) > 0, name == "n40", name)
            self.assertEqual(int(suite.get("skipped")) > 0, name != "n40", name)  # throttle_events is null
        self.assertEqual({e.get("type") for e in suites["n17"].iter("failure")}, {"PERF-FAIL"})
        self.assertEqual({e.get("type") for e in suites["n30"].iter("failure")}, {"INCORRECT"})
        self.assertEqual([e.get("message") for e in suites["n40"].iter("error")], ["the node has no result: none of 4 judged rows"])

        for form in ("terminal", "markdown"):
            text = self.accept("--format", form, criteria=criteria, code=3).stdout
            self.assertIn("61 PASS, 1 PERF-FAIL, 1 INCORRECT, 1 MISSING", text)
            self.assertRegex(text, r"n40 .*MISSING.* 0 of 4")
            self.assertRegex(text, r"n40 \(MISSING\)\n+ *- the node has no result")
            self.assertIn(hashlib.sha256(criteria.read_bytes()).hexdigest(), text)
            self.assertNotIn("\x1b", text)
        self.assertNotIn("<script>", text.replace("\\<", ""))

    def test_healthy(self):
        self.fleet([f"n{i}" for i in range(8)], spread=0.005)
        self.assertIn("8 nodes by acceptance: 8 PASS", self.accept(code=0).stdout)
        self.accept(criteria=self.criteria(nodes=9), code=6)
        self.accept(criteria=self.criteria(rows={"include": ["gemm"]}), code=6)
        ceiling = [{"rows": ".", "quantity": "ceiling_fraction", "at_least": 0.1}]
        self.assertIn("no ceiling", self.accept(criteria=self.criteria(absolute=ceiling), code=6).stdout)
        floor = [{"rows": ".", "quantity": "flops_per_s", "at_least": 1e30}]
        self.accept(criteria=self.criteria(absolute=floor), code=4)

    def test_the_example_of_the_docs(self):
        """The example of docs/acceptance.md works as printed, and has every key of the schema."""
        self.fleet(["n0", "n1", "n2"], spread=0.005)
        text = (SOURCE / "docs" / "acceptance.md").read_text()
        (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
        (self.folder / "criteria.json").write_text(example)
        (line,) = [line for line in text.splitlines() if "criteria.json --junit" in line]
        words = line.split()
        self.assertEqual(words.pop(0), "assay")
        done = self.command(ASSAY, *words, code=0, cwd=self.folder)
        self.assertTrue(done.stdout.startswith("PASS: 3 nodes by delivery of March: 3 PASS"), done.stdout)
        self.assertTrue((self.folder / "accept.xml").is_file())

        def keys_of(part):
            if isinstance(part, list):
                return set().union(*map(keys_of, part)) if part else set()
            return set(part) | keys_of(list(part.values())) if isinstance(part, dict) else set()

        def properties_of(schema):
            if isinstance(schema, list):
                return set().union(*map(properties_of, schema)) if schema else set()
            if not isinstance(schema, dict):
                return set()
            return set(schema.get("properties", {})) | properties_of(list(schema.values()))

        wanted = properties_of(json.loads((SOURCE / "results-schema" / "criteria.schema.json").read_text()))
        self.assertLessEqual({"slower_at_most", "grows_at_most", "required", "optional", "exclude"}, wanted)
        self.assertEqual(wanted - keys_of(json.loads(example)), set())
        for key in wanted:
            self.assertIn(f"`{key}`", text)

    def test_by_name(self):
        self.fleet(["n0", "n1", "n2"], spread=0.005)
        self.accept(criteria=SOURCE / "suites" / "criteria" / "acceptance.json", code=0)
        self.assertIn("Did you mean 'acceptance'", self.accept(criteria="aceptance", code=2).stderr)
        self.assertIn("acceptance", self.command(ASSAY, "list", "criteria", code=0).stdout)

    def test_a_noisy_node_is_repeated(self):
        self.fleet(["n0", "n1", "n2", "n3"], slow="n2", spread=0.005)
        self.assertTrue(self.accept(code=4).stdout.startswith("PERF-FAIL: "))
        document = json.loads((self.results / "2.json").read_text())
        document["environments"][0]["volatile"]["load"][0] = 6.0  # of 8 cores
        (self.results / "2.json").write_text(json.dumps(document))
        junit = self.folder / "junit.xml"
        text = self.accept("--junit", junit, code=5).stdout
        self.assertTrue(text.startswith("NOT-QUIET: 4 nodes by acceptance: 3 PASS, 1 NOT-QUIET."), text)
        types = {error.get("type") for error in xml.etree.ElementTree.parse(junit).getroot().iter("error")}
        self.assertEqual(types, {"NOT-QUIET"})

    def test_bad_input(self):
        self.fleet(["n0", "n1", "n2"])
        for more, name in (({"relative": [{"slower_at_most": 0}]}, "/relative/0"), ({"absolute": [{"rows": "(", "quantity": "time_s",
                           "at_most": 1}]}, "/absolute/0/rows"), ({"relativ": []}, "relative"), ({"schema": "assay-suite/1"}, "/schema")):
            done = self.accept(criteria=self.criteria(**more), code=2)
            self.assertIn(name, done.stderr)
            self.assertEqual(done.stdout, "")
        self.accept(criteria=self.folder / "none.json", code=2)
        self.accept("--junit", self.results / "0.json" / "x.xml", code=2)
        (self.results / "0.json").write_text("{\"schema\": \"assay-result/1\"")
        self.assertIn("0.json", self.accept(code=2).stderr)
        self.assertIn("--criteria", self.command(ASSAY, "accept", self.results, code=2).stderr)


if __name__ == "__main__":
    main()
