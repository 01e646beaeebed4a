"""PyTorch with a GPU as scripts/peers/pytorch_kernels sees them, without numbers: a tensor knows nothing but its size, 1, and that of a difference is
FAKE_TORCH_ERROR. Each call is a piece of work of 1 ms on a GPU that is held (unless FAKE_TORCH_HOLDS=0) until all is submitted."""
import contextlib
import os
import types

__version__ = "2.0 (fake)"
WORK_S, CYCLES_PER_S = 1e-3, 1e9
channels_last, float64, float32, float16, bfloat16 = range(5)
now = 0.0  # of the device


def work(*_, seconds=WORK_S, **__):
    global now
    now += seconds
    return Tensor()


class Tensor:
    dtype, shape = float64, (4, 4)

    def __init__(self, size=1.0):
        self.size = size

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self if name == "T" else lambda *_, **__: Tensor(self.size)

    def __sub__(self, other):
        return Tensor(float(os.environ.get("FAKE_TORCH_ERROR", 0)))

    def __truediv__(self, other):
        return Tensor(self.size / other.size if isinstance(other, Tensor) else self.size)

    def __matmul__(self, other):
        return work()

    def __mul__(self, other):
        return Tensor(self.size)

    def __getitem__(self, index):
        return Tensor()

    def __eq__(self, other):
        return Tensor()

    def copy_(self, other):
        return work()

    def __float__(self):
        return self.size

    __add__ = __rmul__ = __mul__


class Event:
    def __init__(self, enable_timing):
        self.at = None

    def record(self):
        self.at = now

    def query(self):
        return os.environ.get("FAKE_TORCH_HOLDS") == "0"

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return 1000 * (other.at - self.at)


def sleep(cycles):
    work(seconds=cycles / CYCLES_PER_S)


cuda = types.SimpleNamespace(Event=Event, _sleep=sleep, is_available=lambda: os.environ.get("FAKE_TORCH_GPU") != "0",
                             get_device_name=lambda: "fake GPU of the tests")
backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()),
    cudnn=types.SimpleNamespace(version=lambda: int(os.environ.get("FAKE_TORCH_CUDNN", 91900)), flags=lambda **_: contextlib.nullcontext()))
nn = types.SimpleNamespace(functional=types.SimpleNamespace(conv2d=work))
ops = types.SimpleNamespace(aten=types.SimpleNamespace(convolution_backward=lambda *_: (work(), Tensor())))
linalg = types.SimpleNamespace(eigh=lambda _: (work(), Tensor()))
inference_mode = contextlib.nullcontext


def manual_seed(_):
    pass


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return work
