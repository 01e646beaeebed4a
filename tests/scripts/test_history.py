#!/usr/bin/env python3
"""`assay history` as a command: what it refuses, writes and answers."""
import datetime
import json

from run_helper import ASSAY, RunTest, line_of, main
import make_results

SLOW = "conv/forward/fp32/onednn/direct/mb1c0001/hot/t2"


class History(RunTest):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        for i in range(16):
            self.add_run(i, slow={"c0001/": 1.15} if i >= 10 else None)

    def add_run(self, i, **more):
        started = (datetime.datetime(2026, 1, 5) + datetime.timedelta(weeks=i)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        document = make_results.document(rows=3, launches=2, seed=1, noise_seed=i, started=started, **more)
        folder = self.runs / f"run{i:02}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(document))
        return folder / "result.json"

    def history(self, *words, code):
        return self.command(ASSAY, "history", self.runs, *words, code=code)

    def document(self, *words, code):
        return json.loads(self.history("--format", "json", *words, code=code).stdout)

    def refused(self, *words, names):
        done = self.history(*words, code=2)
        self.assertEqual(done.stdout, "")
        for name in names:
            self.assertIn(name, done.stderr)

    def test_formats(self):
        text = self.history(code=4).stdout
        self.assertIn("1 slower, 0 drifting, 0 lost, 0 suspect, 0 faster, 2 steady", text)
        self.assertIn("| state |", self.history("--format", "markdown", code=4).stdout)
        self.assertEqual(len(self.history("--format", "csv", code=4).stdout.splitlines()), 1 + 3 * 16)
        file = self.folder / "history.json"
        self.assertEqual(self.history("--format", "json", "--out", file, code=4).stdout, "")
        self.command(ASSAY, "validate", file, code=0)
        self.assertEqual({series["id"]: series["state"] for series in json.loads(file.read_text())["series"]}[SLOW], "slower")

    def test_selection(self):
        self.assertEqual(len(self.document("--filter", "c000[02]", code=0)["series"]), 2)
        short = self.document("--since", "2026-03-16", code=0)["series"][0]  # being built: that fails nothing
        self.assertEqual((len(short["points"]), short["state"], short["reason"]), (6, "too short", "6 of 8 runs"))
        self.assertEqual(self.document("--filter", "gemm", code=6)["series"], [])
        self.assertEqual(self.document("--tolerance", "0.2", code=0)["exit_code"], 0)

    def test_promote_and_reset(self):
        self.refused("--promote", SLOW, names=["--owner"])
        self.refused("--promote", SLOW, "--owner", "me", names=["--reason"])
        self.refused("--promote", SLOW[:-1] + "3", "--owner", "me", "--reason", "why", names=[SLOW])
        self.refused("--promote", SLOW, "--reset", SLOW, "--owner", "me", "--reason", "why", names=["exclude"])
        self.refused("--owner", "me", names=["--promote"])
        self.assertFalse((self.runs / "anchors.jsonl").exists())
        self.history("--promote", SLOW, "--owner", "me", "--reason", "new library", code=0)
        self.assertEqual(self.document(code=0)["series"][1]["anchored"]["owner"], "me")
        first = (self.runs / "anchors.jsonl").read_text()
        self.history("--reset", SLOW, "--owner", "you", "--reason", "was wrong", code=0)
        self.assertTrue((self.runs / "anchors.jsonl").read_text().startswith(first))
        self.assertEqual(self.document(code=4)["series"][1]["anchored"]["promoted"], False)

    def test_a_run_is_promoted_by_its_folder_or_its_id(self):
        run = json.loads((self.runs / "run03" / "result.json").read_text())["run"]["id"]
        for name in ("run03", self.runs / "run03", run):
            self.history("--promote", SLOW, "--owner", "me", "--reason", "why", "--value-from", name, code=0)
            self.assertEqual(json.loads((self.runs / "anchors.jsonl").read_text().splitlines()[-1])["run"], run)
        self.refused("--promote", SLOW, "--owner", "me", "--reason", "why", "--value-from", "run99", names=["unknown run 'run99'", run])

    def test_bad_input(self):
        self.refused("--filter", "(", names=["regular expression"])
        self.refused("--since", "yesterday", names=["--since", "yesterday"])
        self.refused("--format", "jsn", names=["json"])
        copy = self.runs / "copy"
        copy.mkdir()
        (copy / "result.json").write_text((self.runs / "run03" / "result.json").read_text())
        self.refused(names=["run03", "copy", "both results of run"])
        (copy / "result.json").write_text((self.runs / "run03" / "result.json").read_text()[:1000])
        self.refused(names=["copy"])
        (copy / "result.json").unlink()
        backwards = self.runs / "run04" / "result.json"
        document = json.loads(backwards.read_text())
        document["run"]["finished"] = "2025-01-01T00:00:00.000Z"
        backwards.write_text(json.dumps(document))
        self.refused(names=["run04", "/run/finished", "backwards"])
        document["run"]["started"] = document["run"]["finished"] = "2999-01-01T00:00:00.000Z"
        backwards.write_text(json.dumps(document))
        self.refused(names=["run04", "/run/started", "2999-01-01", "in the future"])
        self.assertIn("not a folder", self.command(ASSAY, "history", self.folder / "none", code=2).stderr)
        empty = self.folder / "empty"
        empty.mkdir()
        self.command(ASSAY, "history", empty, code=2)

    def test_an_answer_given_earlier_is_shown(self):
        self.runs = self.folder / "weeks"
        for i in range(11):
            last = self.add_run(i, slow={"c0001/": 1.15} if i == 10 else None).parent
        self.assertEqual(self.document(code=0)["series"][1]["state"], "suspect")
        text = self.history(code=0).stdout
        self.assertIn("software: --confirm decides", text)
        self.assertNotIn("last over promoted", text, "nothing was promoted")
        self.assertIn(f"  assay history {self.runs} --promote all --owner NAME --reason TEXT --value-from RUN\n", text)
        self.assertTrue(text.endswith(f"  assay history {self.runs} --confirm BUILD\n"), text)

        def kept(launches, day=17):
            for noise, (build, slow) in enumerate((("promoted", None), ("new", {"c0001/": 1.15}))):
                folder = last / "confirm" / "0123abcd" / build
                folder.mkdir(parents=True, exist_ok=True)
                made = make_results.document(rows=3, launches=launches, seed=1, noise_seed=100 + noise, slow=slow,
                                             started=f"2026-03-{day}T00:00:00.000Z")
                (folder / "result.json").write_text(json.dumps(made))
            return made["environments"][0]

        level = self.document(code=0)["series"][1]["anchored"]["value"]
        environment = kept(15)
        self.assertNotIn("confirmation", self.document(code=0)["series"][1], "nothing was promoted")
        line = {"schema": "assay-anchor/1", "event": "promote", "id": SLOW, "hardware": environment["hashes"]["hardware"],
                "time": "2026-03-12T00:00:00.000Z", "owner": "me", "reason": "release", "value": level, "unit": "s", "run": None,
                "installation": {"programs": "/none", "hash": "0", "software": environment["software"]}}
        (self.runs / "anchors.jsonl").write_text(line_of(line) + "\n")
        text = self.history(code=4).stdout
        self.assertIn("suspect: software slower", text)
        for decided in ("To decide, measure again", "--confirm decides"):
            self.assertNotIn(decided, text)
        self.assertIn("--confirm answers software slower", text)
        self.assertRegex(text, r"(?m)^ *last  last over promoted  over anchored +change +confirmed +state$")
        self.assertRegex(text, rf"(?m)^{SLOW}\n.* 0\.8\d\d .* \+1\d\.\d % +\+1\d\.\d % +suspect: software slower$")
        self.assertRegex(text, r"95 % interval \+1\d\.\d to \+1\d\.\d %")
        self.assertEqual([line for line in text.splitlines() if len(line) > 120], [])
        series = self.document(code=4)["series"][1]
        self.assertAlmostEqual(series["last_ratio"], series["points"][-1]["value"] / level)
        self.assertGreater(series["size"], 1.1)
        kept(14)
        self.assertNotIn("confirmation", self.document(code=0)["series"][1], "not all was launched")
        kept(15, day=11)
        self.assertNotIn("confirmation", self.document(code=0)["series"][1], "launched for the promotion of before")

    def test_wrong_last_run(self):
        self.add_run(16, statuses={"c0002": "incorrect"})
        self.assertEqual(self.document(code=3)["series"][2]["gaps"][0]["status"], "incorrect")


if __name__ == "__main__":
    main()
