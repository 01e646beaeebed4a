"""Networks of assay-train in PyTorch, with their initial values and the synthetic batch of rank 0, by the same descriptors.

Both are functions of a seed, as in resnet.py. scripts/peers/pytorch_network times these networks; tests/models/train/golden.py
computes golden values with them.
"""
import math
import re

import climate
import resnet
import torch
from torch import nn
from torch.nn import functional


def fan_in(inputs, _):
    return 1 / math.sqrt(inputs), 1 / math.sqrt(inputs)


def glorot(inputs, outputs):
    return math.sqrt(6 / (inputs + outputs)), 0


class Dense(nn.Module):
    """Layers fc1, fc2, … and out, with `function` after all of them but the last, which has `last`. `bounds`: of the initial
    weights and biases."""

    def __init__(self, sizes, function, last, bounds, seed):
        super().__init__()
        self.inputs, self.classes, self.seed, self.function, self.last = sizes[0], sizes[-1], seed, function, last
        names = [*(f"fc{i}" for i in range(1, len(sizes) - 1)), "out"]
        for name, inputs, outputs in zip(names, sizes, sizes[1:]):
            layer = nn.Linear(inputs, outputs)
            with torch.no_grad():
                for parameter, values, bound in zip((layer.weight, layer.bias), ("weight", "bias"), bounds(inputs, outputs)):
                    drawn = torch.from_numpy(resnet.values(seed, f"{name}.{values}", tuple(parameter.shape))).double()
                    parameter.copy_((drawn * bound).float())  # initial values are data in fp32
            self.add_module(name, layer)

    def forward(self, x):
        layers = list(self.children())
        for layer in layers[:-1]:
            x = self.function(layer(x))
        return self.last(layers[-1](x))

    def batch(self, count):
        samples = torch.from_numpy(resnet.values(self.seed, "images", (count, self.inputs)))
        return samples, torch.tensor([(7 * n + 3) % self.classes for n in range(count)])

    def loss(self, logits, labels):
        return functional.cross_entropy(logits, labels)


class Autoencoder(Dense):
    """Its samples are its targets."""

    def batch(self, count):
        samples, _ = super().batch(count)
        return samples, samples

    def loss(self, outputs, samples):
        return functional.mse_loss(outputs, samples.to(outputs.dtype))


def fields_of(text, **standard):
    return {**standard, **{name: int(value) for name, value in re.findall("([a-z])([0-9]+)", text)}}


def network(descriptor, seed):
    """Values are in fp32. ValueError for a network that is not here."""
    name, _, text = descriptor.partition(":")
    if name == "mlp":
        of = fields_of(text, i=1024, w=512, l=2, c=10, p=0)
        if of["p"]:
            raise ValueError(f"{descriptor} has dropout, whose masks PyTorch does not have")
        return Dense((of["i"], *(of["l"] * [of["w"]]), of["c"]), torch.relu, lambda x: x, fan_in, seed)
    if name == "candle-p1b2":
        of = fields_of(text, i=28204, w=1024, c=10)
        sizes = (of["i"], of["w"], of["w"] // 2, of["w"] // 4, of["c"])
        # Keras's cross-entropy of sigmoids divides them by their sum: softmax cross-entropy of their logarithms.
        return Dense(sizes, torch.sigmoid, functional.logsigmoid, glorot, seed)
    if name == "candle-p1b1":
        of = fields_of(text, i=60483, w=2000, n=600)
        return Autoencoder((of["i"], of["w"], of["n"], of["w"], of["i"]), torch.relu, torch.sigmoid, glorot, seed)
    if name in climate.STANDARD:
        return climate.network(name, text, seed)
    raise ValueError(f"{descriptor} is not in PyTorch here")


def optimizer(model, rule, rate):
    """It is Assay's --optimizer, rmsprop with --alpha 0.9; weight decay on weights alone."""
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": resnet.WEIGHT_DECAY},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0}]
    made = {"sgd": lambda: torch.optim.SGD(groups, lr=rate, momentum=resnet.MOMENTUM), "adam": lambda: torch.optim.Adam(groups, lr=rate),
            "adamw": lambda: torch.optim.AdamW(groups, lr=rate), "rmsprop": lambda: torch.optim.RMSprop(groups, lr=rate, alpha=0.9)}
    return made[rule]()
