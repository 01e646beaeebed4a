"""The network of scripts/peers/pytorch_resnet50 with its optimizer and batches, and its steps: eager, frozen, compiled or a CUDA graph."""
import contextlib
import warnings

from torch_clock import Clock

# Bounds of the relative error of the loss and of a gradient's norm, of the error of its product over the norm, and of
# that of a logit over the RMS: five times what was seen at depths 18 and 50 and images of 32 to 224, in bf16 twice; a
# missing gradient gives 1. Gradients err much more than losses, for rounding moves inputs of rectifiers past 0
# (tests/models/resnet50/golden.py).
BOUNDS = {"fp32": {"loss": 1e-5, "norm": 5e-3, "product": 3e-2, "logits": 1e-4},
          "bf16": {"loss": 5e-3, "norm": 0.4, "product": 0.8, "logits": 0.1}}
BOUNDS["fp16"] = BOUNDS["tf32"] = BOUNDS["bf16"]  # not measured: their roundoff is an eighth of bf16's
# Names of the types in torch.
NARROW = {"bf16": "bfloat16", "fp16": "float16"}
# The rate is assay-resnet50's: for 256 images in a step, for other numbers in proportion.
RATE, LAST_NORM, SEED, WARMUP = 0.1, 0.1, 1, 2


class Wrong(Exception):
    pass


class NotCompiled(Exception):
    pass


def contiguous(args):
    """Frozen, in turns on 1 thread, batch 4: fp32 0.54 s so and 0.52 s with channels_last (2 threads, batch 32, busy: 0.5
    and 0.6 of its time in two runs); bf16 0.43 s and 0.25 s."""
    return args.frozen and args.precision == "fp32"


