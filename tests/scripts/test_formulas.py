#!/usr/bin/env python3
"""Readers recompute the work of a row by formulas of their own: right rows of every program stand, and one that does not say what
it did is refused, although all of its numbers agree with each other."""
import copy
import json
import os

from run_helper import ASSAY, BIN, RunTest, main

RANKS = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
QUICK = ["--max-time", 0.02, "--threads", 1]
NETWORK = ["--problem", "d18w8s32c10", "--batch", 4, "--backend", "reference", *QUICK]
TRAINING = ["--data", "learnable:n64v50", "--epochs", 3, "--unreached", "kept", *NETWORK]


def put(pointer, value):
    """An edit: a value, or a function of the present one, for the field at `pointer`."""
    def edit(row):
        *path, last = [int(part) if part.isdigit() else part for part in pointer.split("/")[1:]]
        place = row
        for part in path:
            place = place[part]
        place[last] = value(place[last]) if callable(value) else value
    return edit


def amount(rate, factor, field=None):
    """The amount of a rate times `factor`, and all that follows from it, as a program would write it."""
    def edit(row):
        for names in (row["problem"].get("amounts", {}), row["rates"]):
            names[rate] *= factor
        if rate == "flops_per_s" and row["rates"].get("algorithmic_flops_per_s"):
            row["rates"]["algorithmic_flops_per_s"] *= factor
        for name in (field,) if field else ():
            row["problem"][name] *= factor
    return edit


FLOPS, BYTES = amount("flops_per_s", 2, "flops"), amount("bytes_per_s", 2, "bytes")


