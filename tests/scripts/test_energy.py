#!/usr/bin/env python3
"""The energy of rows by a fake /sys/class/powercap, whose counters a thread of the test moves. The shipped programs see it at its real
place: they run in a mount namespace of their own."""
import json
import os
import shutil
import statistics
import subprocess
import threading
import time
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

RANGE = 262143328850  # microjoules
NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
ENTER = 'mount --bind "$1" /sys/class && shift && exec "$@"'


def why_not():
    """Why this machine cannot show programs a tree of our own, or None."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    tried = subprocess.run([*NAMESPACE, "mount", "--bind", "/tmp", "/sys/class"], capture_output=True, text=True)
    return f"mount namespaces are forbidden here ({tried.stderr.strip()})" if tried.returncode else None


class Kernel(threading.Thread):
    """Moves counters once in a millisecond, by the watts of each."""

    def __init__(self, root, zones):
        super().__init__(daemon=True)
        self.root, self.zones = root, zones  # zone: (name, watts, microjoules at the start)
        self.over = threading.Event()
        for zone, (name, watts, start) in zones.items():
            (root / zone).mkdir(parents=True)
            (root / zone / "name").write_text(name + "\n")
            (root / zone / "max_energy_range_uj").write_text(f"{RANGE}\n")
            self.write(zone, start)

    def write(self, zone, microjoules):
        try:
            (self.root / zone / "next").write_text(f"{int(microjoules) % RANGE}\n")
            (self.root / zone / "next").rename(self.root / zone / "energy_uj")
        except FileNotFoundError:
            pass  # the zone has gone away

    def run(self):
        began = time.monotonic()
        while not self.over.wait(0.001):
            for zone, (_, watts, start) in self.zones.items():
                self.write(zone, start + 1e6 * watts * (time.monotonic() - began))


@unittest.skipIf(why_not(), why_not())
class EnergyOfRows(RunTest):
    def kernel(self, **zones):
        self.root = self.folder / "class" / "powercap"
        self.root.mkdir(parents=True)
        kernel = Kernel(self.root, {zone.replace("_", ":").replace("rapl", "intel-rapl", 1): about for zone, about in zones.items()})
        kernel.start()
        self.addCleanup(kernel.join)
        self.addCleanup(kernel.over.set)
        return kernel

    def inside(self, *words, **more):
        """The folder of this test is its /sys/class."""
        return self.command(*NAMESPACE, "sh", "-c", ENTER, "sh", self.root.parent, *words, **more)

    def stream(self, *words, problem="triad_n100000", precision="1e-9", code=0):
        out = self.folder / "row.json"
        out.unlink(missing_ok=True)
        done = self.inside(BIN / "assay-stream", "--problem", problem, "--threads", 1, "--precision-target", precision, "--out", out,
                           *words, code=code)
        self.said = done.stderr
        self.out = out
        self.command(ASSAY, "validate", out, code=0)
        return json.loads(out.read_text())["rows"][0]

    def row_of(self, watts, *words, seconds=1, **more):
        """A row whose runs took so many watts. On a busy machine the thread of the test moves counters late, so it is tried again; a
        number that is wrong for another reason stays so."""
        for _ in range(10):
            row = self.stream("--max-time", seconds, *words, **more)
            self.assertEqual(row["status"], "ok", row["reason"])
            if row["energy_j"] is None:
                self.assertRegex(row["energy_reason"], "runs followed each other|done between the runs")
                seconds = min(8, 2 * seconds)
                continue
            self.assertIsNone(row["energy_reason"])
            found = row["energy_j"] / statistics.mean(row["samples_s"])
            if abs(found - watts) < 0.25 * watts:
                return row
        self.fail(f"{watts} W were spent: {row}")

    def test_a_run_takes_the_power_of_the_package(self):
        self.kernel(rapl_0=("package-0", 40, 0), rapl_0_0=("core", 30, 0))
        for problem in ("triad_n100000", "triad_n1000"):  # the second one in batches
            row = self.row_of(40, "--verbose", problem=problem)
            self.assertEqual(list(row["energy_domains_j"]), ["package-0"])
            self.assertRegex(self.said, r"[0-9] [mµn]?J a run")
        self.assertGreater(row["time_s"]["batch"], 1)

    def test_the_timing_of_the_precision_study_is_enough(self):
        timing = json.loads((SOURCE / "suites" / "precision.json").read_text())["timing"]
        self.kernel(rapl_0=("package-0", 40, 0))
        found = []
        for _ in range(10):  # as in row_of
            row = self.stream("--max-time", timing["max_time"], "--min-samples", timing["min_samples"], precision=timing["precision_target"],
                              problem="triad_n1000")
            if row["energy_j"] is not None:
                found.append(row["energy_j"] / statistics.mean(row["samples_s"]))
                if abs(found[-1] - 40) < 10:
                    return
        self.fail(f"40 W were spent: {found}, {row['energy_reason']}")

    def test_packages_and_their_memory_are_added_up(self):
        self.kernel(rapl_0=("package-0", 100, 0), rapl_0_0=("dram", 20, 0), rapl_1=("package-1", 50, 0))
        row = self.row_of(170)
        self.assertEqual(sorted(row["energy_domains_j"]), ["package-0", "package-0/dram", "package-1"])
        self.assertAlmostEqual(sum(row["energy_domains_j"].values()), row["energy_j"])
        # A reader holds the number against its parts.
        document = json.loads(self.out.read_text())
        document["rows"][0]["energy_j"] *= 2
        self.out.write_text(json.dumps(document))
        self.assertIn("/rows/0/energy_j: found", self.command(ASSAY, "validate", self.out, code=2).stderr)

    def test_a_counter_that_begins_at_zero_again(self):
        # It does so within the time that is measured, or before it: either way the power is that of the package.
        self.kernel(rapl_0=("package-0", 40, RANGE - 60_000_000))
        self.row_of(40, seconds=3)

    def test_a_counter_that_stands_still_or_goes_away(self):
        kernel = self.kernel(rapl_0=("package-0", 40, 0))
        kernel.over.set()
        kernel.join()
        row = self.stream("--max-time", "0.2")
        self.assertIsNone(row["energy_j"])
        self.assertIsNone(row["energy_domains_j"])
        self.assertEqual(row["energy_reason"], "the energy counter of package-0 does not move")
        (self.root / "intel-rapl:0").rename(self.folder / "gone")
        row = self.stream("--max-time", "0.2")
        self.assertIn("no energy counter of a processor package in /sys/class/powercap (a virtual machine", row["energy_reason"])
        self.assertEqual(row["status"], "ok")

    def test_a_counter_that_goes_away_while_it_is_read(self):
        self.kernel(rapl_0=("package-0", 40, 0), rapl_1=("package-1", 40, 0))
        zone = self.root / "intel-rapl:1"
        for delay in (2, 6, 18):  # on a busy machine the program may look for counters later than that
            timer = threading.Timer(delay, zone.rename, [self.folder / "gone"])
            timer.start()
            row = self.stream("--max-time", 3 * delay, problem="triad_n1000000")
            timer.join()
            self.assertEqual(row["status"], "ok", row["reason"])
            if row["energy_j"] is None:
                break
            self.assertEqual(list(row["energy_domains_j"]), ["package-0"], "it has gone before")
            (self.folder / "gone").rename(zone)
        self.assertIn("/sys/class/powercap/intel-rapl:1/energy_uj cannot be read (No such file", row["energy_reason"])

    def test_counters_of_root_alone(self):
        self.kernel(rapl_0=("package-0", 40, 0)).over.set()
        # The counter exists and cannot be read, whoever asks.
        counter = self.root / "intel-rapl:0" / "energy_uj"
        time.sleep(0.1)
        counter.unlink()
        counter.mkdir()
        row = self.stream("--max-time", "0.2")
        self.assertIsNone(row["energy_j"])
        self.assertIn("energy_uj cannot be read (", row["energy_reason"])

    def test_a_short_measurement_says_what_helps(self):
        self.kernel(rapl_0=("package-0", 40, 0))
        row = self.stream("--max-time", "0.001", "--min-samples", 5)
        self.assertIsNone(row["energy_j"])
        self.assertIn("updates of the energy counters). Take more samples (--min-samples, --max-time)", row["energy_reason"])

    def test_tables_and_reports_show_it(self):
        self.kernel(rapl_0=("package-0", 40, 0))
        self.row_of(40)
        table = self.command(ASSAY, "table", self.out, "--columns", "problem,time,energy", code=0).stdout
        self.assertRegex(table, r"problem +time +energy")
        self.assertRegex(table, r"triad_n100000 +[\d.]+ µs[!~]? +[\d.]+ [mµ]?J[!~]?\n")
        self.assertIn("energy: joules per run of package-0", table)
        self.assertNotIn("energy", self.command(ASSAY, "table", self.out, code=0).stdout)
        self.assertIn("energy", self.command(ASSAY, "table", self.out, "--columns", "all", code=0).stdout)
        record = json.loads(self.command(ASSAY, "table", self.out, "--format", "json", code=0).stdout)["rows"][0]
        self.assertGreater(record["energy_j"], 0)
        page = self.folder / "page.html"
        self.command(ASSAY, "report", self.out, "-o", page, code=0)
        self.assertIn("package-0", page.read_text())


if __name__ == "__main__":
    main()
