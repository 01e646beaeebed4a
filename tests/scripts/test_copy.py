#!/usr/bin/env python3
"""assay-copy: a byte that does not arrive makes its row incorrect, whenever that is; its matrix of places is a table."""
import json
import os
import re

from run_helper import ASSAY, BIN, RunTest, main

QUICK = ("--threads", 2, "--max-time", "0.01", "--min-samples", 5)


class Copy(RunTest):
    def rows(self, *words, code=0, threads=True, **variables):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        self.command(BIN / "assay-copy", *(QUICK if threads else QUICK[2:]), "--out", out, *words, env=self.environment(**variables), code=code)
        self.document = json.loads(out.read_text())
        return self.document["rows"]

    def test_every_pair_of_nodes_by_default(self):
        rows = self.rows("--problem", "64K,8", "--direction", "one,both")
        nodes = {row["parameters"]["from"] for row in rows}
        self.assertEqual(len(rows), 4 * len(nodes) ** 2)
        for row in rows:
            self.assertEqual(row["status"], "ok", row["reason"])
            words = row["problem"]["buffer_bytes"] // 8 * (2 if row["parameters"].get("direction") == "both" else 1)
            self.assertEqual((row["verification"]["checked"], row["verification"]["outputs"]), (words, words))
            self.assertAlmostEqual(row["rates"]["copy_bw"] * row["time_s"]["median"], 8 * words, delta=1e-6)

    def test_threads_by_default_are_those_of_the_places(self):
        nodes = {"HWLOC_SYNTHETIC": "numa:2 core:1 pu:1", "HWLOC_THISSYSTEM": "1"}
        if os.cpu_count() < 2:
            self.skipTest("one processor")
        said = self.command(BIN / "assay-copy", "--list", "--problem", "64K", "--direction", "one,both",
                            env=self.environment(**nodes), code=0).stdout
        self.assertEqual([said.count(f"/t{threads}") for threads in (1, 2)], [4, 4], said)
        self.expect_ok(self.rows("--problem", "64K", "--from", "numa0", "--to", "numa0", threads=False, **nodes), 1)
        for word in ("0", "auto2", "-1"):
            self.command(BIN / "assay-copy", "--threads", word, code=2)

    def test_the_suite_of_links(self):
        self.command(ASSAY, "run", "links", "--launches", 1, "--max-time", 0.01, "--out", self.out, env=self.environment())
        rows = [row for row in json.loads((self.out / "result.json").read_text())["rows"] if row["parameters"].get("device") != "gpu"]
        self.expect_ok(rows, len(rows))
        self.assertEqual({row["parameters"].get("direction", "one") for row in rows}, {"one", "both"})
        self.assertGreaterEqual(max(row["parameters"]["threads"] for row in rows), min(2, len(os.sched_getaffinity(0))))

    def test_wrong_bytes_are_found(self):
        for direction in ("one", "both"):
            for fault in ("wrong_element", "wrong_element_late", "nan"):
                rows = self.rows("--backend", "faulty", "--algorithm", fault, "--problem", "40000", "--from", "numa0", "--to", "numa0",
                                 "--direction", direction, code=3, ASSAY_FAULT_INNER="native", ASSAY_FAULT_ALGORITHM="auto")
                self.assertEqual([(row["status"], row["time_s"], row["rates"]) for row in rows], [("incorrect", None, {})], fault)

    def test_a_place_that_is_not_here_is_unsupported_and_a_wrong_word_is_refused(self):
        row = self.rows("--problem", "64K", "--to", "gpu7", code=6, threads=False)[0]  # a GPU has none
        self.assertIn("native has no device 'gpu'", row["reason"])
        said = self.command(BIN / "assay-copy", *QUICK, "--to", "gpu", code=2).stderr
        self.assertIn("--to 'gpu' is not a place of memory", said)

    def test_the_matrix_of_places_is_a_table(self):
        rows = self.rows("--problem", "64K", "--from", "all", "--to", "all")
        places = sorted({row["parameters"]["from"] for row in rows})
        self.assertEqual(len(rows), len(places) ** 2)
        for form, mark in (("markdown", "|"), ("terminal", None)):
            text = self.command(ASSAY, "table", self.folder / "rows.json", "--by", "to", "--columns", "from,rate", "--format", form,
                                code=0).stdout
            lines = [[cell.strip() for cell in line.strip("|").split(mark)] for line in text.splitlines()]
            head = next(line for line in lines if line[:2] == ["problem", "from"])
            self.assertEqual(sorted(head[2:]), places, text)
            for line in (line for line in lines if line[1:2] and line[1] in places):
                self.assertEqual(sum("B/s" in cell for cell in line), len(places), text)
        said = self.command(ASSAY, "table", self.folder / "rows.json", "--by", "to", "--columns", "time", code=2).stderr
        self.assertIn("of rates", said)
        # The same without naming columns, and the times of a small copy.
        if len(places) == 1:
            self.assertIn("have no matrix", self.command(ASSAY, "table", self.folder / "rows.json", "--matrix", code=2).stderr)
            return
        text = self.command(ASSAY, "table", self.folder / "rows.json", "--matrix", code=0).stdout
        for title, unit in (("bandwidth of copies of 64 KiB", "B/s"), ("time of copies of 64 KiB", "s")):
            lines = text[text.index(title):].splitlines()[:3 + len(places)]
            self.assertEqual(sorted(lines[1].split()), sorted([*places, "from", "\\", "to"]), text)
            self.assertEqual(sorted(line.split()[0] for line in lines[3:]), places, text)
            self.assertTrue(all(len(re.findall(rf"\d \S?{unit}", line)) == len(places) for line in lines[3:]), text)
        csv = self.command(ASSAY, "table", self.folder / "rows.json", "--matrix", "--format", "csv", code=0).stdout.splitlines()
        self.assertEqual(csv[0], "matrix,line,column,value")
        values = {tuple(line.split(",")[:3]): float(line.split(",")[3]) for line in csv[1:]}
        for row in rows:
            place = (row["parameters"]["from"], row["parameters"]["to"])
            self.assertAlmostEqual(values[("bandwidth of copies of 64 KiB", *place)] / row["rates"]["copy_bw"], 1, places=6)
            self.assertAlmostEqual(values[("time of copies of 64 KiB", *place)] / row["time_s"]["median"], 1, places=6)

    def test_readers_count_again(self):
        self.rows("--problem", "64K", "--from", "every", "--to", "every")
        file = self.folder / "rows.json"
        for place, pointer in ((("problem", "bytes"), "/problem/bytes"), (("problem", "amounts", "copy_bw"), "/problem/amounts/copy_bw")):
            document = json.loads(json.dumps(self.document))
            at = document["rows"][0]
            for name in place[:-1]:
                at = at[name]
            at[place[-1]] *= 2
            file.write_text(json.dumps(document))
            self.assertIn(pointer, self.command(ASSAY, "validate", file, code=2).stderr)


if __name__ == "__main__":
    main()
