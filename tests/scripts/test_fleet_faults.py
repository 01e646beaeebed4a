#!/usr/bin/env python3
# full, alone
# full
"""A fleet of four hosts (namespaces of this machine), each with a fault of its own: a shaped link, a throttled processor, a wrong bit, a
case that hangs. One `assay run --per-node --pairs` and one `assay accept` name each node with the right verdict and reason. No host is
healthy, but each kind of row has a fault on one node alone, so that three others are its reference.

The hosts share the processors of this machine, so their launcher starts them one after the other, and one pair at a time."""
import json
import shlex
import shutil
import unittest

from hosts_helper import Hosts, hosts_of, why_not
from run_helper import ASSAY, BUILD, PLUGINS, SMALL, RunTest, group, main

LINK, THROTTLED, WRONG, HANGING = HOSTS = list(hosts_of(4))
GOOD, OF_BIT, OF_HANG = (SMALL.replace("oc8", f"oc{8 * i}") for i in (1, 2, 3))
FAULTS = {
    LINK: {},
    # A clock at a quarter: each run takes the processor for four times as long.
    THROTTLED: {"ASSAY_FAULT": "slow", "ASSAY_FAULT_SLOW": "3"},
    WRONG: {"ASSAY_FAULT": "flip", "ASSAY_FAULT_EVERY": "1", "ASSAY_FAULT_PROBLEM": OF_BIT},
    HANGING: {"ASSAY_FAULT": "hang", "ASSAY_FAULT_PROBLEM": OF_HANG},
}
MBIT = 40  # slow enough that the machine's two processors do not matter
REASON = why_not()


@unittest.skipIf(REASON, f"unsupported: {REASON}")
class FleetFaults(RunTest):
    def setUp(self):
        super().setUp()
        self.hosts = self.enterContext(Hosts(self.folder, len(HOSTS)))
        for host in HOSTS:
            self.hosts.shape(host, MBIT, MBIT // 4 if host == LINK else None)
        each = self.folder / "each"
        lines = []
        for host, faults in FAULTS.items():
            variables = [f"{name}={value}" for name, value in faults.items()]
            lines.append(shlex.join([*self.hosts.enter(host, self.hosts.spaces[host]), "env", *variables]) + ' "$@"\n')
        each.write_text("#!/bin/sh\n" + "".join(lines))
        each.chmod(0o755)
        launchers = self.folder / "data" / "scripts" / "launchers"
        launchers.mkdir(parents=True)
        pair = ["flock", self.folder / "turn", *self.hosts.on_first(*self.hosts.mpirun("{ranks}", "{hosts}"))]
        (launchers / "namespaces.json").write_text(json.dumps({
            "schema": "assay-launcher/1", "name": "namespaces", "description": "hosts of one machine",
            "command": [str(word) for word in pair], "one_per_node": [str(each)]}))

    def environment(self, **more):
        return super().environment(
            ASSAY_DATA_PATH=str(self.folder / "data"), ASSAY_PLUGIN_PATH=f"{PLUGINS}:{BUILD / 'lib' / 'assay'}",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **more)

    def test_each_of_four_faults_is_named(self):
        suite = self.suite([group(["direct"], [GOOD, OF_BIT, OF_HANG]),
                            {"benchmark": "collectives", "collective": ["sendrecv"], "problem": ["262144"], "transport": ["mpi"]}],
                           timing={"max_time": 0.3, "timeout": 20})
        criteria = self.folder / "criteria.json"
        # Half of the others' speed, so that a busy machine fails nobody: all faults are of a factor of four.
        criteria.write_text(json.dumps({"schema": "assay-criteria/1", "name": "four", "nodes": HOSTS, "relative": [{"slower_at_most": 1}]}))
        # Slow rows of a machine on which other work runs are NOT-QUIET, "measure it again", a pair may be slow or undecided: that is
        # done, at most twice.
        for _ in range(3):
            shutil.rmtree(self.out, ignore_errors=True)
            run = self.run_suite(suite, "--per-node", "--pairs", "--launcher", "namespaces", "--nodes", len(HOSTS), "--launches", 3, code=3)
            said = self.command(ASSAY, "accept", self.out, "--criteria", criteria, "--format", "json", code=3).stdout
            acceptance = json.loads(said)
            if not acceptance["unmet"] and all(node["verdict"] != "NOT-QUIET" and "undecided" not in node["reason"]
                                               for node in acceptance["nodes"]):
                break
        nodes = {node["node"]: node for node in acceptance["nodes"]}
        self.assertEqual({name: node["verdict"] for name, node in nodes.items()},
                         {LINK: "PERF-FAIL", THROTTLED: "PERF-FAIL", WRONG: "INCORRECT", HANGING: "MISSING"},
                         run.stdout + "\n".join(f"{name}: {node['reason']}" for name, node in nodes.items()))
        failed = {name: {row["id"] for row in node["rows"] if row["verdict"] != "PASS"} for name, node in nodes.items()}
        problems = {name: {problem for row in rows for problem in (GOOD, OF_BIT, OF_HANG, "sendrecv") if f"/{problem}/" in row}
                    for name, rows in failed.items()}
        self.assertEqual(problems, {LINK: {"sendrecv"}, THROTTLED: {GOOD, OF_BIT, OF_HANG}, WRONG: {OF_BIT}, HANGING: {OF_HANG}})
        self.assertRegex(nodes[LINK]["reason"], rf"speedup over the other nodes 0\.[23].*; in the best of its 3 pairs, .*{LINK}")
        self.assertRegex(nodes[THROTTLED]["reason"], r"^conv/.*speedup over the other nodes 0\.[23]")
        self.assertRegex(nodes[WRONG]["reason"], f"{OF_BIT}.*incorrect: ")
        self.assertRegex(nodes[HANGING]["reason"], f"{OF_HANG}.*timeout: ")
        self.assertEqual(acceptance["unmet"], [], "no path between two of them is bad by itself")
        self.assertRegex(run.stdout, rf"{LINK}: all of its 3 pairs are slow, .* \(the node rather than a link\)")


if __name__ == "__main__":
    main()
