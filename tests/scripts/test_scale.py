#!/usr/bin/env python3
"""`assay model --scale` as it is called: shipped inputs, measured inputs, formats, messages."""
import csv
import io
import json
import shutil

from run_helper import ASSAY, BIN, SOURCE, RunTest, main
import make_results

ALPHA, BETA = 3e-6, 2e-10
SHIPPED = sorted(file.stem for file in (SOURCE / "suites" / "scale").glob("*.json"))


def said(value):
    return {"value": value, "assumed": "the test"}


def messages(bytes_sent, algorithm, ranks):
    """Messages and bytes one after the other, of Assay's segments."""
    if algorithm == "library":  # sendrecv
        return 1, bytes_sent
    piece = -(-bytes_sent // 4 // ranks) * 4
    rounds = 2 * (ranks - 1)
    return rounds * -(-piece // 262144), rounds * piece


def collectives(sizes, collective="allreduce", algorithm="ring", ranks=4, error=lambda size: 1.0, nodes=1, wire="none"):
    """A result file of rows whose times are alpha and beta of their messages, times an error."""
    made = make_results.document(rows=0)
    factor = 2 * (ranks - 1) / ranks if collective == "allreduce" else 1
    for size in sizes:
        count, sent = messages(size, algorithm, ranks)
        seconds = (ALPHA * count + BETA * sent) * error(size)
        row = make_results.row(str(size), seconds, [seconds] * 12, algorithm=algorithm)
        row["id"] = f"collectives/{collective}/fp32/mpi/{algorithm}/{size}/r{ranks}/n{nodes}" + ("" if wire == "none" else f"/wire={wire}")
        row["benchmark"] = "collectives"
        row["problem"] = {"descriptor": str(size), "bytes": size, "elements": size // 4, "flops": 0, "ranks": ranks,
                          "busbw_factor": factor, "amounts": {"algbw": size, "busbw": factor * size}}
        row["parameters"] = {"collective": collective, "algorithm": algorithm, "precision": "fp32", "transport": "mpi",
                             "ranks": ranks, "nodes": nodes, "wire": wire, "replay": "none"}
        row["id_form"] = make_results.id_form(row)
        median = row["time_s"]["median"]
        row["rates"] = {"algbw": size / median, "busbw": factor * size / median}
        made["rows"].append(row)
    return made


class Scale(RunTest):
    def input(self, **more):
        document = {"schema": "assay-scale/1", "name": "test",
                    "compute": [{"batch": 8, "forward_s": said(0.1), "backward_s": said(0.2), "update_s": said(0.01)}],
                    "gradients": {"elements": said(1000000), "tensors": said(10), "element_bytes": said(4), "bucket_bytes": said(0)},
                    "levels": [{"name": "network", "alpha_s": said(1e-5), "bytes_per_s": said(1e9)}],
                    "algorithms": ["ring"], "ranks": [1, 2, 4], "curves": [{"batch": 8}]}
        document.update(more)
        return self.write("input", {key: value for key, value in document.items() if value is not None})

    def write(self, name, document):
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document))
        return file

    def scale(self, *words, code=0):
        return self.command(ASSAY, "model", "--scale", *words, code=code)

    def document(self, *words):
        return json.loads(self.scale(*words, "--format", "json").stdout)

    def refused(self, file, *names):
        done = self.scale(file, code=2)
        self.assertEqual(done.stdout, "")
        for name in (str(file), *names):
            self.assertIn(name, done.stderr)

    def test_shipped_inputs(self):
        self.assertEqual(SHIPPED, ["abci-resnet50", "fugaku-resnet50", "summit-deeplab", "summit-resnet50"])
        reached = {}
        for name in SHIPPED:
            document = self.document(name)
            for source in document["inputs"]:
                self.assertIn(source["kind"], ("assumed", "computed"), source)
                self.assertTrue(source["source"])
            for curve in document["curves"]:
                efficiencies = [point["efficiency"] for point in curve["points"] if point["efficiency"] is not None]
                self.assertEqual(efficiencies[0], 1)
                self.assertLessEqual(max(efficiencies), 1 + 1e-12)
            for point in document["published"]:
                self.assertAlmostEqual(point["predicted"] / point["published"] - 1, point["error"], 12)
                self.assertTrue(point["citation"])
            reached[name] = document["curves"][0]["points"][-1]["ranks"]
        self.assertEqual(reached, {"abci-resnet50": 2176, "fugaku-resnet50": 64, "summit-deeplab": 27360, "summit-resnet50": 384})

    def test_golden(self):
        """All that is shown. The program made these numbers; tests/analysis/scaling checks how."""
        golden = SOURCE / "tests" / "golden" / "scale" / "abci-resnet50.txt"
        self.assertEqual(self.scale("abci-resnet50").stdout, golden.read_text())

    def test_ways_and_control_messages(self):
        document = self.document("summit-deeplab")
        most = {point["way"]: point for point in document["control"] if point["ranks"] == 27360}
        self.assertEqual([most["flat"]["messages"], most["tree:8"]["messages"]], [72 * 2 * 27359, 72 * 2 * 9])
        self.assertLess(most["flat"]["efficiency"], 0.1)
        self.assertEqual(most["tree:8"]["efficiency"], 1, "a step hides what the tree takes")
        ways = {(point["way"], point["ranks"]): point for point in document["ways"]}
        self.assertEqual(len(ways), 4 * 8)
        self.assertAlmostEqual(ways["pipeline:6", 6]["efficiency"], 6 / 11, delta=0.01)  # 6 passes fill 6 stages
        self.assertIn("leave no worker", ways["server:96", 96]["reason"])
        staging = {point["nodes"]: point for point in document["staging"]}
        self.assertEqual(staging[64]["bytes_per_s"], 64 * 5e9)
        self.assertAlmostEqual(staging[4560]["seconds"], 600, delta=1)  # 1 TB a node, received and written
        self.assertIn("the disks of 800 nodes give", " ".join(document["notes"]))
        for change, said in (({"way": "ring:2"}, "expected stale:S"), ({"way": "pipeline:2"}, "micro_batches is missing")):
            file = self.folder / "way.json"
            file.write_text(json.dumps({**json.loads((SOURCE / "suites" / "scale" / "summit-deeplab.json").read_text()), "ways": [change]}))
            self.assertIn(said, self.scale(file, code=2).stderr)

    def test_by_hand(self):
        """One bucket, nothing hidden: 0.31 s + 2 (p-1) (alpha + beta m/p)."""
        file = self.input(gradients={"elements": said(1000000), "tensors": said(1), "element_bytes": said(4), "bucket_bytes": said(0)})
        for point in self.document(file)["curves"][0]["points"]:
            ranks = point["ranks"]
            communication = 2 * (ranks - 1) * (1e-5 + 4e6 / ranks / 1e9)
            self.assertAlmostEqual(point["communication_s"], communication, 12)
            self.assertAlmostEqual(point["exposed_s"], communication, 12)
            self.assertAlmostEqual(point["step_s"], 0.31 + communication, 12)
            self.assertAlmostEqual(point["images_per_s"], 8 * ranks / (0.31 + communication), 8)
            self.assertAlmostEqual(point["efficiency"], 0.31 / (0.31 + communication), 12)

    def test_formats(self):
        file, out = self.input(), self.folder / "out.json"
        self.scale(file, "--format", "json", "--out", out)
        self.assertIn("assay-scaling/1", self.command(ASSAY, "validate", out, file, code=0).stdout)
        rows = list(csv.DictReader(io.StringIO(self.scale(file, "--format", "csv").stdout)))
        points = json.loads(out.read_text())["curves"][0]["points"]
        self.assertEqual([float(row["step_s"]) for row in rows], [point["step_s"] for point in points])
        self.assertIn("| weak scaling, batch 8 a rank |", self.scale(file, "--format", "markdown").stdout)
        text = self.scale(file).stdout
        for part in ("network: alpha", "10.0 µs", "assumed", "the test", "exposed", "A prediction, not a measurement"):
            self.assertIn(part, text)

    def test_strong_scaling(self):
        compute = [{"batch": batch, "forward_s": said(0.01 * batch), "backward_s": said(0.02 * batch), "update_s": said(0.01)}
                   for batch in (32, 8)]
        file = self.input(compute=compute, curves=[{"global_batch": 64}], ranks=[1, 2, 3, 4, 8, 16])
        points = self.document(file)["curves"][0]["points"]
        self.assertEqual([point["batch"] for point in points], [None, 32, None, 16, 8, None])
        self.assertIn("batches 8 to 32, not for 64", points[0]["reason"])
        self.assertIn("3 ranks do not divide", points[2]["reason"])
        self.assertIn("batches 8 to 32, not for 4", points[5]["reason"])
        self.assertAlmostEqual(points[3]["compute_s"], 0.01 + 0.03 * 16, 12)  # between the two
        self.assertIn("unsupported: 3 ranks do not divide", self.scale(file).stdout)

    def test_what_is_not_defined_has_a_reason(self):
        levels = [{"name": "node", "ranks": 4, "alpha_s": said(1e-6), "bytes_per_s": said(1e10)},
                  {"name": "nodes", "alpha_s": said(1e-5), "bytes_per_s": said(1e9)}]
        document = self.document(self.input(levels=levels, algorithms=["ring", "hierarchical", "torus2d"], ranks=[1, 2, 6, 8]))
        reasons = [[point["reason"] for point in curve["points"]] for curve in document["curves"]]
        self.assertEqual(reasons[0], [None] * 4)
        self.assertEqual(reasons[1], [None, None, "6 ranks do not fill groups of 4", None])
        self.assertEqual(reasons[2], [None, "2 ranks do not form a grid of at least 2 x 2", None, None])

    def measured(self, **more):
        return self.input(levels=[{"name": "network", "measured": {"file": "c.json", "rows": "^collectives/", **more}}])

    def test_alpha_and_beta_are_fitted(self):
        sizes = [4096, 65536, 1 << 20, 1 << 22]
        for made in (collectives(sizes), collectives(sizes, "sendrecv", "library", 2), collectives(sizes, ranks=5)):
            self.write("c", made)
            inputs = {source["name"]: source for source in self.document(self.measured())["inputs"]}
            self.assertAlmostEqual(inputs["network: alpha"]["value"] / ALPHA, 1, 9)
            self.assertAlmostEqual(inputs["network: 1/beta"]["value"] * BETA, 1, 9)
            self.assertEqual(inputs["network: alpha"]["kind"], "measured")
            self.assertEqual(inputs["network: alpha"]["rows"], [row["id"] for row in made["rows"]])
            self.assertAlmostEqual(inputs["network: alpha"]["fit"]["r2"], 1, 9)
        self.assertIn("c.json", self.scale(self.measured()).stdout)
        self.scale(self.measured(), "--out", self.folder / "c.json", code=2)

    def test_bad_measurements_are_refused(self):
        sizes = [4096, 65536, 1 << 20, 1 << 22]
        at = "/levels/0/measured"
        self.write("c", collectives(sizes[:2]))
        self.refused(self.measured(), at, "2 sizes", "at least 3")
        self.write("c", collectives(sizes, error=lambda size: 30 if size == 65536 else 1))
        self.refused(self.measured(), at, "does not describe", "R2")
        self.write("c", collectives([1 << 20, 1 << 21, 1 << 22], "sendrecv", "library", error=lambda size: (size / (1 << 20)) ** 0.3))
        self.refused(self.measured(), at)
        self.write("c", collectives(sizes, algorithm="library"))
        self.refused(self.measured(), at, "allreduce by the algorithm library are not known", "sendrecv")
        self.write("c", collectives(sizes, nodes=2))
        self.refused(self.measured(), at, "4 ranks on 2 nodes")
        self.write("c", collectives(sizes, wire="fp16"))
        self.refused(self.measured(), at, "wire=fp16")
        two = collectives(sizes)
        two["rows"] += collectives(sizes, ranks=2)["rows"]
        self.write("c", two)
        self.refused(self.measured(), at, "differ in more than their size", "r2")
        self.refused(self.measured(rows="nothing"), at, "no ok row", "'nothing'")
        self.refused(self.measured(rows="("), at, "(")
        self.assertIn("absent.json: cannot be read", self.scale(self.measured(file="absent.json"), code=2).stderr)

    def test_a_measured_network(self):
        """The phases of a real run, and a row that is none."""
        out = self.folder / "n.json"
        self.command(BIN / "assay-resnet50", "--problem", "d18w8s32c10", "--batch", "4", "--threads", "1", "--max-time", "0.05",
                     "--out", out, code=0)
        row = json.loads(out.read_text())["rows"][0]
        file = self.input(compute=[{"measured": {"file": "n.json", "row": row["id"]}}], curves=[{"batch": 4}])
        document = self.document(file)
        step = document["curves"][0]["points"][0]["step_s"]
        self.assertLessEqual(step, row["time_s"]["median"] * (1 + 1e-9))
        self.assertGreater(step, row["time_s"]["median"] * 0.5)
        inputs = {source["name"]: source for source in document["inputs"]}
        self.assertEqual(inputs["forward, batch 4"]["rows"], [row["id"]])
        self.assertEqual(inputs["forward, batch 4"]["source"], "n.json")
        near = row["id"].replace("training", "trainning")
        file = self.input(compute=[{"measured": {"file": "n.json", "row": near}}], curves=[{"batch": 4}])
        self.refused(file, "/compute/0/measured", f"Did you mean '{row['id']}'?")
        self.write("c", collectives([4096, 65536, 1 << 20]))
        file = self.input(compute=[{"measured": {"file": "c.json", "row": "collectives/allreduce/fp32/mpi/ring/4096/r4/n1"}}])
        self.refused(file, "has no forward_s")

    def test_bad_input(self):
        good = [{"name": "network", "alpha_s": said(1e-5), "bytes_per_s": said(1e9)}]
        node = {"name": "node", "ranks": 4, "alpha_s": said(1e-6), "bytes_per_s": said(1e10)}
        compute = {"batch": 8, "forward_s": said(0.1), "backward_s": said(0.2), "update_s": said(0.01)}
        gradients = {"list": "resnet50", "element_bytes": said(4), "bucket_bytes": said(0)}
        for more, names in (
                ({"algorithms": ["rign"]}, ["/algorithms/0", "rign", "Did you mean 'ring'?"]),
                ({"ranks": [4, 2]}, ["/ranks", "ascending"]),
                ({"ranks": [0]}, ["/ranks/0"]),
                ({"levels": [{"name": "network", "alpha_s": {"value": 1e-5}, "bytes_per_s": said(1e9)}]}, ["/levels/0/alpha_s", "assumed"]),
                ({"levels": [{"name": "network", "alpha_s": said(1e-5)}]}, ["/levels/0", "alpha_s and bytes_per_s"]),
                ({"levels": [{"name": "network", "alpha_s": said(-1), "bytes_per_s": said(1e9)}]}, ["/levels/0/alpha_s/value"]),
                ({"levels": [*good, *good]}, ["/levels/0/ranks"]),
                ({"levels": [{**good[0], "ranks": 4}]}, ["/levels/0/ranks", "outermost"]),
                ({"levels": [node, {**node, "ranks": 6}, *good]}, ["/levels/1/ranks", "whole number of groups of 4"]),
                ({"compute": [{"batch": 8, "forward_s": said(0.1)}]}, ["/compute/0", "batch, forward_s"]),
                ({"compute": [compute, compute]}, ["/compute/1", "twice"]),
                ({"compute": [{**compute, "forward_s": said(0), "backward_s": said(0), "update_s": said(0)}]}, ["/compute/0", "no time"]),
                ({"gradients": {**gradients, "list": "resnet5"}}, ["/gradients/list", "Did you mean 'resnet50'?"]),
                ({"gradients": {**gradients, "elements": said(5)}}, ["/gradients", "Expected"]),
                ({"gradients": {**gradients, "element_bytes": said(0)}}, ["/gradients/element_bytes"]),
                ({"gradients": {"elements": said(5), "tensors": said(6), "element_bytes": said(4), "bucket_bytes": said(0)}},
                 ["5 elements cannot be divided into 6 tensors"]),
                ({"overlap": {"value": "backwards", "assumed": "x"}}, ["/overlap/value", "Did you mean 'backward'?"]),
                ({"curves": [{"batch": 8, "global_batch": 8}]}, ["/curves/0"]),
                ({"levels": None}, ["levels"]),
                ({"published": [{"ranks": 3, "algorithm": "ring", "quantity": "efficiency", "value": 1, "citation": "x"}]}, ["/published/0/ranks"]),
                ({"published": [{"ranks": 2, "algorithm": "rin", "quantity": "efficiency", "value": 1, "citation": "x"}]},
                 ["/published/0/algorithm", "Did you mean 'ring'?"]),
                ({"published": [{"batch": 9, "ranks": 2, "algorithm": "ring", "quantity": "efficiency", "value": 1, "citation": "x"}]},
                 ["/published/0", "no curve"])):
            with self.subTest(more=more):
                self.refused(self.input(**more), *names)

    def test_usage(self):
        for words, names in ((["abci-resnet5"], ["Did you mean 'abci-resnet50'?"]),
                             (["abci-resnet50", "--formula", "log(time) ~ a"], ["--formula cannot be used with --scale"]),
                             (["abci-resnet50", "--format", "jsn"], ["json"])):
            done = self.scale(*words, code=2)
            for name in names:
                self.assertIn(name, done.stderr)
        self.assertIn("cannot be given with --scale", self.command(ASSAY, "model", "summit", "--scale", "abci-resnet50", code=2).stderr)
        self.assertIn("FILE is missing", self.command(ASSAY, "model", "--formula", "time ~ size", code=2).stderr)
        self.assertIn("--formula is missing", self.command(ASSAY, "model", "summit", code=2).stderr)
        copy = self.folder / "copy.json"
        shutil.copy(SOURCE / "suites" / "scale" / "fugaku-resnet50.json", copy)
        self.assertEqual(self.document(copy)["curves"], self.document("fugaku-resnet50")["curves"])
        before = copy.read_text()
        self.scale(copy, "--out", copy, code=2)
        self.assertEqual(copy.read_text(), before)


if __name__ == "__main__":
    main(verbosity=2)
