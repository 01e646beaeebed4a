#!/usr/bin/env python3
"""The walk of a new user through four purposes: what the terminal says at each step, and that the commands it suggests can be pasted."""
import datetime
import json
import os
import random
import re
import shlex
import shutil

from installed_helper import InstalledTest
from run_helper import BIN, SMALL, group, main
import make_fleet

PROBLEMS = [SMALL, *(f"mb1ic8ih8oc{outputs}oh8kh3ph1" for outputs in (16, 24))]
WIDTH = 80  # of the text about a fleet


class Walk(InstalledTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "measured"

    def user_environment(self, **more):
        """The environment of a shell in which Assay's programs are found."""
        return super().user_environment(**{"PATH": f"{BIN}:{os.defpath}"} | more)

    def suggested(self, text, start="assay "):
        """The commands that stand in lines of their own."""
        return re.findall(rf"(?m)^  ({start}\S.*)$", text)

    def measure(self, launches):
        """A run of three small rows here, as of a quiet machine."""
        suite = self.suite([group(["direct"], PROBLEMS, backend="reference")], name="delivery")
        self.shell(f"assay run {suite} --launches {launches} --out {self.out}")
        measured = json.loads((self.out / "result.json").read_text())
        return measured, sorted({row["id"] for row in measured["rows"]})

    def edit(self, file, change):
        document = json.loads(file.read_text())
        change(document)
        file.write_text(json.dumps(document))

    def test_six_nodes_are_delivered(self):
        """A slow, a half and a broken one; then these are repaired."""
        measured, ids = self.measure(3)
        hosts = [make_fleet.host_of(number) for number in range(6)]
        good, slow, half, broken = hosts[:4]
        nodes = self.folder / "nodes"
        troubles = {"slow": {slow: 1.3}, "statuses": {broken: {ids[0]: "incorrect", ids[1]: "failed"}}}
        make_fleet.fleet(measured, nodes, 6, variation=0.002, **troubles)

        def halve(document):
            for row in document["rows"]:
                row["id"] = row["id"].replace("/t1", "/t2")
                row["parameters"]["threads"] = 2

        self.edit(nodes / half / "result.json", halve)
        text = self.shell("assay accept nodes --criteria acceptance", code=3).stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], "INCORRECT: 6 nodes by acceptance: 3 PASS, 1 PERF-FAIL, 1 INCORRECT, 1 NOT-COMPARABLE.")
        self.assertIn(f"{broken}: {ids[0]}:", lines[1], "the reason comes next")
        table = re.findall(r"(?m)^(n\d+) +([A-Z-]+) +(\S+) +(\d of 3)", text)
        self.assertEqual([line[:2] for line in table[:3]], [(broken, "INCORRECT"), (half, "NOT-COMPARABLE"), (slow, "PERF-FAIL")])
        self.assertEqual({line[1] for line in table[3:]}, {"PASS"})
        self.assertEqual([line[3] for line in table], ["1 of 3", "0 of 3", "0 of 3", "3 of 3", "3 of 3", "3 of 3"])
        self.assertAlmostEqual(float(table[2][2]), 1 / 1.3, delta=0.02)
        reasons = " ".join(text.split())
        for said in (f"{broken} (INCORRECT) - {ids[0]}: incorrect: simulated: incorrect - MISSING: {ids[1]}: failed: simulated: failed",
                     f"{half} (NOT-COMPARABLE) - not comparable: 3 rows ran with 2 threads, elsewhere with 1",
                     f"{slow} (PERF-FAIL) - {ids[0]}: speedup over the other nodes 0.7"):
            self.assertIn(said, reasons)
        self.assertEqual(reasons.count("at least 0.952 is required"), 3)
        (rows,) = self.suggested(text)
        shown = self.shell(rows).stdout
        self.assertEqual(shown.count("suite delivery"), 1, "only the title of what is shown")
        self.assertEqual(len(re.findall(r"(?m)^conv/.* assay-conv ", shown)), 3, shown)
        prose = [line for line in lines[1:] if not line.startswith("  assay ")]
        self.assertEqual([line for line in prose if len(line) > WIDTH and " " in line.strip("- ")], [])
        # The document and the page have the verdict as well.
        self.shell("assay accept nodes --criteria acceptance --format json --out verdict.json --junit accept.xml", code=3)
        self.shell("assay validate verdict.json && assay report nodes verdict.json -o page.html")
        self.assertIn('"word":"INCORRECT"', (self.folder / "page.html").read_text().replace(" ", ""))
        # One file of all nodes gives the same.
        self.assertIn("wrote 54 rows of 6 runs", self.shell("assay gather nodes --out fleet.json").stderr)
        self.assertEqual(self.shell("assay accept fleet.json --criteria acceptance", code=3).stdout.splitlines()[0], lines[0])
        shutil.rmtree(nodes)
        make_fleet.fleet(measured, nodes, 6, variation=0.002)
        self.assertTrue(self.shell("assay accept nodes --criteria acceptance").stdout.startswith("PASS: 6 nodes by acceptance: 6 PASS.\n"))

    def weeks(self, measured, slow):
        """Ten weeks of the result that was measured, of which the last two are slower in one row."""
        levels = {}
        for row in measured["rows"]:
            levels.setdefault(row["id"], row["time_s"]["median"])
        for week in range(10):
            noise, day = random.Random(week), datetime.date(2026, 3, 2) + datetime.timedelta(weeks=week)
            rows = []
            for row in measured["rows"]:
                factor = (1.12 if week >= 8 and row["id"] == slow else 1) * (1 + noise.gauss(0, 0.002))
                row = make_fleet.scaled(row, factor * levels[row["id"]] / row["time_s"]["median"])
                rows.append({**row, "time_s": {**row["time_s"], "waiting": 0.0, "stolen": 0.0, "foreign": 0.0, "own": 1.0}})
            run = {**measured["run"], "id": f"week-{week}", "started": f"{day}T02:00:00.000Z", "finished": f"{day}T02:10:00.000Z"}
            folder = self.folder / "weeks" / str(day)
            folder.mkdir(parents=True)
            (folder / "result.json").write_text(json.dumps({**measured, "run": run, "rows": rows}))

    def test_ten_weeks_end_with_two_slow_ones(self):
        measured, ids = self.measure(3)
        self.weeks(measured, ids[0])
        text = self.shell("assay history weeks").stdout
        self.assertIn("3 series: 0 slower, 0 drifting, 0 lost, 1 suspect, 0 faster, 2 steady, 0 too short.", text)
        self.assertRegex(" ".join(text.split()), rf"{ids[0]} \(\S+, suspect\) the last run takes 1\d\.\d % longer than the earlier runs")
        promote, confirm = self.suggested(text)
        self.assertTrue(promote.endswith(" --promote all --owner NAME --reason TEXT --value-from RUN"), promote)
        self.shell(promote.replace("NAME", "me").replace("TEXT", "'before the new library'").replace("RUN", "2026-04-20"))
        text = self.shell("assay history weeks").stdout
        self.assertRegex(text, r"(?m)^ *last +last over promoted ")
        self.assertRegex(" ".join(text.split()), r"longer than the promoted level[^()]* \(tolerance 5 %\)")
        self.assertEqual(self.suggested(text), [confirm])
        # This machine was not slowed down: both builds are the same one. Other work may have made it slower since.
        done = self.command("sh", "-c", confirm.replace("BUILD", shlex.quote(str(BIN))), cwd=self.folder, env=self.user_environment())
        self.assertIn(done.returncode, (0, 4), done.stderr)
        answer = "machine slower" if done.returncode == 4 else "noise"
        self.assertIn(f"suspect: {answer}", done.stdout)
        again = self.shell("assay history weeks", code=done.returncode).stdout
        self.assertIn(f"--confirm answers {answer}", " ".join(again.split()))
        self.assertEqual(self.suggested(again), [])

    def list_of_layers(self):
        layers = {"stem": "ic8ih16oc16oh16kh3ph1", "block": "ic16ih16oc16oh16kh3ph1", "100 %_head": "ic16ih16oc32oh16kh1"}
        (self.folder / "layers.json").write_text(json.dumps({
            "schema": "assay-problems/1", "benchmark": "conv", "name": "paper", "defaults": "mb2",
            "problems": [{"name": name, "descriptor": layer} for name, layer in layers.items()]}))
        return layers

    def test_a_list_of_shapes_becomes_the_table_of_a_paper(self):
        layers = self.list_of_layers()
        self.assertIn("layers.json: ok (assay-problems/1, 3 problems)", self.shell("assay validate layers.json").stdout)
        measure = "assay-conv --problem layers.json --backend native,reference --threads 1 --max-time 0.02"
        self.shell(f"{measure} --launches 2 --out rows.json")
        self.shell("assay table rows.json --by backend --format latex --out table.tex")
        lines = [line for line in (self.folder / "table.tex").read_text().splitlines() if not line.startswith("%")]
        latex = "\n".join(lines)
        self.assertEqual([name for name in layers if f"paper/{name} ".replace("%", "\\%").replace("_", "\\_") not in latex], [])
        rows = [line for line in lines if line.startswith("paper/")]
        self.assertEqual([(line.count(" & "), line.endswith(" \\\\")) for line in rows], [(rows[0].count(" & "), True)] * 3)
        (head,) = [line for line in lines if "problem &" in line]
        self.assertRegex(head, r"native \(\S+\) & reference \(\S+\) & reference over native")
        self.assertEqual(latex.count("\\begin{"), latex.count("\\end{"))
        self.assertEqual(re.sub(r"\\[{}]", "", latex).count("{"), re.sub(r"\\[{}]", "", latex).count("}"))
        self.assertIsNone(re.search(r"(?<!\\)[%#_]", latex), "a special character of LaTeX")
        self.assertNotIn("6 ok", latex, "what is for the terminal stands in comments")
        # Fresh launches decide which backend is faster; the command says how.
        compare = "assay compare rows.json --base backend=reference --new backend=native"
        text = self.shell(compare, code=5).stdout
        self.assertIn("3 need fresh launches", text)
        self.assertIn("repeat the measurement with --launches 15 --out FILE", text)
        (suggested,) = self.suggested(text)
        self.shell(f"{measure} --launches 15 --out FILE")
        text = self.shell(suggested).stdout
        self.assertIn("0 slower, 3 faster, 0 same, 0 inconclusive", text)

    def test_a_backend_of_their_own_from_an_installed_tree(self):
        """One build: test_plugin.py has the other templates, and what is refused."""
        self.install()
        # Nothing leads to the build.
        build, measure, install = self.commands_of(self.new_backend("mine", "--kind", "gemm").stdout)
        self.shell(build, PATH=os.defpath)
        self.assertRegex(self.shell(measure, PATH=os.defpath).stdout, r"(?m)^gemm/\S*/mine/\S*\n.* (G|M)FLOP/s")
        plugin = self.folder / "mine/build/lib/assay/libassay_mine.so"
        needed = self.command("readelf", "-d", plugin, code=0).stdout
        path = re.search(r"(?:RUNPATH|RPATH).*\[(.*)\]", needed)
        self.assertTrue(path, needed)
        self.assertNotIn("", path.group(1).split(":"), "an empty entry is the current folder")
        self.assertNotIn("libhwy", needed)
        # Installed beside Assay's own, it is found without a variable, listed and compared.
        self.shell(install)
        self.addCleanup((self.prefix / "lib/assay/libassay_mine.so").unlink)
        path = f"{self.prefix}/bin:{os.defpath}"
        self.assertRegex(self.shell("assay list backends", PATH=path).stdout, "(?m)^mine +available")
        rows = "assay-gemm --problem m64n48k100 --backend reference,mine --threads 1 --max-time 0.02"
        self.shell(f"{rows} --launches 2 --out rows.json", PATH=path)
        text = self.shell("assay compare rows.json --base backend=reference --new backend=mine", code=5, PATH=path).stdout
        self.assertIn("backend reference / mine", text)
        self.assertIn("(1 of 1 row, by their first launches)", " ".join(text.split()))


if __name__ == "__main__":
    main()
