"""The time of PyTorch's work on its device, and a peer's statements about PyTorch, the libraries that it opened and the
GPU."""
import pathlib
import re
import time

HOLD_S = 0.005  # at first; longer where the host submits more slowly
LONGEST_HOLD_S = 2
SPIN = 20_000_000  # cycles
OPENED = re.compile(r"/lib(cudnn|cublas|cudart|cusolver)[^/]*\.so")


class Untimed(Exception):
    """No sample of the work is the time of the device alone."""


class Clock:
    """A GPU is kept busy (torch.cuda._sleep) until all work of a sample is submitted, so that the two marks around it and the work
    follow each other without a gap: as in Assay's samples, nothing that the host does is in the time."""

    def __init__(self, torch, device):
        self.torch, self.on_gpu, self.hold_s = torch, device == "cuda", HOLD_S
        if self.on_gpu:
            self.cycles_per_s = 0
            for _ in range(2):  # the first one also wakes the GPU up
                self.cycles_per_s = SPIN / self.held(lambda: torch.cuda._sleep(SPIN), 1)[0]

    def held(self, run, runs):
        """Seconds of all runs by the device, those that the host took to submit them, and whether the device waited for that."""
        cuda = self.torch.cuda
        first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        cuda._sleep(int(self.hold_s * self.cycles_per_s))
        first.record()
        start = time.perf_counter()
        for _ in range(runs):
            run()
        last.record()
        submitted = time.perf_counter() - start
        waited = not first.query()
        last.synchronize()
        return first.elapsed_time(last) / 1000, submitted, waited

    def seconds(self, run, runs=1, waits=False):
        """The time of one of `runs` runs, one after the other. `waits`: a run itself waits for its device, so that its
        time contains that of the host from there on."""
        if not self.on_gpu:
            start = time.perf_counter()
            for _ in range(runs):
                run()
            return (time.perf_counter() - start) / runs
        while True:
            seconds, submitted, waited = self.held(run, runs)
            if waited or waits:
                return seconds / runs
            if self.hold_s >= LONGEST_HOLD_S:
                raise Untimed(f"PyTorch's work waits for the GPU by itself: it was not submitted in the {self.hold_s:.1f} s that the GPU was held")
            self.hold_s = min(2 * max(self.hold_s, submitted), LONGEST_HOLD_S)


def about(torch, device):
    """The statement of a peer about itself. `folders`: of the libraries of CUDA that it has opened, so that Assay can
    be measured with the same ones."""
    told = {"peer": "PyTorch " + torch.__version__}
    if device == "cuda":
        version = torch.backends.cudnn.version()
        opened = [line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if OPENED.search(line)]
        told.update(cudnn=f"{version // 10000}.{version % 10000 // 100}.{version % 100}", gpu=torch.cuda.get_device_name(),
                    folders=sorted({str(pathlib.Path(file).parent) for file in opened}))
    return told


def prepare(torch, precision):
    """A GPU gets the settings of the comparison: cuDNN's fastest algorithms, and tf32 where it is asked for alone
    (PyTorch's convolutions in fp32 take it otherwise)."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
