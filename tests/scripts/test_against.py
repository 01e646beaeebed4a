#!/usr/bin/env python3
"""`assay run --against`: two builds in turns, launch by launch; --cases; what a row and an environment gain from it."""
import json
import signal

from run_helper import ASSAY, BIN, SMALL, SOURCE, RunTest, event_of, group, main

HONEST = {"ASSAY_FAULT_OFF": "1"}
OTHER_SMALL = "mb2ic8ih8oc8oh8kh3ph1"


class Against(RunTest):
    def other_build(self, *benchmarks):
        folder = self.folder / "other" / "bin"
        folder.mkdir(parents=True)
        for name in benchmarks:
            (folder / name).symlink_to(BIN / name)
        return folder.parent

    def two_cases(self, **more):
        return self.suite([group(["direct"], [SMALL, OTHER_SMALL], backend="reference", **more)])

    def events(self, folder):
        file = folder / "journal.jsonl"
        return [event_of(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []

    def launches(self, folder):
        return [event for event in self.events(folder) if event["event"] == "launch"]

    def test_takes_turns(self):
        other = self.other_build("assay-conv")
        done = self.run_suite(self.two_cases(), "--launches", 6, "--against", other, code=0)
        command = (f"assay compare {self.out}/against {self.out} --vary software --confirm {self.out}/fresh --base-build {other}")
        self.assertIn(command + "\n", done.stdout)
        self.assertIn("software: both builds have loaded the same\n", done.stdout)
        # The command works as printed, and decides.
        done = self.command("bash", "-c", command.replace("assay ", ASSAY + " ", 1))
        self.assertIn(done.returncode, (0, 4, 5), done.stderr)
        self.assertIn("Geometric mean of new over base", done.stdout)
        here, there = self.launches(self.out), self.launches(self.out / "against")
        self.assertEqual([e["launch"] for e in here], list(range(6)))
        self.assertEqual([e["launch"] for e in there], list(range(6)))
        first = []
        for mine, its in zip(here, there):
            # No launch of a side begins before both sides have finished the launch before.
            first.append(mine["started"] < its["started"])
        for before, after in zip(zip(here, there), list(zip(here, there))[1:]):
            self.assertLess(max(e["started"] for e in before), min(e["started"] for e in after))
        self.assertEqual(len(set(first)), 2, "one side always began: what drifts within a launch would favour it")
        self.assertTrue(all(str(other / "bin") in e["command"] for e in there), there[0]["command"])
        mine = json.loads((self.out / "result.json").read_text())
        its = json.loads((self.out / "against" / "result.json").read_text())
        self.assertEqual({r["id"] for r in mine["rows"]}, {r["id"] for r in its["rows"]})
        self.assertEqual((len(mine["rows"]), len(its["rows"])), (12, 12))
        self.assertNotEqual(mine["run"]["id"], its["run"]["id"])
        self.assertEqual(its["run"]["programs"], str(other / "bin"))
        for environment in mine["environments"]:
            self.assertEqual(set(environment["volatile"]), set(environment["volatile_after"]))
            self.assertLessEqual(environment["volatile"]["time"], environment["volatile_after"]["time"])

    def test_refusals_leave_nothing(self):
        suite = self.two_cases()
        done = self.run_suite(suite, "--against", BIN.parent, code=2)
        self.assertIn("is this build itself", done.stderr)
        nowhere = self.folder / "nowhere"
        done = self.run_suite(suite, "--against", nowhere, code=2)
        self.assertIn(f"--against {nowhere} is not a build of Assay ({nowhere} does not exist)", done.stderr)
        done = self.run_suite(suite, "--against", SOURCE / "docs", code=2)
        self.assertIn("is not a build of Assay (no executable assay-<benchmark> is in", done.stderr)
        done = self.run_suite(suite, "--against", self.other_build("assay-stream"), code=2)
        self.assertIn("unknown benchmark 'conv'", done.stderr)
        self.assertFalse(self.out.exists())
        broken = self.folder / "other" / "bin" / "assay-conv"  # tells its cases' refusal only once it is started
        broken.write_text("#!/bin/sh\necho 'no such suite' >&2\nexit 2\n")
        broken.chmod(0o755)
        done = self.run_suite(suite, "--against", self.folder / "other", code=2)
        self.assertIn("no such suite", done.stderr)
        self.assertFalse(self.out.exists())

    def test_resumes_both(self):
        suite = self.suite([group(["direct"], [SMALL, OTHER_SMALL]), group(["hang"])])
        other = self.other_build("assay-conv")
        process = self.start_suite(suite, "--against", other, "--launches", 2, "--timeout", 10000)
        self.wait_until(lambda: any(e["event"] == "begin" and "/hang/" in e["id"] for e in self.events(self.out) +
                                    self.events(self.out / "against")), process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 7)
        self.run_suite(suite, "--against", other, "--resume", env=self.environment(**HONEST), code=0)
        for folder in (self.out, self.out / "against"):
            rows = json.loads((folder / "result.json").read_text())["rows"]
            self.assertEqual(len({(r["id"], r["launch"]) for r in rows}), 6)
            self.assertEqual({r["status"] for r in rows}, {"ok"})

    def test_cases_of_a_file(self):
        suite = self.two_cases()
        self.run_suite(suite, code=0)
        wanted = self.rows()[0]["id"]
        self.out = self.folder / "chosen"
        flagged = self.folder / "flagged.json"
        flagged.write_text(json.dumps([wanted]))
        self.run_suite(suite, "--cases", flagged, "--launches", 2, code=0)
        self.assertEqual([r["id"] for r in self.rows()], [wanted] * 2)
        self.assertEqual(json.loads((self.out / "result.json").read_text())["run"]["cases"], [wanted])
        self.out = self.folder / "wrong"
        flagged.write_text(json.dumps([wanted[:-1] + "9"]))
        self.assertIn("Did you mean", self.run_suite(suite, "--cases", flagged, code=2).stderr)
        for text in ("[]", "{}", "[1]"):
            flagged.write_text(text)
            self.assertIn("is not a list of ids", self.run_suite(suite, "--cases", flagged, code=2).stderr)
        self.assertFalse(self.out.exists())

    def test_a_result_never_chooses_what_is_executed(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference", tolerance=1e-9)])
        other = self.other_build("assay-conv")
        self.run_suite(suite, "--launches", 5, "--against", other, code=0)
        files = [self.out / "result.json", self.out / "against" / "result.json"]
        honest = [json.loads(file.read_text()) for file in files]
        trap, sprung = self.folder / "trap" / "assay-conv", self.folder / "sprung"
        trap.parent.mkdir()
        trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
        trap.chmod(0o755)
        for field, value, flag in (("launcher", [str(trap)], "--launcher"), ("programs", str(trap.parent), "--base-build")):
            with self.subTest(field):
                for file, result in zip(files, honest):
                    file.write_text(json.dumps({**result, "run": {**result["run"], field: value}}))
                done = self.command(ASSAY, "compare", self.out / "against", self.out, "--vary", "nothing", "--base-build", other,
                                    "--confirm", self.folder / "fresh", code=2)
                for word in (str(trap.parent), flag, "never executed"):
                    self.assertIn(word, done.stderr)
                self.assertFalse(sprung.exists(), "what the file says was executed")
                self.assertFalse((self.folder / "fresh").exists())

    def test_confirms_what_is_flagged(self):
        """A part of a suite, run again, is in the environment of the whole: one of its two backends has no flagged row."""
        suite = self.suite([group(["direct"], [SMALL], backend="reference", tolerance=1e-9),  # flagged by any ratio but 1
                            group(["direct"], [SMALL], tolerance=10)])
        other = self.other_build("assay-conv")
        self.run_suite(suite, "--launches", 5, "--against", other, code=0)
        words = [ASSAY, "compare", self.out / "against", self.out, "--vary", "nothing", "--confirm", self.folder / "fresh",
                 "--format", "json"]
        # The text of the file is shown, never executed.
        refused = self.command(*words, code=2)
        for word in (str(other), "--base-build"):
            self.assertIn(word, refused.stderr)
        self.assertFalse((self.folder / "fresh").exists())
        words += ["--base-build", other]
        done = self.command(*words)
        self.assertIn(done.returncode, (0, 4, 5), done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["mismatches"], [])
        self.assertEqual(document["stage"], "confirmed")
        stages = {"reference" in row["id"]: (row["stage"], row["new"]["launches"]) for row in document["rows"]}
        self.assertEqual(stages, {True: ("confirmed", 15), False: ("screen", 5)})
        begun = [e for e in self.events(self.folder / "fresh" / "base") if e["event"] == "begin"]
        self.assertEqual(len(begun), 15)
        again = self.command(*words)  # what is there already is not run once more
        self.assertEqual(json.loads(again.stdout)["rows"], document["rows"])
        self.assertEqual([e for e in self.events(self.folder / "fresh" / "base") if e["event"] == "begin"], begun)

    def test_tolerances_reach_the_rows(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference"),
                            group(["direct"], [OTHER_SMALL], backend="reference", tolerance=0.1)], tolerance=0.03)
        self.run_suite(suite, code=0)
        self.assertEqual({SMALL: 0.03, OTHER_SMALL: 0.1},
                         {r["problem"]["descriptor"]: r["tolerance"] for r in self.rows()})
        bad = self.suite([group(["direct"])], name="bad", tolerance=-1)
        self.out = self.folder / "bad-out"
        self.assertIn("/tolerance", self.run_suite(bad, code=2).stderr)


if __name__ == "__main__":
    main()
