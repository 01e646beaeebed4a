#!/usr/bin/env python3
# full: needs check-jsonschema and ruamel.yaml, and runs the pipelines' jobs with a small suite
"""ci/gitlab-ci.yml and ci/github.yml are valid, and the scripts of their jobs do what they promise, as they stand.

A job's lines run in a clone with the build of this tree. Two things are replaced, since they would run these tests again or build
everything anew: .ci/run in the clone notes that it was called, and so do scripts/bootstrap and `cmake --preset`, `--build`."""
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

from pipeline_helper import load_yaml, tool
from run_helper import ASSAY, BUILD, SMALL, SOURCE, RunTest, group, main

GITLAB, GITHUB = SOURCE / "ci" / "gitlab-ci.yml", SOURCE / "ci" / "github.yml"


class Job:
    """A GitLab job with what it extends."""

    def __init__(self, document, name):
        self.name, self.own = name, {}
        chain, part = [], document[name]
        while part is not None:
            chain.append(part)
            part = document.get(part.get("extends"))
        for part in reversed(chain):
            self.own.update(part)

    def lines(self):
        return [*self.own.get("before_script", []), *self.own["script"]]


class Schema(RunTest):
    def check(self, kind, file):
        return self.command(tool("check-jsonschema"), "--builtin-schema", kind, file)

    def test_valid(self):
        for kind, file in (("vendor.gitlab-ci", GITLAB), ("vendor.github-workflows", GITHUB)):
            done = self.check(kind, file)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_schemas_refuse(self):
        for kind, file, good, bad in (("vendor.gitlab-ci", GITLAB, "stage: test", "stages: test"),
                                      ("vendor.github-workflows", GITHUB, "runs-on: ubuntu-24.04", "runs-onn: ubuntu-24.04")):
            spoilt = self.folder / file.name
            text = file.read_text()
            self.assertIn(good, text)
            spoilt.write_text(text.replace(good, bad))
            self.assertNotEqual(self.check(kind, spoilt).returncode, 0)


def holds(condition, variables):
    """The value of a GitLab rule's `if` of ==, && and ||, for the variables of a pipeline."""
    words = condition.replace("&&", " and ").replace("||", " or ")
    return bool(eval(re.sub(r"\$(\w+)", lambda name: repr(variables.get(name[1], "")), words), {}))


def rule_of(rules, variables):
    """The first rule that applies, as GitLab chooses it, or None."""
    return next((rule for rule in rules if "if" not in rule or holds(rule["if"], variables)), None)


class Pipelines(RunTest):
    """The jobs of the pipelines. A job that needs one that its pipeline lacks makes GitLab refuse the whole pipeline.
    """
    MEASURING = {"weekly", "kernels-onednn", "collectives-mpi", "collectives-oneccl"}

    def jobs_of(self, document, **variables):
        """The jobs of a pipeline; None if there is no pipeline."""
        rule = rule_of(document["workflow"]["rules"], variables)
        if rule is None or rule.get("when") == "never":
            return None
        jobs = {}
        for name in document:
            if name.startswith(".") or "script" not in (document[name] if isinstance(document[name], dict) else ()):
                continue
            job = Job(document, name).own
            # GitLab: without rules a job is in every pipeline but that of a merge request.
            default = [{"if": '$CI_PIPELINE_SOURCE != "merge_request_event"'}]
            rule = rule_of(job.get("rules", default), variables)
            if rule is not None and rule.get("when") != "never":
                jobs[name] = job
        return jobs

    def test_gitlab_has_every_job_that_is_needed(self):
        document = load_yaml(GITLAB)
        for source, expected in (("push", {"test"}), ("schedule", {"test", "promote"} | self.MEASURING),
                                 ("web", {"test", "promote"} | self.MEASURING), ("merge_request_event", {"test"} | self.MEASURING)):
            with self.subTest(source):
                jobs = self.jobs_of(document, CI_PIPELINE_SOURCE=source)
                self.assertEqual(set(jobs), expected)
                for name, job in jobs.items():
                    self.assertLessEqual(set(job.get("needs", [])), set(jobs), name)
        # GitLab does not offer a manual job that needs a failed one, and a level is promoted where a job has found another.
        self.assertEqual(document["promote"]["needs"], ["test"])
        # A push to the branch of an open merge request has that merge request's pipeline alone.
        self.assertIsNone(self.jobs_of(document, CI_PIPELINE_SOURCE="push", CI_OPEN_MERGE_REQUESTS="group/assay!1"))

    def test_github_has_every_job_that_is_needed(self):
        jobs = load_yaml(GITHUB)["jobs"]
        self.assertLess({"test", "measure"}, set(jobs))
        for name, job in jobs.items():
            needs = job.get("needs", [])
            for needed in [needs] if isinstance(needs, str) else needs:
                self.assertNotIn("if", jobs[needed], f"{name} is left out where {needed} is")


