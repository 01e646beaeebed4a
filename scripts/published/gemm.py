"""Matrix multiplications as this project describes them."""
import re


def gemm_descriptor(g):
    """The canonical descriptor (kernels/gemm/descriptor.cpp, to_descriptor). DeepBench adds to C: alpha and beta are 1."""
    return f"m{g['m']}n{g['n']}k{g['k']}beta1" + ("ta" if g["trans_a"] else "") + ("tb" if g["trans_b"] else "")


def gemm_flops(g):
    return 2 * g["m"] * g["n"] * g["k"]


def differs(label, g):
    """Extents in which a sheet's label (m512_n24000_k1530_TN) is not the problem's; None for other transposes."""
    found = re.fullmatch(r"m(\d+)_n(\d+)_k(\d+)_([NT])([NT])", label)
    if (found[4] == "T", found[5] == "T") != (g["trans_a"], g["trans_b"]):
        return None
    return [name for name, value in zip("mnk", found.groups()) if int(value) != g[name]]
