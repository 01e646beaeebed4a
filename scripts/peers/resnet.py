"""ResNet v1.5 in PyTorch with torchvision's names, order and shapes, and the initial values and the batch of assay-resnet50.

Both are functions of a seed: assay::Values(Kind::mantissa, seed, stream, DataType::fp32) of core/api/random.cpp, here in numpy.
The stream of a weight is its torchvision name, that of the batch `images`. scripts/peers/pytorch_resnet50 times this network;
tests/models/resnet50/golden.py computes golden values with it.
"""
import numpy as np
import torch
from torch import nn

AT_ONCE = 1 << 16  # blocks of four values: bounds the temporary memory
MASK = np.uint64(0xffffffff)
BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
MOMENTUM, WEIGHT_DECAY = 0.9, 1e-4


def philox(counter, key):
    """Philox4x32-10 of four arrays of 32-bit words (uint64) and two 32-bit words: four arrays."""
    multiply, bump = (np.uint64(0xd2511f53), np.uint64(0xcd9e8d57)), (0x9e3779b9, 0xbb67ae85)
    shift = np.uint64(32)
    for step in range(10):
        k = [np.uint64((key[i] + step * bump[i]) & 0xffffffff) for i in (0, 1)]
        first, second = multiply[0] * counter[0], multiply[1] * counter[2]
        counter = [second >> shift ^ counter[1] ^ k[0], second & MASK, first >> shift ^ counter[3] ^ k[1], first & MASK]
    return counter


def key_of(seed, stream):
    name = 0xcbf29ce484222325
    for byte in stream.encode():
        name = (name ^ byte) * 0x100000001b3 % (1 << 64)
    words = [np.array([word], np.uint64) for word in (seed & 0xffffffff, seed >> 32, name & 0xffffffff, name >> 32)]
    return [int(word[0]) for word in philox(words, (0x61737361, 0x79))[:2]]


def values(seed, stream, shape, rank=0):
    """fp32 in (-1, 1), in row-major order."""
    count = int(np.prod(shape))
    key, out = key_of(seed, stream), np.empty(count, np.float32)
    for first in range(0, (count + 3) // 4, AT_ONCE):
        block = np.arange(first, min(first + AT_ONCE, (count + 3) // 4), dtype=np.uint64)
        counter = [block & MASK, block >> np.uint64(32), np.zeros_like(block), np.full_like(block, rank)]
        words = np.stack(philox(counter, key), 1).ravel()
        magnitude = 2.0**-10 + ((words & np.uint64(0x7fffffff)).astype(np.float64) + 0.5) * (1019 / 1024 * 2.0**-31)
        part = np.where(words >> np.uint64(31), -magnitude, magnitude).astype(np.float32)
        out[4 * first:4 * first + len(part)] = part[:count - 4 * first]
    return out.reshape(shape)


class Block(nn.Module):
    """torchvision's BasicBlock (depth 18) or Bottleneck (depth 50, stride in the 3x3)."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = width * (4 if bottleneck else 1)
        if bottleneck:
            self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        else:
            self.conv1, self.bn1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu, self.bottleneck = nn.ReLU(inplace=True), bottleneck
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.bottleneck:
            y = self.bn3(self.conv3(self.relu(y)))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, depth, width, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inputs, bottleneck = width, depth == 50
        for stage, blocks in enumerate(BLOCKS[depth]):
            own = width << stage
            layer = []
            for block in range(blocks):
                layer.append(Block(inputs, own, 2 if stage > 0 and block == 0 else 1, bottleneck))
                inputs = own * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def network(depth, width, classes, seed, last_norm=1.0):
    """The parameters are in fp32, with the initial values of `seed`. torch.nn's own give batch norm weights 1 and
    biases 0; `last_norm` is the weight of the last norm of every block. torchvision's zero_init_residual takes 0; 1
    makes each block amplify the rounding errors of the one before, so that at depth 50 the gradients of fp32 are not
    those of fp64 (a rectifier's input of almost 0 takes the other sign)."""
    made = ResNet(depth, width, classes)
    with torch.no_grad():
        for block in made.modules():
            if isinstance(block, Block):
                (block.bn3 if block.bottleneck else block.bn2).weight.fill_(last_norm)
        for name, parameter in made.named_parameters():
            shape = tuple(parameter.shape)
            if len(shape) == 4:  # uniform, by the fan-out
                scaled = values(seed, name, shape).astype(np.float64) * np.sqrt(6 / (shape[0] * shape[2] * shape[3]))
            elif name.startswith("fc."):
                scaled = values(seed, name, shape).astype(np.float64) / np.sqrt(float(made.fc.in_features))
            else:
                continue
            parameter.copy_(torch.from_numpy(scaled.astype(np.float32)))
    return made


def batch_of(batch, image_size, classes, seed, rank=0):
    """Images [n, c, h, w] in fp32, and labels."""
    images = torch.from_numpy(values(seed, "images", (batch, 3, image_size, image_size), rank))
    return images, torch.tensor([(7 * n + 3 + rank) % classes for n in range(batch)])


def optimizer(model, rate):
    """SGD with momentum; weight decay on the weights of convolutions and of fc alone."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    return torch.optim.SGD([{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0}],
                           lr=rate, momentum=MOMENTUM)


def fingerprint(tensor, seed, name):
    """2-norm, and the product with the values of the stream `NAME.gradient`, which shows elements that changed places."""
    flat = tensor.detach().double().contiguous().flatten()
    other = torch.from_numpy(values(seed, name + ".gradient", tuple(flat.shape))).to(flat.device)
    return float(flat.norm()), float(flat @ other.double())
