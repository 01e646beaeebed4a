#!/usr/bin/env python3
"""A fleet that is simulated from one real result: `assay gather`, `assay accept` and `assay report` find the nodes that are slow, wrong
and missing, from a folder of results and from one gathered file alike. scripts/self-benchmark --filter fleet has 1,000 nodes."""
import json
import os
import re
import subprocess
import uuid

from run_helper import ASSAY, RunTest, group, main, read_report
import make_fleet

NODES = 40
SLOW, ONE_ROW, WRONG, ABSENT, NOISY, HOT = (make_fleet.host_of(i) for i in (7, 11, 13, 17, 19, 23))


class Fleet(RunTest):
    def template(self):
        """Six rows of two launches, measured here with the reference backend."""
        problems = [f"mb1ic8ih8oc{8 * (i + 1)}oh8kh3ph1" for i in range(6)]
        suite = self.suite([group(["direct"], problems, backend="reference")])
        self.run_suite(suite, "--launches", 2, code=0)
        return json.loads((self.out / "result.json").read_text())

    def setUp(self):
        super().setUp()
        self.measured = self.template()
        self.ids = sorted({row["id"] for row in self.measured["rows"]})
        self.nodes = self.folder / "nodes"

    def make(self, **more):
        return make_fleet.fleet(self.measured, self.nodes, NODES, variation=0.002, **more)

    def make_troubled(self):
        return self.make(slow={SLOW: 1.1, ONE_ROW: {self.ids[2]: 1.3}}, statuses={WRONG: {self.ids[0]: "incorrect"}},
                         absent=(ABSENT,), disturbed=(NOISY,), throttled=(HOT,))

    def gather(self, *words, code=0):
        self.file = self.folder / "fleet.json"
        return self.command(ASSAY, "gather", self.nodes, "--out", self.file, *words, code=code)

    def accept(self, source, code):
        out = self.folder / "acceptance.json"
        self.command(ASSAY, "accept", source, "--criteria", "acceptance", "--format", "json", "--out", out, code=code)
        self.command(ASSAY, "validate", out, code=0)
        return json.loads(out.read_text())

    def report(self, *sources):
        out = self.folder / "report.html"
        self.command(ASSAY, "report", *sources, "--out", out, code=0)
        (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', out.read_text(), re.DOTALL)
        self.page = read_report(data)
        return self.page["rows"]

    def test_a_gathered_file_is_read_as_the_folder(self):
        self.make_troubled()
        hosts = [make_fleet.host_of(i) for i in range(NODES)]
        listed = self.folder / "nodefile"
        listed.write_text("".join(f"{host}\n{host}\n" for host in hosts))
        done = self.gather("--node-file", listed, code=6)
        self.assertIn(f"{ABSENT}: MISSING", done.stderr)
        self.command(ASSAY, "validate", self.file, code=0)
        gathered = json.loads(self.file.read_text())
        self.assertEqual(len(gathered["rows"]), len(self.measured["rows"]) * (NODES - 1))
        self.assertEqual([node["host"] for node in gathered["run"]["missing_nodes"]], [ABSENT])

        folder = self.accept(self.nodes, code=3)
        file = self.accept(self.file, code=3)
        verdicts = {node["node"]: node["verdict"] for node in file["nodes"]}
        self.assertEqual({node: verdict for node, verdict in verdicts.items() if verdict != "PASS"},
                         {SLOW: "PERF-FAIL", ONE_ROW: "PERF-FAIL", WRONG: "INCORRECT", ABSENT: "MISSING"})
        self.assertEqual(file["stragglers"][0]["node"], SLOW)
        slow = {row["id"] for node in file["nodes"] if node["node"] == ONE_ROW for row in node["rows"] if row["verdict"] == "PERF-FAIL"}
        self.assertEqual(slow, {self.ids[2]})
        # But for the node that no file of the folder names, both are one.
        self.assertEqual([node for node in file["nodes"] if node["node"] != ABSENT], folder["nodes"])
        self.assertEqual(file["stragglers"], folder["stragglers"])
        one, other = (self.command(ASSAY, "table", source, "--format", "json", code=0).stdout for source in (self.nodes, self.file))
        self.assertEqual(one.count('"id"'), other.count('"id"'))

    def test_a_report_has_medians_and_what_needs_a_look(self):
        self.make_troubled()
        acceptance = self.folder / "verdict.json"
        self.command(ASSAY, "accept", self.nodes, "--criteria", "acceptance", "--format", "json", "--out", acceptance, code=3)
        rows = self.report(self.nodes, acceptance)
        medians = {row["id"]: row for row in rows if row["host"].startswith("median of")}
        self.assertEqual(sorted(medians), self.ids)
        alone = {(row["host"], row["id"]) for row in rows if not row["host"].startswith("median of")}
        expected = {(SLOW, row_id) for row_id in self.ids} | {(ONE_ROW, self.ids[2]), (WRONG, self.ids[0]),
                                                              (NOISY, self.measured["rows"][0]["id"]), (HOT, self.measured["rows"][0]["id"])}
        self.assertEqual(alone, expected)
        files = [json.loads(file.read_text()) for file in sorted(self.nodes.glob("*/result.json"))]
        for row_id, row in medians.items():
            own = []
            for document in files:
                if document["environments"][0]["host"] in (NOISY, HOT) and row_id == self.measured["rows"][0]["id"]:
                    continue  # an upper limit
                launches = sorted(r["time_s"]["median"] for r in document["rows"] if r["id"] == row_id and r["status"] == "ok")
                if launches:
                    own.append(sum(launches) / 2)
            own.sort()
            middle = (own[(len(own) - 1) // 2] + own[len(own) // 2]) / 2
            self.assertAlmostEqual(row["median"] / middle, 1, places=9)
        self.assertEqual(self.page["verdict"]["word"], "INCORRECT")
        self.assertEqual(self.page["counts"]["incorrect"], 1)
        self.assertEqual(self.page["counts"]["rows"], (NODES - 1) * len(self.ids))
        nodes = {node["node"]: node for node in self.page["acceptance"][0]["nodes"]}
        self.assertEqual(len(nodes), NODES - 1)
        self.assertEqual(len(nodes[SLOW]["rows"]), len(self.ids))
        self.assertEqual(nodes[make_fleet.host_of(0)]["rows"], [])
        # A few nodes are shown in full.
        few = sorted(self.nodes.glob("*/result.json"))[:5]
        self.assertEqual(len(self.report(*few)), 5 * len(self.ids))
        self.assertNotIn("fleet", self.page)

    def change(self, host, edit):
        """Edits the result of a node; its software gets a hash of its own where it changed."""
        file = self.nodes / host / "result.json"
        document = json.loads(file.read_text())
        before = json.dumps(document["environments"])
        edit(document)
        if json.dumps(document["environments"]) != before:
            for environment in document["environments"]:
                environment["hashes"]["software"] = str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(environment["software"])))
        file.write_text(json.dumps(document))

    @staticmethod
    def set_threads(count):
        def edit(document):
            for row in document["rows"]:
                row["id"] = row["id"].replace(f"/t{row['parameters']['threads']}", f"/t{count}")
                row["parameters"]["threads"] = count
        return edit

    @staticmethod
    def set_instruction_set(name, **switches):
        def edit(document):
            for environment in document["environments"]:
                environment["software"]["libraries"]["onednn"] = {"onednn": "3.7.0", "instruction_set": name}
                environment["software"]["switches"].update(switches)
        return edit

    def test_six_nodes_of_which_four_are_not_as_delivered(self):
        """A slow, a half, a node with other software and a broken one: each is named with its reason, and the others pass."""
        hosts = [make_fleet.host_of(i) for i in range(6)]
        plain, slow, other, half, broken, _ = hosts
        make_fleet.fleet(self.measured, self.nodes, 6, slow={slow: 1.3}, statuses={broken: {self.ids[0]: "incorrect", self.ids[1]: "failed"}},
                         variation=0.002)
        for host in hosts:
            self.change(host, self.set_threads(2 if host == half else 4))
            if host == other:
                self.change(host, self.set_instruction_set("avx2", ONEDNN_MAX_CPU_ISA="AVX2"))
            else:
                self.change(host, self.set_instruction_set("avx512_core_bf16"))
        acceptance = self.accept(self.nodes, code=3)
        verdicts = {node["node"]: node["verdict"] for node in acceptance["nodes"]}
        self.assertEqual(verdicts, {plain: "PASS", slow: "PERF-FAIL", other: "NOT-COMPARABLE", half: "NOT-COMPARABLE", broken: "INCORRECT",
                                    hosts[5]: "PASS"})
        reasons = {node["node"]: node["reason"] for node in acceptance["nodes"]}
        self.assertEqual(reasons[other], "not comparable: oneDNN used avx2, elsewhere avx512_core_bf16 (ONEDNN_MAX_CPU_ISA=AVX2 was set)")
        self.assertEqual(reasons[half], "not comparable: 6 rows ran with 2 threads, elsewhere with 4")
        self.assertEqual(len(acceptance["judged"]), 6, "the half node's rows are not demanded of the others")
        text = self.command(ASSAY, "accept", self.nodes, "--criteria", "acceptance", code=3).stdout
        self.assertTrue(text.startswith("INCORRECT: 6 nodes by acceptance: 2 PASS, 1 PERF-FAIL, 1 INCORRECT, 2 NOT-COMPARABLE.\n"), text)
        prose = [line for line in text.splitlines()[1:] if not line.startswith("  assay ")]
        long = [line for line in prose if len(line) > 80 and " " in line.strip("- ")]
        self.assertEqual(long, [], "lines that 80 columns do not hold (the first is never broken, nor a command to paste)")
        self.assertNotIn("\u2026", text)
        self.assertNotIn("MISSING " + slow, text)
        # The page has the same verdict and limits.
        verdict = self.folder / "acceptance.json"
        self.report(self.nodes, verdict)
        self.assertEqual(self.page["verdict"]["word"], "INCORRECT")
        self.assertEqual(self.page["acceptance"][0]["limits"], acceptance["limits"])
        self.assertEqual(self.page["acceptance"][0]["criteria"]["sha256"], acceptance["criteria"]["sha256"])

    def peak(self, *words):
        process = subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=self.environment())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(process.returncode, (0, 5), words)
        return usage.ru_maxrss * 1024

    def test_samples_do_not_fill_the_memory(self):
        suite = self.suite([{"benchmark": "stream", "problem": [f"{kernel}_n65536" for kernel in ("copy", "scale", "add", "triad")],
                             "precision": ["fp64"], "threads": [1]}], name="long", timing={"max_time": 1, "precision_target": 1e-9})
        self.command(ASSAY, "run", suite, "--out", self.folder / "long", code=0)
        self.measured = json.loads((self.folder / "long" / "result.json").read_text())
        self.make()
        self.gather()
        size, least = self.file.stat().st_size, self.peak("--version")
        model = ("--formula", "log(time) ~ problem")
        for words in (("validate", self.file), ("table", self.file), ("table", self.nodes), ("model", self.file, *model),
                      ("model", self.nodes, *model), ("report", self.file, "--out", self.folder / "page.html")):
            with self.subTest(words=words):
                self.assertLess(self.peak(*words) - least, 20e6 + size / 2)

    def test_what_cannot_be_gathered(self):
        files = self.make()
        document = json.loads(files[3].read_text())
        self.gather("--system", "mine")
        self.assertEqual(json.loads(self.file.read_text())["system"]["name"], "mine")
        both = self.command(ASSAY, "accept", self.file, self.nodes, "--criteria", "acceptance", code=2)
        self.assertIn("are both results of run", both.stderr)
        self.assertIn("gathered already", self.command(ASSAY, "gather", self.file, "--out", self.folder / "x.json", code=2).stderr)
        self.assertIn("--out", self.command(ASSAY, "gather", self.nodes, code=2).stderr)
        empty = self.folder / "nobody"
        empty.touch()
        self.assertIn("names no node", self.gather("--node-file", empty, code=2).stderr)
        self.assertIn("it is a device", self.gather("--node-file", "/dev/null", code=2).stderr)
        before = self.file.read_bytes()
        for change, said in (({"system": {"name": "other"}}, "several systems"), ({"rows": [{}]}, "at /rows/0"),
                             ({"run": {**document["run"], "id": json.loads(files[0].read_text())["run"]["id"]}}, "both results of run"),
                             ({"run": {**document["run"], "statistics": 2}}, "statistics")):
            files[3].write_text(json.dumps({**document, **change}))
            self.assertIn(said, self.gather(code=2).stderr)
        self.assertEqual(self.file.read_bytes(), before, "the old file stands")
        gathered = json.loads(before)
        gathered["run"]["gathered"][0]["environments"] += 1
        self.file.write_text(json.dumps(gathered))
        self.assertIn("Gather the results again", self.command(ASSAY, "table", self.file, code=2).stderr)


if __name__ == "__main__":
    main()