class Scripts(RunTest):
    def setUp(self):
        super().setUp()
        self.clone = self.folder / "clone"
        self.command("git", "-c", "safe.directory=*", "clone", "-q", "--depth", "1", f"file://{SOURCE}", self.clone, code=0)
        # The test uses the working tree, not the last commit.
        for name in ("ci", "suites", "results-schema", ".ci", "scripts"):
            shutil.copytree(SOURCE / name, self.clone / name, dirs_exist_ok=True)
        (self.clone / "build").symlink_to(BUILD)
        self.calls = self.folder / "calls"
        for name in (".ci/run", "scripts/bootstrap"):
            (self.clone / name).write_text(f"#!/bin/sh\necho {name} >> '{self.calls}'\n")
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "cmake").write_text(f"#!/bin/sh\ncase $1 in --preset|--build) echo cmake $1 >> '{self.calls}' ;; "
                                     f"*) exec {shutil.which('cmake')} \"$@\" ;; esac\n")
        (tools / "cmake").chmod(0o755)
        self.history = self.folder / "history"
        kernels = self.suite([group(["direct"], [SMALL], backend=name, precision=["fp32"], direction=["forward"])
                              for name in ("onednn", "reference")], name="kernels")
        collectives = self.suite([{"benchmark": "collectives", "collective": "allreduce", "problem": ["400"], "precision": ["fp32"],
                                   "transport": ["mpi", "oneccl"], "algorithm": "library"}], name="collectives", launch={"ranks": 2})
        self.suites = {"weekly": str(kernels), "weekly-collectives": str(collectives)}
        self.variables = {"PATH": f"{tools}:{os.environ['PATH']}", "SUITE": str(kernels), "COLLECTIVES": str(collectives),
                          "ASSAY_HISTORY": str(self.history), "OMP_NUM_THREADS": "1"}
        lists = self.command(ASSAY, "list", "backends", code=0).stdout
        self.has = {name: bool(re.search(rf"^{name}\b(?!.*(unavailable|cannot|missing))", lists, re.MULTILINE))
                    for name in ("onednn", "mpi", "oneccl")}

    def run_lines(self, lines, code, **variables):
        """A runner does the same: the lines in one shell, which ends with the first that fails."""
        script = self.folder / "job.sh"
        script.write_text("set -eo pipefail\n" + "\n".join(lines) + "\n")
        done = subprocess.run(["bash", str(script)], cwd=self.clone, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment(**{**self.variables, **variables}), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def expect_artifacts(self, name, *more):
        folder = self.clone / "artifacts" / name
        self.assertEqual(sorted(file.name for file in folder.iterdir()),
                         sorted(["history.json", "junit.xml", "report.html", "result.json", *more]))
        self.command(ASSAY, "validate", folder / "result.json", folder / "history.json", code=0)
        cases = list(xml.etree.ElementTree.parse(folder / "junit.xml").getroot().iter("testcase"))
        self.assertEqual({case.get("name") for case in cases},
                         {row["id"] for row in json.loads((folder / "result.json").read_text())["rows"]})
        return cases

    def test_gitlab(self):
        document = load_yaml(GITLAB)
        variables = {key: value for key, value in document["variables"].items() if key not in self.variables}
        for job in ("test", "weekly", "kernels-onednn", "collectives-mpi", "collectives-oneccl", "promote"):
            self.assertIn(job, document)
            self.assertIn(Job(document, job).own["stage"], document["stages"])
        reports = Job(document, "weekly").own["artifacts"]
        self.assertEqual((reports["reports"]["junit"], reports["when"]), ("artifacts/*/junit.xml", "always"))
        records = {rule["if"]: rule["variables"]["RECORD"] for rule in Job(document, "weekly").own["rules"]}

        promote = Job(document, "promote").lines()
        self.assertIn("no run of this commit was recorded", self.run_lines(promote, 2, **variables).stdout)
        self.run_lines(Job(document, "test").lines(), 0, **variables)
        self.assertEqual(self.calls.read_text().split(), [".ci/run"])
        self.assertTrue((self.clone / "dist" / "bin" / "assay").exists())
        for name, library in (("weekly", None), ("kernels-onednn", "onednn"), ("collectives-mpi", "mpi"),
                              ("collectives-oneccl", "oneccl")):
            for rule, record in records.items():
                with self.subTest(name, rule=rule):
                    # Without the library, nothing is measured: 6.
                    code = 0 if library is None or self.has[library] else 6
                    self.run_lines(Job(document, name).lines(), code, **variables, RECORD=record)
                    cases = self.expect_artifacts(name, *(["history.md"] if record else []))
                    ids = {case.get("name") for case in cases}
                    self.assertTrue(all(library is None or f"/{library}/" in row_id for row_id in ids), ids)
            self.assertEqual(len(list((self.history / name).iterdir())), 1, "only a recorded run is part of the history")
        # A history that cannot be promoted fails the job, and keeps no other from it.
        (self.history / "weekly").rename(self.folder / "away")
        self.run_lines(promote, 2, **variables)
        (self.folder / "away").rename(self.history / "weekly")
        self.assertTrue((self.history / "kernels-onednn" / "anchors.jsonl").exists())
        build, = (self.history / "weekly").glob("2*/build")
        commit = build.read_text()
        build.write_text("another\n")  # the last run is of another build: its levels are not this one's
        self.assertIn("weekly: its last recorded run is not of this commit", self.run_lines(promote, 2, **variables).stdout)
        self.assertFalse((self.history / "weekly" / "anchors.jsonl").exists())
        build.write_text(commit)
        self.run_lines(promote, 0, **variables)
        self.assertIn("promote", (self.history / "weekly" / "anchors.jsonl").read_text())
        self.assertEqual(len(list((self.history / "builds").iterdir())), 1)

    def test_a_slowdown_fails_the_job(self):
        """Eight weeks, promoted; then a build that waits longer: the job ends with 4, and JUnit has the row as a failure."""
        self.run_lines(["cmake --install build --prefix dist"], 0)
        program = self.clone / "dist" / "bin" / "assay-conv"
        real = program.rename(program.with_name("real-assay-conv"))
        program.write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
        program.chmod(0o755)
        suite = self.suite([group(["direct"], [SMALL], backend="weekly", precision=["fp32"], direction=["forward"])], name="slow",
                           tolerance=0.05, launches=3)
        more = {"WEEKLY_WAIT": "0.01", "SUITE": str(suite)}
        self.variables.update(more)
        line = ['ci/measure $RECORD weekly "$SUITE"']
        for _ in range(8):
            self.run_lines(line, 0, RECORD="--record", ASSAY_BUILD="good")
        self.command(self.history / "builds" / "good" / "bin" / "assay", "history", self.history / "weekly", "--promote", "all", "--owner",
                     "me", "--reason", "release", code=0)
        program.write_text(f'#!/bin/sh\nexec env WEEKLY_SLOWER=1.3 "{real}" "$@"\n')
        self.run_lines(line, 4, RECORD="", ASSAY_BUILD="slow")
        (case,) = self.expect_artifacts("weekly")
        self.assertEqual(case.find("failure").get("type"), "software slower")
        self.assertEqual(len(list((self.history / "weekly").glob("20*"))), 8)

    def test_what_is_missing_is_said(self):
        line = ['ci/measure weekly "$SUITE"']
        self.assertIn("no installed Assay", self.run_lines(line, 2).stderr)
        self.variables["ASSAY_HISTORY"] = ""
        self.assertIn("ASSAY_HISTORY is not set", self.run_lines(line, 2).stderr)
        self.assertIn("ci/measure", self.run_lines(["ci/measure weekly"], 2).stderr)

    def test_github(self):
        job = load_yaml(GITHUB)["jobs"]["measure"]
        for one in job["strategy"]["matrix"]["include"]:
            variables = {"NAME": one["name"], "FILTER": one["filter"], "SUITE": self.suites[one["suite"]],
                         "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
            library = one["name"].partition("-")[2]
            for step in (step for step in job["steps"] if "run" in step):
                code = 6 if "ci/measure" in step["run"] and library and not self.has[library] else 0
                self.run_lines([step["run"]], code, **variables)
            self.expect_artifacts(one["name"], "history.md")
            self.assertIn("too short", (self.folder / "summary.md").read_text())

    def test_the_weekly_suite_takes_15_minutes(self):
        seconds = 0
        for suite in self.suites:
            done = self.command(ASSAY, "run", suite, "--dry-run", code=0)
            ((number, unit),) = re.findall(r"estimated time: about ([0-9.]+) (s|min|h)\b", done.stdout)
            seconds += float(number) * {"s": 1, "min": 60, "h": 3600}[unit]
        self.assertLessEqual(seconds, 15 * 60)


if __name__ == "__main__":
    main(verbosity=2)