class Formulas(RunTest):
    def document(self, program, *words, ranks=1):
        file = self.folder / "row.json"
        file.unlink(missing_ok=True)
        before = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        done = self.command(*before, BIN / f"assay-{program}", *words, "--out", file, env=RANKS)
        if not file.exists():
            self.fail(done.stderr)
        self.command(ASSAY, "validate", file, code=0)
        made = json.loads(file.read_text())
        made["rows"] = [row for row in made["rows"] if row["status"] == "ok"]
        self.assertTrue(made["rows"], done.stdout + done.stderr)
        return made

    def expect_refused(self, document, *edits, at=0):
        """Each edit: the pointer that is told, functions that edit the row, words of the message."""
        file = self.folder / "edited.json"
        for pointer, edit, *words in edits:
            with self.subTest(pointer=pointer, row=document["rows"][at]["id"], words=words):
                edited = copy.deepcopy(document)
                for each in edit if isinstance(edit, list) else [edit]:
                    each(edited["rows"][at])
                file.write_text(json.dumps(edited))
                said = self.command(ASSAY, "validate", file, code=2).stderr
                for word in (f"/rows/{at}{pointer}: found ", ", expected ", *words):
                    self.assertIn(word, said)

    def test_operations(self):
        for program, words, flops in (
                ("conv", ["--problem", "g2mb2ic8ih9iw7oc4oh4ow3kh3kw2sh2sw2dh1dw1ph2pw0", "--backend", "reference"], True),
                ("conv", ["--problem", "mb1ic4id5oc4od5kd3pd1", "--direction", "bwd_weights", "--backend", "reference"], True),
                ("gemm", ["--problem", "m8n9k10b2lda12taalpha0.5beta2", "--backend", "reference"], True),
                ("rnn", ["--problem", "lstm:8-2-3-l2-bi", "--direction", "forward_training", "--backend", "reference"], True),
                ("linalg", ["--problem", "kmeans_assign:n64d8k3", "--backend", "reference"], True),
                ("stream", ["--problem", "triad_n100000"], True),
                ("activation", ["--problem", "mb3ic8ih4iw5", "--function", "gelu", "--direction", "backward", "--backend", "reference"], False),
                ("activation", ["--problem", "mb3ic8", "--function", "identity", "--direction", "backward", "--backend", "reference"], False),
                ("dropout", ["--problem", "mb3ic8p0.2k5", "--precision", "bf16", "--backend", "reference"], False),
                ("update", ["--problem", "larc-adam_n1000t3", "--precision", "fp16", "--backend", "reference"], False),
                ("update", ["--problem", "rmsprop_n1000s0.9", "--backend", "reference"], False),
                ("loss", ["--problem", "mb3c10nobias", "--precision", "bf16", "--backend", "reference"], False),
                ("pixel-loss", ["--problem", "mb2c3ih5iw7", "--direction", "validation", "--backend", "reference"], False),
                ("squared-error", ["--problem", "mb3f50", "--precision", "fp16", "--backend", "reference"], False),
                ("sum", ["--problem", "in_place_n1000", "--backend", "reference"], False),
                ("convert", ["--problem", "n1000"], False),
                ("norm", ["--problem", "mb1ic8ih4", "--fusion", "add_relu", "--backend", "reference"], False),
                ("pool", ["--problem", "mb1ic8ih9iw7kh3kw2sh2sw1", "--direction", "backward", "--backend", "reference"], False),
                ("concat", ["--problem", "mb2ca3cb4cc5ih3iw2", "--direction", "backward", "--backend", "reference"], False),
                ("resize", ["--problem", "mb2ic3ih3iw2oh6", "--backend", "reference"], False)):
            document = self.document(program, *words, *QUICK)
            formula = "by a reader's formula"
            self.expect_refused(document, ("/problem/bytes", BYTES, formula))
            if flops:
                self.expect_refused(document, ("/problem/flops", FLOPS, formula))
            if program == "conv" and "iw7" in words[1]:
                self.expect_refused(document, ("/problem/ph_r", put("/problem/ph_r", lambda n: n + 1)),
                                    ("/problem/pw", put("/problem/pw", 1)))

    def test_ceilings(self):
        document = self.document("stream", "--problem", "fma_n64,latency_n1000,read_n1000", *QUICK)
        self.assertEqual(len(document["rows"]), 3)
        self.expect_refused(document, ("/problem/flops", FLOPS), at=0)
        self.expect_refused(document, ("/problem/loads", put("/problem/loads", 1)),
                            ("/problem/amounts/loads_per_s", amount("loads_per_s", 2, "loads")), at=1)
        self.expect_refused(document, ("/problem/passes", put("/problem/passes", 1)), at=2)

    def test_networks(self):
        document = self.document("resnet50", "--accumulate", 2, "--optimizer", "lars", *NETWORK)
        layers = document["rows"][0]["layers"]
        del document["rows"][0]["layers_sum"]  # it tells of most changes before what is recomputed from the network
        last, update = len(layers) - 2, len(layers) - 1
        self.assertEqual((layers[update]["operation"], layers[0]["operation"]), ("update", "conv"))

        def halve(row):
            """The work of half of the layers, as of an executor that leaves them out."""
            row["layers"] = row["layers"][:last // 2] + row["layers"][-2:]

        self.expect_refused(
            document,
            ("/problem/flops", FLOPS, "the network of the descriptor"),
            ("/problem/flops", halve, "all layers"),
            ("/problem/amounts/images_per_s", amount("images_per_s", 1.5), "batch x ranks x accumulate"),
            ("/problem/global_batch_size", put("/problem/global_batch_size", 4)),
            ("/problem/width", put("/problem/width", 4)),
            ("/layers/0/runs", put("/layers/0/runs", 1), "/parameters/accumulate"),
            (f"/layers/{update}/runs", put(f"/layers/{update}/runs", 2)),
            ("/layers/0/bytes", put("/layers/0/problem", "mb4ic3ih32oc4oh16kh7sh2ph3"), "the problem of the layer"),
            (f"/layers/{update}/problem", put(f"/layers/{update}/problem", lambda text: "sgd" + text[4:]), "/parameters/optimizer"),
            (f"/layers/{update}/problem", put(f"/layers/{update}/problem", lambda text: text.replace("m0.9", "m0")), "m0.9wd0.0001c0.001"),
            (f"/layers/{update}/problem", put(f"/layers/{update}/problem", lambda text: text.replace("wd0.0001", "wd0"))),
            (f"/layers/{update}/problem", put(f"/layers/{update}/problem", lambda text: text.replace("c0.001", "c0.01"))),
            (f"/layers/{update}/problem", put(f"/layers/{update}/problem", lambda text: text.replace("_n17", "_n7")), "parameters of the network"),
            ("/parameters/direction", lambda row: row["layers"].pop(), "whether /layers have an update"),
            ("/executed/momentum", put("/executed/momentum", 0)),
            ("/executed/weight_decay", put("/executed/weight_decay", 0)),
            ("/metrics/conv_forward_s/value", put("/metrics/conv_forward_s/value", lambda seconds: seconds / 2)),
            ("/metrics/loss_of_last_step", put("/metrics/loss_of_last_step/value", None), "diverged"))
        document = self.document("resnet50", "--direction", "inference", *NETWORK)
        self.expect_refused(document, ("/problem/flops", FLOPS, "the network of the descriptor"),
                            ("/problem/amounts/images_per_s", amount("images_per_s", 2)))

    def test_each_network(self):
        for network in ("mlp:i64w32l3", "candle-p1b1:i64w32n12", "candle-p1b2:i64w32", "resnet18:w8s32c10", "tiramisu:h32w48c4d8", "deeplab:h24w40c4d16",
                        "deepcam:h32w32c4d8"):
            for words in (["--rate", 1e-6, "--accumulate", 2, "--optimizer", "adam", "--precision", "fp32" if "cam" in network else "bf16"],
                          ["--direction", "inference"]):
                document = self.document("train", "--network", network, "--batch", 2, "--steps", 1, "--backend", "native", *words, *QUICK)
                document["rows"][0].pop("layers_sum", None)
                self.expect_refused(document, ("/problem/flops", FLOPS, "the network of the descriptor"),
                                    ("/problem/bytes", put("/problem/bytes", lambda count: 1.01 * count), "weights, gradients and state"),
                                    ("/problem/passes", put("/problem/passes", lambda count: count + 1), "weights, gradients and state"))

    def test_several_ranks(self):
        document = self.document("resnet50", *NETWORK, ranks=2)
        self.expect_refused(document, ("/problem/amounts/images_per_s", amount("images_per_s", 0.5)),
                            ("/problem/flops", FLOPS),
                            ("/time_s/rank_medians_s", put("/time_s/rank_medians_s", lambda own: own[:1]), "/parameters/ranks"),
                            ("/time_s/rank_medians_s", put("/time_s/rank_medians_s/0", 10)))

    def test_trainings_to_an_accuracy(self):
        document = self.document("resnet50", "--target", 0.99, *TRAINING)
        epochs = document["rows"][0]["epochs"]
        self.assertEqual([epoch["epoch"] for epoch in epochs], [1, 2, 3])

        def accuracy(value):
            return [put("/epochs/2/accuracy", value), put("/metrics/accuracy/value", value)]

        def reached(row):
            row["metrics"].update(epochs={"value": 3.0, "unit": "", "better": "lower"},
                                  time_to_accuracy_s={"value": row["epochs"][2]["seconds"], "unit": "s", "better": "lower"})

        def slower(row):
            """The same training on a machine that takes a thousand times as long: its times are above what is rounding."""
            begin = row["epochs"][0]["started_unix_s"]
            for epoch in row["epochs"]:
                epoch.update({name: begin + 1000 * (epoch[name] - begin) for name in epoch if name.endswith("unix_s")},
                             seconds=1000 * epoch["seconds"], images_per_s=epoch["images_per_s"] / 1000)

        slow = copy.deepcopy(document)
        slower(slow["rows"][0])
        file = self.folder / "slow.json"
        file.write_text(json.dumps(slow))
        self.command(ASSAY, "validate", file, code=0)
        self.expect_refused(
            slow,
            ("/epochs/1/images_per_s", put("/epochs/1/images_per_s", lambda rate: 1.5 * rate), "without its validation"),
            ("/epochs/1/images_per_s", put("/epochs/1/trained_unix_s", slow["rows"][0]["epochs"][1]["started_unix_s"] + 1),
             "within its time stamps"),
            ("/epochs/2/seconds", put("/epochs/2/seconds", lambda seconds: 4 * seconds), "the time stamps"))
        self.expect_refused(
            document,
            ("/metrics/accuracy/value", reached, "at least 0.99"),
            ("/metrics/accuracy/value", accuracy(1), "without time to accuracy"),
            ("/epochs/0/accuracy", put("/epochs/0/accuracy", 1), "since training went on"),
            ("/epochs/2/accuracy", accuracy(0.123), "a multiple of 1/50"),
            ("/epochs/0/epoch", lambda row: [epoch.update(epoch=epoch["epoch"] + 1) for epoch in row["epochs"]]),
            ("/epochs/1/epoch", lambda row: row.update(epochs=row["epochs"][:2]) or
             [put(pointer, row["epochs"][1][name])(row) for pointer, name in (("/metrics/accuracy/value", "accuracy"),
                                                                            ("/metrics/validation_loss/value", "validation_loss"))]),
            ("/epochs/0/epoch", lambda row: [row["epochs"][0].pop(name) for name in ("accuracy", "validation_loss")], "an accuracy"),
            ("/epochs/1/seconds", put("/epochs/1/images_per_s", lambda rate: rate / 1.5), "the epoch's images over its images_per_s"),
            ("/epochs/1/trained_unix_s", put("/epochs/1/trained_unix_s", 0)),
            ("/epochs/2/seconds", [put("/epochs/2/seconds", lambda seconds: seconds + 100)], "time stamps"))
        document = self.document("resnet50", "--target", 0, *TRAINING)
        self.assertEqual(document["rows"][0]["metrics"]["epochs"]["value"], 1)
        self.expect_refused(document, ("/metrics/accuracy/value", [put("/parameters/target", "0.99"),
                                                                   put("/id", lambda name: name.replace("target=0", "target=0.99"))],
                                       "at least 0.99"))

    def test_kmeans(self):
        document = self.document("kmeans", "--problem", "n401d8", "--clusters", "2+3", *QUICK)
        self.expect_refused(
            document, ("/metrics/iterations_k3/value", put("/metrics/iterations_k3/value", 5), "/parameters/iterations"),
            ("/problem/flops", FLOPS), ("/problem/passes", put("/problem/passes", 10)), ("/problem/bytes", BYTES),
            ("/problem/size", put("/problem/size", 1)),
            ("/problem/amounts/input_bytes_per_s", amount("input_bytes_per_s", 2)),
            ("/problem/amounts/figure_of_merit",
             lambda row: [row[part].update(figure_of_merit=row[part]["input_bytes_per_s"]) for part in ("rates",)] +
             [row["problem"]["amounts"].update(figure_of_merit=row["problem"]["size"])], "/parameters/conform"))
        document = self.document("kmeans", "--problem", "n4001d8", "--until-moved", 0.05, "--iterations", 100, *QUICK)
        self.assertLess(document["rows"][0]["metrics"]["iterations"]["value"], 100)
        self.expect_refused(
            document, ("/metrics/iterations/value", put("/metrics/moved/value", 0.06), "/parameters/until_moved"),
            ("/metrics/iterations/value", put("/metrics/iterations/value", 101), "/parameters/iterations"),
            ("/executed/passes", put("/executed/passes", 99)))
        document = self.document("kmeans", "--problem", "n401d8", "--part", "kmeans_assign", *QUICK, ranks=2)

        def all_rows(row):
            """The operation of a rank that takes the rows of both."""
            n, d, k = 401, 8, 3
            row["problem"].update(n=n, descriptor=f"kmeans_assign:n{n}d{d}k{k}")
            for name, value in (("flops", (2 * k + 1) * n * d), ("bytes", 8 * (n + k) * d + 4 * n + 8 * (k * d + k + 1))):
                amount(f"{name}_per_s", value / row["problem"][name], name)(row)

        self.expect_refused(document, ("/problem/flops", FLOPS), ("/problem/n", all_rows, "expected 201", "rows of the first rank"))

    def test_pca_and_svm(self):
        for algorithm in ("gram", "tsqr"):
            document = self.document("pca", "--problem", "n401d8", "--algorithm", algorithm, *QUICK)
            self.expect_refused(document, ("/problem/flops", FLOPS), ("/problem/passes", put("/problem/passes", 2)))
        document = self.document("svm", "--problem", "n401d8", *QUICK)
        self.expect_refused(document, ("/metrics/duality_gap/value", put("/metrics/duality_gap/value", 0.002), "/parameters/gap"),
                            ("/executed/passes", put("/executed/passes", lambda passes: passes + 1)),
                            ("/executed/algorithmic_flops", lambda row: [row["executed"].update(algorithmic_flops=1),
                                                                         row["rates"].update(algorithmic_flops_per_s=1 / row["time_s"]["median"])]))
        document = self.document("svm", "--problem", "n401d8", "--algorithm", "nelder_mead", "--evaluations", 30, *QUICK)
        self.expect_refused(document, ("/metrics/evaluations/value", put("/metrics/evaluations/value", 31)))

    def test_collectives_and_input(self):
        for collective in ("allreduce", "allgather", "broadcast"):
            document = self.document("collectives", "--collective", collective, "--bytes", 4800, "--max-time", 0.02, ranks=3)
            self.expect_refused(
                document, ("/problem/busbw_factor", [amount("busbw", 2), put("/problem/busbw_factor", lambda factor: 2 * factor)],
                           f"{collective} of 3 ranks"),
                ("/problem/elements", put("/problem/elements", 2400)))
        document = self.document("input", "--data", "generated:n32w64h48", "--problem", "n32mb8s32", *QUICK)
        self.expect_refused(document, ("/problem/amounts/images_per_s", amount("images_per_s", 2), "the images of the descriptor"))


if __name__ == "__main__":
    main(verbosity=2)
