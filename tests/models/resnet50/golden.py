#!/usr/bin/env python3
"""golden.py [NAME …]: writes the golden files beside it, run by hand where PyTorch is (`.deps/peers/bin/python3 golden.py`).

A file holds one training of ResNet v1.5 from the initial values and on the synthetic resident batch of rank 0 (a function of
`seed`; scripts/peers/resnet.py), computed by PyTorch in fp64:
  depth, width, image_size, classes, batch, seed, learning_rate, momentum, weight_decay (of the weights of convolutions and fc)
  last_norm             initial weight of the last batch norm of every block; of all others it is 1
  logits_norm, logits   of the first forward pass, training: 2-norm of all, the first of sample 0
  inference_norm        2-norm of the logits in inference, with the initial weights and the running statistics after that pass
  loss, smoothed        cross-entropy of that pass, mean of the batch; the same with label smoothing of 0.1
  running_mean, running_var   2-norms after that pass, by the name of the layer
  gradients             of `loss`, by the name of the parameter: [2-norm, product with the values of the stream NAME.gradient].
                        The product is right only where every element is in its place
  losses                of ten steps of SGD with momentum: the first is `loss`, the next follows one update
  fp32 relative differences between PyTorch's fp32 and the numbers above: what fp32 alone may cost. The error of a
                        product is relative to the norm; that of a tensor of parameters or statistics is the worst.
                        `margin`: the distance of the nearest input of a rectifier from 0, or of the largest two in a
                        window of the maximum pooling, over the RMS error of that layer's inputs in fp32 bf16, fp16 the
                        same of PyTorch's mixed precision (torch.autocast; the loss times 1024), without margin; not of
                        the whole width, which takes long Rounding can change a gradient by much more than a rounding
                        error: where an input of a rectifier is almost 0, one precision passes the gradient and the
                        other does not (one of N such elements: about N^-1/2 of that layer's gradient and of all before
                        it). At depth 50 with last_norm 1, every block amplifies errors, to 7e-5 in the last: gradient
                        norms of fp32 are then up to 4e-2 off, elements 0.14, and the losses of a rate of 1e-5 up to
                        0.16 (measured, width 16, seeds 1 to 4). With last_norm 0.1 errors stay near 1e-6. Seeds are
                        those of the largest margin among the first 149, 119 and 12; rates are such that fp32 follows
                        for ten steps.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "scripts" / "peers"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import resnet  # noqa: E402

CASES = [  # depth, width, image size, classes, batch, last norm, seed, learning rate
    (18, 16, 32, 10, 8, 1.0, 148, 1e-4),
    (50, 16, 64, 20, 4, 0.1, 65, 5e-4),
    (50, 64, 64, 1000, 4, 0.1, 1, 3e-4),
]
STEPS, SMOOTHING = 10, 0.1
LOSS_SCALE = 1024  # of mixed precision
MIXED = {"bf16": torch.bfloat16, "fp16": torch.float16}


def made(case, dtype):
    """Network, images and labels."""
    depth, width, size, classes, batch, last_norm, seed, _ = case
    images, labels = resnet.batch_of(batch, size, classes, seed)
    return resnet.network(depth, width, classes, seed, last_norm).to(dtype).train(), images.to(dtype), labels


def trained(case, dtype, mixed=None):
    """`mixed`: the type of torch.autocast, or none."""
    model, images, labels = made(case, dtype)
    optimizer = resnet.optimizer(model, case[-1])
    scale = LOSS_SCALE if mixed else 1
    found = {"losses": []}
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", mixed, enabled=mixed is not None):
            logits = model(images)
        logits = logits.to(dtype)
        loss = functional.cross_entropy(logits, labels)
        (scale * loss).backward()
        for parameter in model.parameters():
            parameter.grad /= scale
        if step == 0:
            with torch.autocast("cpu", mixed, enabled=mixed is not None):
                found.update(first(model, images, labels, logits.detach(), case[-2]))
        optimizer.step()
        found["losses"].append(float(loss.detach()))
    found["loss"] = found["losses"][0]
    return found


def first(model, images, labels, logits, seed):
    """The results of the first step, before its update."""
    buffers = dict(model.named_buffers())
    found = {"logits_norm": float(logits.double().norm()), "logits": logits[0, :8].tolist(),
             "smoothed": float(functional.cross_entropy(logits, labels, label_smoothing=SMOOTHING)),
             "gradients": {name: list(resnet.fingerprint(p.grad, seed, name)) for name, p in model.named_parameters()}}
    for statistic in ("running_mean", "running_var"):
        found[statistic] = {name.removesuffix("." + statistic): float(value.double().norm())
                            for name, value in buffers.items() if name.endswith(statistic)}
    with torch.inference_mode():
        found["inference_norm"] = float(model.eval()(images).double().norm())
    model.train()
    return found


def distances(case, dtype):
    """The inputs of every rectifier, and the differences of the largest two of the maximum pooling; pairs with whether
    they count."""
    model, images, _ = made(case, dtype)
    seen = []

    def pooled(module, inputs, _):
        windows = functional.unfold(inputs[0], 3, padding=1, stride=2).unflatten(1, (inputs[0].shape[1], 9)).sort(2).values
        seen.append(((windows[:, :, -1] - windows[:, :, -2]).double(), windows[:, :, -1] > 0))

    def rectified(module, inputs, _):
        seen.append((inputs[0].double(), torch.ones_like(inputs[0], dtype=torch.bool)))

    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
            module.register_forward_hook(rectified)
        elif isinstance(module, nn.MaxPool2d):
            module.register_forward_hook(pooled)
    with torch.no_grad():
        model(images)
    return seen


def margin(case):
    pairs = zip(distances(case, torch.float64), distances(case, torch.float32))
    return min(float(right[counts].abs().min() / (right - other)[counts].square().mean().sqrt())
               for (right, counts), (other, _) in pairs)


def differences(right, other):
    def worst(name):
        return max(abs(other[name][key] / value - 1) for key, value in right[name].items())

    pairs = [(right["gradients"][key], value) for key, value in other["gradients"].items()]
    return {**{name: abs(other[name] / right[name] - 1) for name in ("logits_norm", "inference_norm", "loss", "smoothed")},
            "gradient_norms": max(abs(b[0] / a[0] - 1) for a, b in pairs),
            "gradient_products": max(abs(b[1] - a[1]) / a[0] for a, b in pairs),
            "losses": max(abs(b / a - 1) for a, b in zip(right["losses"], other["losses"])),
            "running_mean": worst("running_mean"), "running_var": worst("running_var")}


def main():
    for case in CASES:
        depth, width, size, classes, batch, last_norm, seed, rate = case
        name = f"d{depth}w{width}s{size}c{classes}b{batch}"
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        right = trained(case, torch.float64)
        fp32 = {**differences(right, trained(case, torch.float32)), "margin": margin(case)}
        head = {"made_by": f"tests/models/resnet50/golden.py, PyTorch {torch.__version__}, fp64", "depth": depth, "width": width,
                "image_size": size, "classes": classes, "batch": batch, "seed": seed, "last_norm": last_norm,
                "learning_rate": rate, "momentum": resnet.MOMENTUM, "weight_decay": resnet.WEIGHT_DECAY, "label_smoothing": SMOOTHING}
        costs = {"fp32": fp32}
        for key, dtype in MIXED.items() if width < 64 else ():
            costs[key] = differences(right, trained(case, torch.float32, dtype))
        (HERE / f"{name}.json").write_text(json.dumps({**head, **right, **costs}, indent=1) + "\n")
        print(name, "losses", *(f"{loss:.6f}" for loss in right["losses"]))
        for precision, cost in costs.items():
            print(f"  {precision}:", *(f"{key} {value:.1e}" for key, value in cost.items()))


if __name__ == "__main__":
    main()
