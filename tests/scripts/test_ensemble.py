#!/usr/bin/env python3
"""`assay run --ensemble`: members, rungs and ranking, recomputed from the rows; members that crash, hang, diverge, lag behind or are
lost; a killed run that goes on; files whose ranking is not that of their rows."""
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from run_helper import ASSAY, RunTest, main

GROUP = {"benchmark": "train", "problem": ["mlp:i64w32l1c4"], "data": ["learnable:n400v100"], "backend": ["native"], "threads": [1],
         "steps": [20], "epochs": [4], "target": ["0.65"], "schedule": ["constant"], "scaling": ["none"]}
SPACE = {"rate": {"log_uniform": [0.0003, 1]}, "optimizer": ["sgd", "adam"], "batch": [8, 16, 32]}
LONG = {"data": ["learnable:n2000v100"], "epochs": [250], "target": ["1"]}  # a member takes more than a second


class Ensemble(RunTest):
    def space(self, space=None, **more):
        return self.suite([{**GROUP, "search": SPACE if space is None else space, **more}])

    def ensemble(self, suite, *words, count=4, code=0):
        done = self.run_suite(suite, "--ensemble", count, *words, code=code)
        self.check_file()
        return done

    def result(self):
        return json.loads((self.out / "result.json").read_text())

    def document(self):
        return self.result()["run"]["ensemble"]

    def summary(self):
        return self.document()["summary"]

    def member_folder(self, member, rung=0):
        return self.out / "members" / f"{member:05}-{rung}"

    def processes(self, word, program):
        found = []
        for entry in os.listdir("/proc"):
            try:
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
                if entry.isdigit() and words[0].endswith(program.encode()) and any(word.encode() in each for each in words):
                    found.append(int(entry))
            except OSError:
                pass
        return found

    def begun(self, member, rung=0):
        """The process that trains the member, once it has begun."""
        journal = self.member_folder(member, rung) / "journal.jsonl"
        if not journal.exists() or '"event":"begin"' not in journal.read_text():
            return []
        return self.processes(f"{self.member_folder(member, rung).name}.json", "/assay-train")


