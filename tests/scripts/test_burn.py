#!/usr/bin/env python3
"""`assay burn`: faults that come now and then are found, located and counted; nothing right is called wrong; what a signal
or a dying process leaves is kept; limits are recomputed by `assay validate` and judged by `assay accept`."""
import json
import math
import os
import signal
import subprocess
import sys
import time
import unittest

import run_helper
from run_helper import ASSAY, BIN, SMALL, RunTest, group


class Burn(RunTest):
    @classmethod
    def setUpClass(cls):
        """One burn-in takes 40 s to be given up, and no processor: it goes on beside the other tests. A right one serves several."""
        cls.still, cls.right = cls("test_bad_words"), cls("test_bad_words")
        for each in cls.still, cls.right:
            each.setUp()
            cls.addClassCleanup(each.doCleanups)
        cls.still.stop_a_member()
        cls.right.burn(cls.right.burn_suite("direct"), code=0)

    def right_result(self):
        return json.loads((self.right.out / "result.json").read_text())

    def stop_a_member(self):
        self.process = subprocess.Popen([ASSAY, "burn", str(self.burn_suite("direct")), "--for", "1s", "--timeout", "1", "--out",
                                         str(self.out)], env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.addCleanup(self.process.kill)
        end = time.monotonic() + run_helper.DEADLINE
        while time.monotonic() < end and not list(self.out.glob("members/*")):
            time.sleep(0.05)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(children[0]), signal.SIGSTOP)

    def burn_suite(self, algorithm, problems=(SMALL,), **more):
        return self.suite([group([algorithm], problems)], name="flips", **more)

    def burn(self, suite, *words, env=None, code=None, seconds="2s"):
        done = self.command(ASSAY, "burn", suite, "--for", seconds, "--out", self.out, "--threads", "1", *words, env=env,
                            code=code)
        self.text = done.stdout + done.stderr
        return json.loads((self.out / "result.json").read_text()) if (self.out / "result.json").exists() else None

    def flips(self, **more):
        self.log = self.folder / "flips.txt"
        return self.environment(ASSAY_FAULT_LOG=str(self.log), ASSAY_FAULT_FROM="1", **more)

    def injected(self):
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def test_right_runs(self):
        result = self.right_result()
        cores = len({row["burn"]["places"][0] for row in result["rows"]})
        self.assertEqual(cores, len(os.sched_getaffinity(0)), "one process on each core")
        for row in result["rows"]:
            burn = row["burn"]
            self.assertEqual((row["status"], burn["faulty"], burn["undecided"]), ("ok", 0, 0), row["reason"])
            self.assertGreater(burn["runs"], 100)
            self.assertEqual([data["name"] for data in burn["data"]], ["integers", "constant", "random"])
            self.assertAlmostEqual(burn["device_hours"], burn["seconds"] / 3600, 12)
            self.assertAlmostEqual(burn["limit_per_device_hour"], -math.log(0.05) / burn["device_hours"],
                                   delta=1e-6 * burn["limit_per_device_hour"])
        self.command(ASSAY, "validate", self.right.out / "result.json", code=0)

    def test_changed_numbers_are_refused(self):
        result = self.right_result()
        for field, value in {"limit_per_device_hour": 0.1, "faulty": 1, "runs": 1e9, "poisoned": 0, "device_hours": 100,
                             "seconds": 1e6}.items():
            changed = json.loads(json.dumps(result))
            changed["rows"][0]["burn"][field] = value
            self.refuse(changed)
        # A count so large that another one less is the same ended no loop.
        for change in (lambda burn: (burn.update(faulty=int(1e17)), burn["data"][0].update(faulty=int(1e17))),
                       lambda burn: (burn.update(poisoned=burn["runs"] + 1), burn["data"][0].update(poisoned=burn["data"][0]["runs"] + 1)),
                       lambda burn: burn["windows"].append({"unix_s": 1, "seconds": 1e-9, "runs": 10**12})):
            changed = json.loads(json.dumps(result))
            change(changed["rows"][0]["burn"])
            self.refuse(changed)

    def refuse(self, changed):
        file = self.folder / "changed.json"
        file.write_text(json.dumps(changed))
        done = self.command(ASSAY, "validate", file, code=2)
        self.assertIn("/burn/", done.stderr + done.stdout)

    def test_lost_stores(self):
        result = self.burn(self.burn_suite("skip"), env=self.flips(ASSAY_FAULT_EVERY="300"), seconds="4s", code=3)
        burns = [row["burn"] for row in result["rows"] if row.get("burn")]
        found = sum(burn["faulty"] for burn in burns)
        self.assertEqual(sum(burn["undecided"] for burn in burns), 0)
        self.assertLessEqual(found, self.injected())
        # Runs as short as their checks are poisoned one time in 17: the others hide the fault.
        self.assertGreater(found, 0.5 * self.injected() / 17)

    def test_undecided_runs_are_not_accepted(self):
        result = self.right_result()
        for row in result["rows"]:
            burn = row["burn"]
            data = burn["data"][-1]
            data["undecided"] = burn["undecided"] = 1
            row.update(status="unsupported", reason="1 run differs", time_s=None, rates={}, samples_s=[])
        criteria = self.folder / "criteria.json"
        criteria.write_text(json.dumps({"schema": "assay-criteria/1", "name": "any", "nodes": "seen", "absolute": []}))
        file = self.folder / "undecided.json"
        file.write_text(json.dumps(result))
        judged = self.command(ASSAY, "accept", file, "--criteria", criteria)
        self.assertIn(judged.returncode, (3, 6, 7), judged.stdout + judged.stderr)
        self.assertNotIn("not required", judged.stdout)

    def test_a_damaged_journal_costs_its_member_alone(self):
        suite = self.burn_suite("direct")
        self.burn(suite, code=0)
        members = sorted((self.out / "members").glob("*/journal.jsonl"))
        if len(members) < 2:
            self.skipTest("one core")
        members[0].write_text("")
        members[0].chmod(0o444)
        result = self.burn(suite, "--resume", code=7)
        self.assertIn(members[0].parent.name, self.text)
        self.assertEqual(len(result["rows"]), len(members) - 1)

    def test_more_gpus_than_processes(self):
        done = self.command(ASSAY, "burn", self.burn_suite("direct"), "--for", "1s", "--gpus", "1000", "--out", self.out, code=2)
        self.assertIn("--gpus 1000", done.stderr)
        # The scheduler gave one GPU: a second process must not take another one.
        if len(os.sched_getaffinity(0)) > 1:
            self.out = self.folder / "one"
            self.burn(self.burn_suite("direct"), "--gpus", "2", env=self.environment(CUDA_VISIBLE_DEVICES="5"), code=7)
            self.assertIn('CUDA_VISIBLE_DEVICES is "5"', self.text)

    def test_faults_now_and_then(self):
        result = self.burn(self.burn_suite("flip"), env=self.flips(ASSAY_FAULT_EVERY="300"), seconds="4s", code=3)
        rows = [row for row in result["rows"] if row.get("burn")]
        self.assertTrue(rows)
        found = sum(row["burn"]["faulty"] + row["burn"]["undecided"] for row in rows)
        # Runs that repeat a wrong one do not count, nor the checks behind the burn-in.
        self.assertLessEqual(found, self.injected())
        self.assertGreaterEqual(found, 0.9 * self.injected())
        fault = next(row["burn"]["faults"][0] for row in rows if row["burn"]["faulty"])
        self.assertEqual(fault["elements"], 1)
        bits = [int(fault[name], 16) for name in ("expected", "found", "differing_bits")]
        self.assertEqual(bits[0] ^ bits[1], bits[2])
        self.assertEqual(bin(bits[2]).count("1"), 2)
        self.assertRegex(fault["place"], r"^dst\[\d+,\d+,\d+,\d+\]$")
        self.assertIn(fault["place"], self.text)
        element = int(self.log.read_text().split()[1])
        self.assertGreaterEqual(element, 0)
        self.command(ASSAY, "validate", self.out / "result.json", code=0)
        judged = self.command(ASSAY, "accept", self.out, "--criteria", "burn")
        self.assertEqual(judged.returncode, 3, judged.stdout + judged.stderr)

    def test_only_on_one_core(self):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            self.skipTest("one core")
        bad = cores[-1]
        result = self.burn(self.burn_suite("flip"), code=3, seconds="4s",
                           env=self.flips(ASSAY_FAULT_EVERY="300", ASSAY_FAULT_WHEN=f"processor:{bad}"))
        for row in result["rows"]:
            place = row["burn"]["places"][0]
            wrong = place.endswith(f"processors {bad}")
            self.assertEqual(row["burn"]["faulty"] > 0, wrong, place)
            self.assertEqual(row["status"], "incorrect" if wrong else "ok", row["reason"])
            for fault in row["burn"]["faults"]:
                self.assertEqual(fault["processors"], f"{bad} of {bad}")

    def test_only_when_hot(self):
        heat = self.folder / "heat"
        heat.write_text("60")
        env = self.flips(ASSAY_FAULT_EVERY="300", ASSAY_FAULT_WHEN=f"above:80:{heat}")
        result = self.burn(self.burn_suite("flip"), env=env, seconds="4s", code=0)
        self.assertEqual(sum(row["burn"]["faulty"] for row in result["rows"]), 0)
        heat.write_text("85")
        self.out = self.folder / "hot"
        result = self.burn(self.burn_suite("flip"), env=env, seconds="4s", code=3)
        self.assertTrue(all(row["status"] == "incorrect" for row in result["rows"]))

    def test_only_under_load(self):
        spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 + os.cpu_count())]
        for spinner in spinners:
            self.addCleanup(spinner.wait)
            self.addCleanup(spinner.kill)
        result = self.burn(self.burn_suite("flip"), seconds="6s", code=3,
                           env=self.flips(ASSAY_FAULT_EVERY="100", ASSAY_FAULT_WHEN=f"running:{len(spinners)}"))
        self.assertGreater(sum(row["burn"]["faulty"] for row in result["rows"] if row.get("burn")), 0)

    def test_too_few_hours_are_not_accepted(self):
        judged = self.command(ASSAY, "accept", self.right.out, "--criteria", "burn")
        self.assertEqual(judged.returncode, 6, judged.stdout)
        self.assertIn("burn in for longer", " ".join(judged.stdout.split()))
        # A run without a burn-in has no such quantity: it is missing, never passed.
        plain = self.suite([group(["direct"])], name="plain")
        criteria = self.folder / "criteria.json"
        criteria.write_text(json.dumps({"schema": "assay-criteria/1", "name": "hours", "nodes": "seen", "absolute": [
            {"rows": ".", "quantity": "burn_device_hours", "at_least": 1e-9}]}))
        self.out = self.folder / "plain"
        self.run_suite(plain, code=0)
        judged = self.command(ASSAY, "accept", self.out, "--criteria", criteria)
        self.assertEqual(judged.returncode, 6, judged.stdout)
        self.assertIn("no burn-in", " ".join(judged.stdout.split()))

    def test_a_signal_keeps_what_was_burnt(self):
        other = "mb1ic8ih8oc16oh8kh3ph1"
        process = subprocess.Popen(
            [ASSAY, "burn", str(self.burn_suite("direct", (SMALL, other))), "--for", "16s", "--out", str(self.out)],
            env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + run_helper.DEADLINE
        journals = lambda: list(self.out.glob("members/*/journal.jsonl"))
        while time.monotonic() < end and not any('"event":"row"' in file.read_text() for file in journals()):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=run_helper.DEADLINE)
        self.assertEqual(process.returncode, 7, errors)
        self.assertIn("stopped by", errors)
        result = json.loads((self.out / "result.json").read_text())
        self.assertTrue(result["rows"])
        self.assertTrue(all(row["burn"]["runs"] > 0 for row in result["rows"]))
        self.assertIn("below", output)

    def test_dying_and_hanging(self):
        suite = self.suite([group(["direct", "crash", "hang"])], name="flips")
        result = self.burn(suite, "--timeout", "5", code=7, seconds="6s")
        states = {row["parameters"]["algorithm"]: row["status"] for row in result["rows"]}
        self.assertEqual(states, {"direct": "ok", "crash": "failed", "hang": "timeout"})

    def test_bad_words(self):
        for words in (["nonsense", "--for", "1s"], ["gemm,nonsense", "--for", "1s"], ["gemm", "--for", "0"],
                      ["gemm", "--for", "5 parsecs"], ["gemm", "--for", "1s", "--threads", "0"]):
            done = self.command(ASSAY, "burn", *words, "--out", self.out, code=2)
            self.assertTrue(done.stderr.startswith("assay"), done.stderr)

    def test_a_training_step_burns(self):
        file = self.folder / "training.json"
        words = ["--problem", "d18w8s32c5", "--batch", "4", "--backend", "native", "--threads", "1", "--steps", "3", "--burn", "1"]
        self.command(BIN / "assay-resnet50", *words, "--out", file, code=0)
        burn = json.loads(file.read_text())["rows"][0]["burn"]
        self.assertEqual([data["name"] for data in burn["data"]], ["training step"])
        self.assertGreater(burn["runs"], 5)
        # One whose next step has other images does not repeat.
        self.command(BIN / "assay-resnet50", *words, "--data", "learnable:n64v16", "--out", self.folder / "other.json", code=6)
        self.assertIn("burn-in", json.loads((self.folder / "other.json").read_text())["rows"][0]["reason"])

    def test_a_program_burns_alone(self):
        file = self.folder / "alone.json"
        self.command(BIN / "assay-gemm", "--problem", "m64n64k64", "--backend", "reference", "--precision", "fp32", "--threads",
                     "1", "--max-time", "0.05", "--burn", "0.5", "--out", file, code=0)
        row = json.loads(file.read_text())["rows"][0]
        self.assertGreater(row["burn"]["runs"], 100)
        self.command(ASSAY, "validate", file, code=0)

    def test_what_stands_still_is_lost(self):
        errors = self.still.process.communicate(timeout=run_helper.DEADLINE)[1]
        self.assertEqual(self.still.process.returncode, 7, errors)
        self.assertIn("took longer than", errors)


if __name__ == "__main__":
    unittest.main()
