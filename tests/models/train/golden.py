#!/usr/bin/env python3
"""golden.py [NAME …]: writes the golden files beside it, run by hand where PyTorch is (`.deps/peers/bin/python3 golden.py`).

A file holds the beginning of one training of a network of assay-train, from the initial values and on the synthetic resident
batch of rank 0 (functions of `seed`; scripts/peers/networks.py), computed by PyTorch in fp64:
  network, batch, seed, learning_rate, momentum, weight_decay (of weights, not of biases)
  gradients             of the first loss, by the name of the parameter: [2-norm, product with the values of the stream
                        NAME.gradient]. The product is right only where every element is in its place
  losses                of five steps of SGD with momentum: the next follows one update
  fp32                  relative differences between PyTorch's fp32 and the numbers above: what fp32 alone may cost
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "scripts" / "peers"))

import torch  # noqa: E402

import networks  # noqa: E402
import resnet  # noqa: E402

STEPS = 5
# network, batch, seed, learning rate
CASES = {"mlp": ("mlp:i96w48l3c10", 12, 5, 0.05), "candle-p1b2": ("candle-p1b2:i400w64c10", 20, 7, 0.5),
         "candle-p1b1": ("candle-p1b1:i400w64n24", 20, 9, 0.5),
         "tiramisu": ("tiramisu:h32w48c5d8", 2, 3, 1e-4), "deeplab": ("deeplab:h32w40c5d8", 2, 11, 1e-4),
         # An eighth of its planes is wider than the largest distance of taps, 36.
         "deeplab-wide": ("deeplab:h32w320c4d16", 1, 17, 1e-4),
         "deepcam": ("deepcam:h32w40c5d8", 3, 13, 0.005)}


def trained(case, dtype):
    network, batch, seed, rate = case
    model = networks.network(network, seed).to(dtype)
    samples, labels = model.batch(batch)
    optimizer = networks.optimizer(model, "sgd", rate)
    found = {"losses": []}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model.loss(model(samples.to(dtype)), labels)
        loss.backward()
        if step == 0:
            found["gradients"] = {name: list(resnet.fingerprint(p.grad, seed, name)) for name, p in model.named_parameters()}
        optimizer.step()
        found["losses"].append(float(loss.detach()))
    return found


def main():
    for name, case in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        right, other = trained(case, torch.float64), trained(case, torch.float32)
        pairs = [(right["gradients"][key], value) for key, value in other["gradients"].items()]
        network, batch, seed, rate = case
        content = {"network": network, "batch": batch, "seed": seed, "learning_rate": rate, "momentum": resnet.MOMENTUM,
                   "weight_decay": resnet.WEIGHT_DECAY, **right,
                   "fp32": {"gradients": max(abs(b[0] / a[0] - 1) for a, b in pairs),
                            "losses": max(abs(b / a - 1) for a, b in zip(right["losses"], other["losses"]))}}
        (HERE / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