class Ranking(Ensemble):
    def expect_ranking(self, document, rows):
        """The order, written anew: the target in fewer epochs, the later rung, the quality, the number."""
        last = {}
        for row in rows:
            last[row["launch"]] = row  # rungs stand in their order
        target = document["target"]
        rungs = {rung["epochs"]: i for i, rung in enumerate(document["rungs"])}

        def key(member):
            row = last[member]
            quality, rung = row["metrics"]["accuracy"]["value"], rungs[row["parameters"]["epochs"]]
            return (0, row["epochs"][-1]["epoch"], -quality, member) if quality >= target else (1, -rung, -quality, member)

        places = [place["member"] for place in document["summary"]["ranking"]]
        self.assertEqual(places, sorted(last, key=key))
        self.assertEqual(document["summary"]["reached"], sum(key(member)[0] == 0 for member in last))

    def test_equal_seeds_give_equal_rankings_and_other_seeds_do_not(self):
        suite = self.space()
        self.ensemble(suite, "--seed", 7, count=4)
        document, rows = self.document(), self.rows()
        self.expect_ok(rows, 4)
        self.expect_ranking(document, rows)
        places = [place["member"] for place in document["summary"]["ranking"]]
        self.assertEqual(sorted(places), list(range(4)))
        for row, draw in zip(rows, document["draws"]):
            self.assertTrue(0.0003 <= float(draw["rate"]) <= 1, draw)
            for name, value in draw.items():
                self.assertEqual(float(row["parameters"][name]) if name != "optimizer" else row["parameters"][name],
                                 float(value) if name != "optimizer" else value)
        first = self.out
        self.out = self.folder / "again"
        self.ensemble(suite, "--seed", 7, count=4)
        again = self.document()
        self.assertEqual(again["draws"], document["draws"])
        self.assertEqual([{**place, "seconds": 0} for place in again["summary"]["ranking"]],
                         [{**place, "seconds": 0} for place in document["summary"]["ranking"]])
        listed = [self.command(ASSAY, "run", suite, "--ensemble", count, "--seed", seed, "--list", code=0).stdout.splitlines()
                  for count, seed in ((4, 7), (9, 7), (4, 8))]
        self.assertEqual(listed[1][:4], listed[0], "more members change the first ones")
        self.assertNotEqual(listed[2], listed[0])
        self.assertIn(f"member 0: batch {document['draws'][0]['batch']}", listed[0][0])
        self.assertIn("9 members train 1, 2, 4 epochs, 1 in 2 of them continues",
                      self.command(ASSAY, "run", suite, "--ensemble", 9, "--search", "halving", "--dry-run", code=0).stdout)
        for form, text in (("terminal", "models an hour"), ("markdown", "| place |"), ("csv", "place,member,"), ("json", '"ranking"')):
            shown = self.command(ASSAY, "ensemble", first, "--format", form, code=0).stdout
            self.assertIn(text, shown)

    def test_members_run_at_once_on_cores_of_their_own(self):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            self.skipTest("one processor alone")
        self.ensemble(self.space(**LONG), count=4)
        result, document = self.result(), self.document()
        self.assertEqual(document["slots"], len({pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
                                                 for cpu in allowed}))
        bound = {row["launch"]: result["environments"][row["environment"]]["volatile"]["processors_allowed"] for row in result["rows"]}
        runs = sorted(document["runs"], key=lambda run: run["started_unix_s"])
        at_once = 0
        for run in runs:
            for other in runs:
                if run is not other and run["started_unix_s"] < other["ended_unix_s"] and other["started_unix_s"] < run["ended_unix_s"]:
                    at_once += 1
                    self.assertNotEqual(run["slot"], other["slot"])
                    self.assertFalse(set(bound[run["member"]]) & set(bound[other["member"]]), bound)
        self.assertGreater(at_once, 0)

    def test_halving_keeps_the_better_members_and_trains_nothing_twice(self):
        for factor, budgets in ((2, [1, 2, 4]), (3, [1, 4])):
            with self.subTest(factor):
                self.out = self.folder / f"by-{factor}"
                self.ensemble(self.space(target=["1"]), "--search", "halving", "--factor", factor, count=7)
                document, rows = self.document(), self.rows()
                self.expect_ranking(document, rows)
                self.assertEqual([rung["epochs"] for rung in document["rungs"]], budgets)
                members = list(range(7))
                for rung in document["rungs"]:
                    self.assertEqual(rung["members"], members)
                    ends = {row["launch"]: row for row in rows if row["parameters"]["epochs"] == rung["epochs"]}
                    self.assertEqual(sorted(ends), members)
                    for row in ends.values():
                        earlier = [budget for budget in budgets if budget < rung["epochs"]]
                        self.assertEqual([end["epoch"] for end in row["epochs"]],
                                         list(range((earlier or [0])[-1] + 1, rung["epochs"] + 1)), "trained twice, or not at all")
                    best = sorted(members, key=lambda member: (-ends[member]["metrics"]["accuracy"]["value"], member))
                    members = sorted(best[:max(1, len(members) // factor)])

    def test_equal_members_stand_in_the_order_of_their_numbers(self):
        self.ensemble(self.space({"batch": [16]}, rate=["0.01"]), count=3)
        ranking = self.summary()["ranking"]
        self.assertEqual([place["member"] for place in ranking], [0, 1, 2])
        self.assertEqual(len({place["quality"] for place in ranking}), 1)

    def test_a_straggler_counts_until_its_end(self):
        self.ensemble(self.space({"batch": [1, 64]}, rate=["0.001"], target=["0"], data=["learnable:n20000v100"], validate_every=[4]),
                      "--seed", 2, count=3)
        document = self.document()
        runs, summary = document["runs"], document["summary"]
        seconds = {run["member"]: run["ended_unix_s"] - run["started_unix_s"] for run in runs}
        slow = max(seconds, key=seconds.get)
        self.assertEqual(document["draws"][slow]["batch"], "1")
        last = max(runs, key=lambda run: run["ended_unix_s"])
        self.assertEqual(document["draws"][last["member"]]["batch"], "1")
        hours = (last["ended_unix_s"] - min(run["started_unix_s"] for run in runs)) / 3600
        self.assertAlmostEqual(summary["hours"], hours, delta=1e-9)
        self.assertAlmostEqual(summary["models_per_hour"], 3 / hours, delta=1e-6 / hours)


# A shell that takes the name of its node.
ON_NODE = ["--oversubscribe", "--bind-to", "none", "unshare", "--uts", "sh", "-c"]


@unittest.skipUnless(shutil.which("mpirun") and os.geteuid() == 0 and subprocess.run(["unshare", "--uts", "true"]).returncode == 0,
                     "unsupported: nodes as namespaces need mpirun and root's rights")
class Nodes(Ensemble):
    def test_members_are_packed_on_the_nodes_of_the_launcher(self):
        launcher = self.folder / "own.json"
        launcher.write_text(json.dumps(
            {"schema": "assay-launcher/1", "name": "own", "description": "ours", "binding": {"none": "none"},
             "command": ["mpirun", "-n", "{ranks}", *ON_NODE, 'hostname {hosts} && exec "$@"', "{bind}"],
             "one_per_node": ["mpirun", "-n", "{nodes}", *ON_NODE, 'hostname "node$OMPI_COMM_WORLD_RANK" && exec "$@"', "node"]}))
        environment = self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.run_suite(self.space(target=["1"]), "--ensemble", 6, "--search", "halving", "--launcher", launcher, "--nodes", 2, env=environment,
                       code=0)
        self.check_file()
        result, document = self.result(), self.document()
        cores = document["slots"] // 2
        self.assertGreaterEqual(cores, 1)
        first = {(run["host"], run["slot"]) for run in document["runs"] if run["rung"] == 0}
        self.assertEqual(first, {(f"node{node}", slot) for node in (0, 1) for slot in range(min(cores, 3))})
        host = {(run["member"], run["rung"]): run["host"] for run in document["runs"]}
        for row in result["rows"]:
            rung = [rung["epochs"] for rung in document["rungs"]].index(row["parameters"]["epochs"])
            self.assertEqual(result["environments"][row["environment"]]["host"], host[row["launch"], rung])


class Faults(Ensemble):
    def test_members_that_crash_hang_diverge_or_are_lost_are_counted_and_named(self):
        suite = self.space({"rate": [0.01]}, **LONG)
        running = self.start_suite(suite, "--ensemble", 5, "--timeout", 4)
        # The others begin one after the other, on each of the slots.
        self.wait_until(lambda: self.begun(1), running)
        os.kill(self.begun(1)[0], signal.SIGSEGV)
        self.wait_until(lambda: self.begun(2), running)
        os.kill(self.begun(2)[0], signal.SIGSTOP)
        self.wait_until(lambda: self.begun(3), running)
        for process in self.processes(f"{self.member_folder(3).name}.json", "/assay"):
            os.kill(process, signal.SIGKILL)
        running.wait()
        self.assertEqual(running.returncode, 7, (self.folder / "stderr.txt").read_text())
        self.check_file()
        summary = self.summary()
        self.assertEqual([place["member"] for place in summary["ranking"]], [0, 4])
        self.assertEqual({member["member"]: member["state"] for member in summary["unranked"]},
                         {1: "crashed (exit 139)", 2: "timed out", 3: "missing"})
        shown = self.command(ASSAY, "ensemble", self.out, code=0).stdout
        self.assertIn("5 members: 0 reached 1, 2 did not, 1 crashed (exit 139), 1 missing, 1 timed out", shown)
        self.assertIn("member 2 (rate 0.01), rung 1: timed out: killed after 4 s", " ".join(shown.split()))
        # A member that has failed is tried again; nobody else is trained again.
        times = {member: (self.member_folder(member) / "result.json").stat().st_mtime_ns for member in (0, 4)}
        self.ensemble(suite, "--timeout", 60, "--resume", count=5)
        self.assertEqual(len(self.summary()["ranking"]), 5)
        self.assertEqual({member: (self.member_folder(member) / "result.json").stat().st_mtime_ns for member in times}, times)

    def test_a_member_that_diverges_has_no_place_and_does_not_go_on(self):
        suite = self.space({"rate": [1000, 0.01]}, problem=["mlp:i64w32l4c4"], target=["1"])
        done = self.ensemble(suite, "--search", "halving", "--seed", 3, count=4, code=3)
        document, summary = self.document(), self.summary()
        wild = [member for member, draw in enumerate(document["draws"]) if draw["rate"] == "1000"]
        self.assertTrue(0 < len(wild) < 4, document["draws"])
        self.assertEqual([(member["member"], member["state"]) for member in summary["unranked"]], [(each, "diverged") for each in wild])
        self.assertIn(f"{len(wild)} diverged", done.stdout)
        self.assertFalse(set(wild) & set(document["rungs"][1]["members"]))

    def test_no_time_is_left(self):
        done = self.run_suite(self.space(**LONG), "--ensemble", 20, "--walltime", "0:02", code=6)
        self.check_file()
        states = [member["state"] for member in self.summary()["unranked"]]
        self.assertGreater(states.count("missing"), 0)
        self.assertIn(f"{states.count('missing')} missing", done.stdout)
        self.assertEqual(len(states) + len(self.summary()["ranking"]), 20)
        started = {run["member"]: run for run in self.document()["runs"]}
        for member in self.summary()["unranked"]:
            run = started.get(member["member"])
            self.assertEqual(member["reason"], run["missing"] if run else "it was not started (no time was left)")

    def test_a_member_that_went_on_and_crashed_keeps_its_place(self):
        suite = self.space({"rate": {"log_uniform": [0.001, 0.1]}}, **{**LONG, "epochs": [600]})
        running = self.start_suite(suite, "--ensemble", 4, "--search", "halving", "--seed", 5)
        self.wait_until(lambda: any(self.begun(member, 1) for member in range(4)), running)
        os.kill(next(found for member in range(4) for found in self.begun(member, 1)), signal.SIGSEGV)
        running.wait()
        self.assertEqual(running.returncode, 7, (self.folder / "stderr.txt").read_text())
        self.check_file()
        self.expect_stopped(self.command(ASSAY, "ensemble", self.out, code=0), "crashed .exit 139.")

    def expect_stopped(self, done, why):
        """Members that were chosen for a rung stand before all others of the rung before it."""
        document, summary = self.document(), self.summary()
        self.assertTrue(summary["stopped"], summary)
        shown = " ".join(done.stdout.split())
        place = {ranked["member"]: i for i, ranked in enumerate(summary["ranking"])}
        self.assertEqual(sorted(place), [0, 1, 2, 3])
        for stopped in summary["stopped"]:
            out = set(document["rungs"][stopped["rung"] - 1]["members"]) - set(document["rungs"][stopped["rung"]]["members"])
            self.assertTrue(out)
            self.assertLess(place[stopped["member"]], min(place[member] for member in out))
            self.assertRegex(shown, rf"member {stopped['member']} \([^)]*\) went on to rung {stopped['rung'] + 1}, but: .*{why}")
        self.assertIn(f"{len(summary['stopped'])} went on, but stopped: ", shown)
        self.assertIn(f"Rung {summary['stopped'][0]['rung'] + 1} is incomplete", shown)
        self.assertEqual(summary["incomplete"], sorted({stopped["rung"] for stopped in summary["stopped"]}))

    def test_a_killed_run_goes_on_without_training_a_member_again(self):
        suite = self.space({"rate": {"log_uniform": [0.001, 0.1]}}, **{**LONG, "epochs": [200]})
        words = ("--search", "halving", "--factor", 2, "--seed", 5)
        for number, how in ((signal.SIGKILL, "killed"), (signal.SIGTERM, "ended")):
            with self.subTest(how):
                self.out = self.folder / how
                running = self.start_suite(suite, "--ensemble", 4, *words)
                self.wait_until(lambda: (self.member_folder(0) / "result.json").exists() and len(self.processes(str(self.out), "/assay-train")), running)
                running.send_signal(number)
                running.wait()
                self.wait_until(lambda: not self.children_at_work())
                finished = {file: file.stat().st_mtime_ns for file in self.out.glob("members/*/result.json")}
                self.assertTrue(finished)
                self.run_suite(suite, "--ensemble", 4, *words, code=2)  # not without --resume
                self.assertIn("its number of members differs",
                              self.run_suite(suite, "--ensemble", 5, *words, "--resume", code=2).stderr)
                self.ensemble(suite, *words, "--resume")
                self.assertEqual({file: file.stat().st_mtime_ns for file in finished}, finished)
                summary = self.summary()
                self.assertIsNone(summary["models_per_hour"])
                self.assertIn("interrupted and resumed", summary["hours_reason"])
                self.assertEqual(len(summary["ranking"]), 4)
        rankings = []
        for name in ("killed", "ended", "whole"):
            self.out = self.folder / name
            if name == "whole":
                self.ensemble(suite, *words)
            rankings.append([(place["member"], place["rung"], place["quality"]) for place in self.summary()["ranking"]])
        self.assertEqual(rankings, [rankings[0]] * 3)


class Refusals(Ensemble):
    def test_spaces_and_numbers_that_are_none(self):
        cases = [
            ({"rat": [1]}, (), "/cases/0/search/rat: unknown dimension of train 'rat'"),
            ({"optimizer": ["sgd", "adm"]}, (), "/cases/0/search/optimizer: unknown optimizer 'adm'"),
            ({"rate": {"uniform": [0.1, 5000]}}, (), "/cases/0/search/rate"),
            ({"batch": []}, (), "/cases/0/search/batch"),
            ({}, (), "/cases/0/search"),
            ({"rate": {"log_uniform": [0, 1]}}, (), "/cases/0/search/rate"),
            ({"rate": {"uniform": [2, 1]}}, (), "/cases/0/search/rate/uniform: found [2,1], expected [low, high]"),
            ({"rate": {"normal": [0, 1]}}, (), "/cases/0/search/rate"),
            ({"epochs": [1, 2]}, (), "/cases/0/search/epochs"),
            ({"checkpoint": ["a"]}, (), "/cases/0/search/checkpoint"),
            ({"data": ["learnable:n400v100"]}, (), "the group gives data, too"),
            (SPACE, ("--search", "grid"), "unknown --search 'grid'"),
            (SPACE, ("--factor", 3), "--factor is of --search halving"),
            (SPACE, ("--search", "halving", "--factor", 4), "--factor"),
            (SPACE, ("--per-node",), "--per-node cannot be used with --ensemble"),
            ({"rate": [0.1], "schedule": ["cosine"]}, ("--search", "halving"), "depends on the number of epochs"),
            ({"warmup": [1]}, ("--search", "halving"), "a warm-up of 1 epochs, but the first rung trains 1"),
            ({"warmup": [0, 2, 4]}, (), "a warm-up of 4 epochs, but the first rung trains 4"),
        ]
        for space, words, text in cases:
            with self.subTest(space=space, words=words):
                group = {key: value for key, value in GROUP.items() if key not in space or key == "data"}
                suite = self.suite([{**group, "search": space}])
                self.assertIn(text, " ".join(self.run_suite(suite, "--ensemble", 4, *words, code=2).stderr.split()))
                self.assertFalse(self.out.exists(), "a refused run left something behind")
        for count in (0, -1, "two"):
            self.assertIn("--ensemble", self.run_suite(self.space(), "--ensemble", count, code=2).stderr)
        self.assertIn("has no search space", self.run_suite(self.suite([GROUP]), "--ensemble", 2, code=2).stderr)
        self.assertIn("a member would be several cases", self.run_suite(self.space(data=["learnable:n400v100", "learnable:n800v100"]),
                                                                        "--ensemble", 2, code=2).stderr)
        self.assertIn("--search needs --ensemble", self.run_suite(self.space(), "--search", "random", code=2).stderr)

    def test_networks_of_different_quality(self):
        group = {key: value for key, value in GROUP.items() if key != "problem"}
        space = {"problem": ["mlp:i64w32l1c4", "candle-p1b1:i64w32n12"], "rate": [0.01]}
        suite = self.suite([{**group, "epochs": [1], "target": ["0.5"], "search": space}])
        for words in ((), ("--resume",)):
            self.assertRegex(self.run_suite(suite, "--ensemble", 4, *words, code=2).stderr,
                             r"member \d has the quality \w+, and member \d the quality \w+: they cannot be ranked")

    def test_a_suite_with_a_search_space_also_runs_without_it(self):
        self.run_suite(self.space({"rate": [0.1]}, epochs=[0]), code=0)
        self.assertEqual([row["parameters"]["rate"] for row in self.rows()], ["0.1"] if isinstance(self.rows()[0]["parameters"]["rate"], str) else [0.1])
        self.assertIn("has no ensemble", self.command(ASSAY, "ensemble", self.out / "result.json", code=6).stderr)


class Tampered(Ensemble):
    """Mutations of what a run has written: none passes the reader."""

    def test_each_is_found(self):
        suite = self.space({"rate": [1000, 0.01, 0.003]}, problem=["mlp:i64w32l4c4"], epochs=[2], target=["0.3"])
        self.ensemble(suite, "--search", "halving", "--seed", 3, count=6, code=3)
        whole = self.result()
        summary = whole["run"]["ensemble"]["summary"]
        self.assertTrue(len(summary["ranking"]) > 2 and summary["unranked"], summary)

        def hours_of_the_fastest(ensemble):
            start = min(run["started_unix_s"] for run in ensemble["runs"])
            hours = (min(run["ended_unix_s"] for run in ensemble["runs"]) - start) / 3600
            ensemble["summary"].update(hours=hours, models_per_hour=ensemble["summary"]["reached"] / hours)

        def earlier_ends(ensemble):
            for run in ensemble["runs"]:
                run["ended_unix_s"] = run["started_unix_s"]
            span = max(run["ended_unix_s"] for run in ensemble["runs"]) - min(run["started_unix_s"] for run in ensemble["runs"])
            ensemble["runs"] = [{**run, "started_unix_s": run["started_unix_s"] + 30, "ended_unix_s": run["ended_unix_s"] + 30} for run in ensemble["runs"]]
            ensemble["summary"].update(hours=span / 3600, models_per_hour=ensemble["summary"]["reached"] / (span / 3600))

        def promote_the_diverged(ensemble):
            out = ensemble["summary"]["unranked"][0]["member"]
            ensemble["rungs"][1]["members"][0] = out

        mutations = {
            "a member is dropped": lambda e: e["summary"]["ranking"].pop(),
            "a failed member is dropped": lambda e: e["summary"]["unranked"].pop(),
            "the ranking is the wrong way round": lambda e: e["summary"]["ranking"].reverse(),
            "the first two are exchanged": lambda e: e["summary"]["ranking"].__setitem__(slice(0, 2), e["summary"]["ranking"][1::-1]),
            "hours end with the fastest member": hours_of_the_fastest,
            "runs are moved": earlier_ends,
            "models an hour": lambda e: e["summary"].update(models_per_hour=2 * e["summary"]["models_per_hour"] + 1),
            "a member more reached the target": lambda e: e["summary"].update(reached=e["summary"]["reached"] + 1),
            "a quality": lambda e: e["summary"]["ranking"][0].update(quality=e["summary"]["ranking"][0]["quality"] + 0.01),
            "a member stands twice": lambda e: e["summary"]["ranking"].append(e["summary"]["ranking"][-1]),
            "a failed member has a place": lambda e: e["summary"]["ranking"].append(
                {**e["summary"]["ranking"][-1], "member": e["summary"]["unranked"].pop()["member"]}),
            "a state": lambda e: e["summary"]["unranked"][0].update(state="timed out"),
            "a draw": lambda e: e["draws"][0].update(rate="0.5"),
            "a rung without its best member": promote_the_diverged,
            "a run is missing": lambda e: e["runs"].pop(),
            "a target": lambda e: e.update(target=0.31),
            "sessions": lambda e: e.update(sessions=2),
            "slots": lambda e: e.update(slots=64),
            "a run stands twice": lambda e: e["runs"].append(e["runs"][-1]),
            "a run with a row is missing": lambda e: e["runs"][0].update(missing="killed"),
            "no hours": lambda e: e["summary"].update(hours=None, models_per_hour=None),
            "random": lambda e: e.update(search="random"),
        }
        for name, mutate in mutations.items():
            with self.subTest(name):
                changed = copy.deepcopy(whole)
                mutate(changed["run"]["ensemble"])
                self.assertNotEqual(changed, whole)
                file = self.folder / "changed.json"
                file.write_text(json.dumps(changed))
                self.command(ASSAY, "validate", file, code=2)
                self.command(ASSAY, "ensemble", file, code=2)
        changed = copy.deepcopy(whole)
        changed["rows"].pop(0)
        (self.folder / "changed.json").write_text(json.dumps(changed))
        self.command(ASSAY, "validate", self.folder / "changed.json", code=2)


if __name__ == "__main__":
    main()