class Trainer:
    """Network, optimizer and batches of one rank on its device."""

    def __init__(self, torch, resnet, args, ranks, dtype=None):
        self.torch, self.resnet, self.args, self.ranks = torch, resnet, args, ranks
        self.device = torch.device("cuda", ranks.local) if args.device == "cuda" else torch.device("cpu")
        model = resnet.network(args.depth, args.width, args.classes, SEED, LAST_NORM).to(self.device, dtype)
        self.names = [name for name, _ in model.named_parameters()]
        self.format = torch.contiguous_format if contiguous(args) else torch.channels_last
        self.module = self.model = model.to(memory_format=self.format).train(args.mode == "train")
        self.dtype, self.scaler, self.graph = dtype, None, None
        self.clock = Clock(torch, args.device)
        if args.mode == "train":
            self.rate = RATE * args.batch * ranks.size / 256
            self.model, self.optimizer = ranks.wrap(model, resnet.optimizer(model, self.rate))
            if args.precision == "fp16" and dtype is None:
                self.scaler = torch.amp.GradScaler(self.device.type)

    def batch(self, count, rank):
        images, labels = self.resnet.batch_of(count, self.args.image_size, self.args.classes, SEED, rank)
        return images.to(self.device, self.dtype, memory_format=self.format), labels.to(self.device)

    def precision(self):
        if self.args.precision not in NARROW or self.dtype is not None:
            return contextlib.nullcontext()
        # A graph may hold no weight that an earlier step has converted.
        cached = not self.args.frozen and not self.args.cuda_graph
        return self.torch.autocast(self.device.type, getattr(self.torch, NARROW[self.args.precision]), cache_enabled=cached)

    def freeze(self, images):
        torch = self.torch
        with warnings.catch_warnings(), torch.no_grad(), self.precision():
            warnings.simplefilter("ignore")  # deprecated, and still the faster path on a processor
            self.model = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(self.model, images)))

    def compile(self, images, labels):
        """Later steps run what torch.compile makes for this batch; the first one is compared with eager PyTorch."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.model = self.torch.compile(self.model, dynamic=False)
                self.check_step("compiled", images, labels)
        except Wrong:
            raise
        except Exception as error:  # of the compiler, of Triton, of what they call: there are many
            raise NotCompiled(f"torch.compile: {(str(error).splitlines() or [type(error).__name__])[0]}") from error

    def forward(self, images, model=None):
        with self.torch.inference_mode(), self.precision():
            return (model or self.model)(images)

    def loss(self, images, labels, model=None):
        with self.precision():
            return self.torch.nn.functional.cross_entropy((model or self.model)(images), labels)

    def gradients(self, images, labels):
        """The gradients of one batch, times the loss scale, after which update() may follow; returns the loss."""
        self.optimizer.zero_grad()
        loss = self.loss(images, labels)
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        return loss.detach()

    def update(self):
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def captured_part(self, images, labels):
        """Runs the part of a step that does not wait for the device: its loss, or the sum of the logits."""
        if self.args.mode == "inference":
            return self.forward(images).sum()
        loss = self.gradients(images, labels)
        if self.scaler is None:
            self.update()
        return loss

    def submit(self, images, labels):
        """A step; the loss, or the sum of the logits, on the device."""
        if self.graph is None:
            value = self.captured_part(images, labels)
        else:
            self.graph.replay()
            value = self.captured
        if self.scaler is not None:
            self.update()
        return value

    def step(self, images, labels):
        """The loss, or the sum of the logits."""
        return float(self.submit(images, labels))

    def timed(self, images, labels):
        """Seconds and result of a step. GradScaler reads from the device whether a gradient has overflowed, and an eager step may have more
        kernels than a GPU takes while it is held: a step of training may contain the host's time, as Assay's does with a dynamic loss scale."""
        values = []
        seconds = self.clock.seconds(lambda: values.append(self.submit(images, labels)), waits=self.args.mode == "train")
        return seconds, float(values[-1])

    def capture(self, images, labels):
        """Later steps replay the one that is captured here, on these images. The steps before are made on another stream, as
        PyTorch asks for, and allocate what is not to be part of the graph."""
        cuda = self.torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for _ in range(3):
                self.step(images, labels)
        cuda.current_stream().wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self.captured = self.captured_part(images, labels)
        self.graph = graph
        self.check_step("as a CUDA graph", images, labels)

    def check_step(self, how, images, labels):
        """A step against what eager PyTorch computes from the same weights."""
        with self.torch.no_grad():
            if self.args.mode == "inference":
                logits = self.forward(images, self.module).double()
                right, size, bound = float(logits.sum()), float(logits.abs().sum()), BOUNDS[self.args.precision]["logits"]
            else:
                right = size = float(self.loss(images, labels, self.module))
                bound = BOUNDS[self.args.precision]["loss"]
        if self.args.mode == "train":
            bias = self.module.fc.bias.detach().clone()
            scale = self.scaler and self.scaler.get_scale()
        error = abs(self.step(images, labels) - right) / size
        if not error <= bound:
            raise Wrong(f"the step {how} errs by {error:.1e}, limit {bound:.0e}")
        if self.args.mode == "inference" or (self.scaler and self.scaler.get_scale() < scale):
            return  # there is no update, or it was skipped
        if self.torch.equal(bias, self.module.fc.bias.detach()):
            raise Wrong(f"the step {how} updates no weights")

    def unscale(self):
        """Divides the gradients by the loss scale. If they have overflowed, as the first ones may with GradScaler's first scale, it
        lowers the scale and returns False."""
        if self.scaler is None:
            return True
        self.scaler.unscale_(self.optimizer)
        if all(bool(p.grad.isfinite().all()) for p in self.module.parameters()):
            return True
        self.update()
        if self.scaler.get_scale() < 1:
            raise Wrong("the gradients are not finite with any loss scale")
        return False

    def shown(self, images, labels):
        """Numbers that the check compares."""
        if self.args.mode == "inference":
            return {"logits": self.forward(images).double().flatten().tolist()}
        found = {"loss": float(self.gradients(images, labels))}
        while not self.unscale():
            self.gradients(images, labels)
        if self.ranks.hvd:
            self.optimizer.synchronize()
        parameters = zip(self.names, self.module.parameters())
        return {**found, "gradients": {name: self.resnet.fingerprint(p.grad, SEED, name) for name, p in parameters}}

    def check_update(self):
        """The update of SGD's first step of two tensors, with and without weight decay, in fp64."""
        chosen = [(p, decay) for p, decay in ((self.module.conv1.weight, self.resnet.WEIGHT_DECAY), (self.module.fc.bias, 0))]
        right = [p.detach().double() - self.rate * (p.grad.double() + decay * p.detach().double()) for p, decay in chosen]
        with self.optimizer.skip_synchronize() if self.ranks.hvd else contextlib.nullcontext():
            self.update()
        for (p, _), value in zip(chosen, right):
            if not float((p.detach().double() - value).abs().max()) <= 1e-6 * float(value.abs().max()):
                raise Wrong("an updated weight differs from that of fp64")


def why_not_fp16(torch, resnet, device):
    """Not every PyTorch computes all layers in fp16 on processors; some say so, others compute in fp32."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = resnet.network(18, 4, 2, SEED).to(device, memory_format=torch.channels_last)
            images = torch.ones(2, 3, 32, 32, device=device).to(memory_format=torch.channels_last)
            with torch.autocast(device, torch.float16):
                logits = model(images)
            torch.amp.GradScaler(device).scale(logits.float().sum()).backward()
    except (AttributeError, RuntimeError) as error:
        return (str(error).splitlines() or ["unknown"])[0]
    return None if logits.dtype == torch.float16 else f"autocast computes in {logits.dtype}"
