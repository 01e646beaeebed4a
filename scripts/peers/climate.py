"""The segmentation networks of assay-train in PyTorch (docs/networks.md), with their initial values and the synthetic batch of
rank 0, by the same descriptors: Tiramisu, DeepLabv3+ as the exaflop run had it, and DeepCAM's with batch normalization."""
import math
import re

import resnet
import torch
from torch import nn
from torch.nn import functional

CLASSES = 3
# Frequencies of background, cyclones and rivers in DeepCAM's data: models/network/pixel_classes.hpp.
FREQUENCIES = (0.986267818390377, 0.0004578708870701058, 0.01327431072255291)
STANDARD = {"tiramisu": {"r": 2}, "deeplab": {"r": 2}, "deepcam": {"r": 8}}


class Planes(nn.Module):
    """Convolutions without bias begin within sqrt(6 / fan-in) of `start`, those before a normalization within sqrt(6 / fan-out),
    transposed ones within sqrt(6 stride^2 / (inputs taps^2)); biases at 0."""

    def __init__(self, of, factor, seed):
        super().__init__()
        self.height, self.width, self.channels, self.divisor, self.seed = of["h"], of["w"], of["c"], of["d"], seed
        self.class_weights = [factor * frequency ** (-1 / of["r"]) for frequency in FREQUENCIES]

    def add(self, name, layer, bound=None):
        """Names have dots, as in Assay."""
        if bound is not None:
            drawn = torch.from_numpy(resnet.values(self.seed, f"{name}.weight", tuple(layer.weight.shape))).double()
            with torch.no_grad():
                layer.weight.copy_((drawn * bound).float())
                if layer.bias is not None:
                    layer.bias.zero_()
        *path, last = name.split(".")
        at = self
        for part in path:
            if part not in at._modules:
                at.add_module(part, nn.Module())
            at = at._modules[part]
        at.add_module(last, layer)

    def at(self, name):
        return self.get_submodule(name)

    def conv(self, name, inputs, channels, taps, stride=1, dilation=1, bias=False, start=1.0, fan_out=False):
        layer = nn.Conv2d(inputs, channels, taps, stride, dilation * (taps // 2), dilation, bias=bias)
        self.add(name, layer, start * math.sqrt(6 / ((channels if fan_out else inputs) * taps * taps)))

    def deconv(self, name, inputs, channels, start=1.0):
        layer = nn.ConvTranspose2d(inputs, channels, 3, 2, 1, 1, bias=False)
        self.add(name, layer, start * math.sqrt(6 * 4 / (inputs * 9)))

    def batch(self, count):
        samples = torch.from_numpy(resnet.values(self.seed, "images", (count, self.channels, self.height, self.width)))
        labels = (7 * torch.arange(count)[:, None] + 3 + torch.arange(self.height * self.width)) % CLASSES
        return samples, labels.view(count, self.height, self.width)

    def loss(self, logits, labels):
        """The loss of a sample is the sum over its pixels; the result is the mean over the samples."""
        weights = torch.tensor(self.class_weights, dtype=logits.dtype, device=logits.device)
        return functional.cross_entropy(logits, labels, weights, reduction="sum") / len(logits)


class Tiramisu(Planes):
    BLOCKS, LAST = (2, 2, 2, 4), 5

    def __init__(self, of, seed):
        super().__init__(of, 0.1, seed)
        growth, channels, skips = 32 // self.divisor, 48 // self.divisor, []
        self.conv("first", self.channels, channels, 5, bias=True)
        for i, layers in enumerate(self.BLOCKS, 1):
            self.block(f"down{i}", channels, layers, growth)
            channels += layers * growth
            skips.append(channels)
            self.conv(f"down{i}.out", channels, channels, 1, 2, bias=True)
        self.block("bottom", channels, self.LAST, growth)
        new = self.LAST * growth
        for i, layers in reversed(list(enumerate(self.BLOCKS, 1))):
            self.deconv(f"up{i}.in", new, new)
            channels = new + skips.pop()
            self.block(f"up{i}", channels, layers, growth)
            new = layers * growth
        self.conv("logits", channels + new, CLASSES, 1, bias=True)

    def block(self, name, channels, layers, growth):
        for i in range(1, layers + 1):
            self.conv(f"{name}.layer{i}", channels, growth, 5, bias=True)
            channels += growth

    def layers(self, name, x, count):
        """The input, and the outputs of the layers, each of which reads all before it."""
        all_before = [x]
        for i in range(1, count + 1):
            joined = torch.cat(all_before, 1) if i > 1 else x
            all_before.append(torch.relu(self.at(f"{name}.layer{i}")(joined)))
        return all_before

    def forward(self, x):
        x, skips = torch.relu(self.first(x)), []
        for i, count in enumerate(self.BLOCKS, 1):
            skips.append(torch.cat(self.layers(f"down{i}", x, count), 1))
            x = torch.relu(self.at(f"down{i}.out")(skips[-1]))
        new = self.layers("bottom", x, self.LAST)[1:]
        for i, count in reversed(list(enumerate(self.BLOCKS, 1))):
            x = torch.cat([self.at(f"up{i}.in")(torch.cat(new, 1)), skips.pop()], 1)
            new = self.layers(f"up{i}", x, count)[1:]
        return self.logits(torch.cat([x, *new], 1))


class DeepLab(Planes):
    """`normalizes`: batch normalization before each ReLU. Without it, convolutions with a ReLU begin with half their weights,
    which multiplies its outputs by 0.5."""

    UNITS, DILATIONS, RATES = (3, 4, 6, 3), (1, 1, 2, 4), (12, 24, 36)

    def __init__(self, of, seed, normalizes):
        super().__init__(of, 1 / (of["h"] * of["w"]) if normalizes else 0.1, seed)
        self.normalizes = normalizes
        width, depth, inputs = 64 // self.divisor, 256 // self.divisor, 64 // self.divisor
        self.plain("conv1", self.channels, width, 7, 2)
        for b, (units, dilation) in enumerate(zip(self.UNITS, self.DILATIONS), 1):
            inner = width << (b - 1)
            for u in range(units):
                name = f"block{b}.{u}"
                self.function(f"{name}.pre", inputs)
                if u == 0:
                    self.plain(f"{name}.shortcut", inputs, 4 * inner, 1)
                self.active(f"{name}.conv1", inputs, inner, 1)
                self.active(f"{name}.conv2", inner, inner, 3, self.stride(b, u), dilation)
                self.plain(f"{name}.conv3", inner, 4 * inner, 1)
                inputs = 4 * inner
        self.function("post", inputs)
        self.active("aspp.conv0", inputs, depth, 1)
        for i, rate in enumerate(self.RATES, 1):
            self.active(f"aspp.conv{i}", inputs, depth, 3, 1, rate)
        self.conv("aspp.pooled", inputs, depth, 1, bias=True, start=1 if normalizes else 0.5)
        self.active("aspp.out", 5 * depth, depth, 1)
        self.up("up1", depth)
        low = 48 // self.divisor
        self.active("low", width, low, 1)
        self.active("quarter1", depth + low, depth, 3)
        self.active("quarter2", depth, depth, 3)
        self.up("up2", depth)
        self.up("up3", depth)
        self.active("input1", self.channels, width, 3)
        self.active("input2", width, 2 * width, 3)
        self.active("full1", depth + 2 * width, depth, 3)
        self.active("full2", depth, depth, 3)
        self.conv("logits", depth, CLASSES, 1, bias=True)

    def stride(self, block, unit):
        return 2 if block == 1 and unit == self.UNITS[0] - 1 else 1

    def plain(self, name, *shape):
        self.conv(name, *shape, fan_out=self.normalizes)

    def function(self, name, channels):
        if self.normalizes:
            self.add(name, nn.BatchNorm2d(channels))

    def active(self, name, inputs, channels, *shape):
        self.conv(name, inputs, channels, *shape, start=1 if self.normalizes else 0.5, fan_out=self.normalizes)
        self.function(f"{name}.norm", channels)

    def up(self, name, channels):
        self.deconv(name, channels, channels, 1 if self.normalizes else 0.5)
        self.function(f"{name}.norm", channels)

    def activate(self, name, x):
        return torch.relu(self.at(name)(x) if self.normalizes else x)

    def convolve(self, name, x):
        return self.activate(f"{name}.norm", self.at(name)(x))

    def unit(self, name, x, stride, first):
        y = self.activate(f"{name}.pre", x)
        low = self.convolve(f"{name}.conv1", y)
        shortcut = self.at(f"{name}.shortcut")(y) if first else x[:, :, ::stride, ::stride]
        return shortcut + self.at(f"{name}.conv3")(self.convolve(f"{name}.conv2", low)), low

    def forward(self, images):
        x = functional.max_pool2d(self.conv1(images), 3, 2, 1)
        for b, units in enumerate(self.UNITS, 1):
            for u in range(units):
                x, inner = self.unit(f"block{b}.{u}", x, self.stride(b, u), u == 0)
            if b == 1:
                low = inner
        x = self.activate("post", x)
        pooled = torch.relu(self.at("aspp.pooled")(x.mean((2, 3), keepdim=True))).expand(-1, -1, *x.shape[2:])
        x = torch.cat([*(self.convolve(f"aspp.conv{i}", x) for i in range(4)), pooled], 1)
        x = self.convolve("up1", self.convolve("aspp.out", x))
        x = torch.cat([x, self.convolve("low", low)], 1)
        x = self.convolve("quarter2", self.convolve("quarter1", x))
        x = self.convolve("up3", self.convolve("up2", x))
        x = torch.cat([x, self.convolve("input2", self.convolve("input1", images))], 1)
        return self.logits(self.convolve("full2", self.convolve("full1", x)))


def network(name, text, seed):
    of = {"h": 768, "w": 1152, "c": 16, "d": 1, **STANDARD[name], **{k: int(v) for k, v in re.findall("([a-z])([0-9]+)", text)}}
    return Tiramisu(of, seed) if name == "tiramisu" else DeepLab(of, seed, name == "deepcam")
