"""Convolutions as this project describes them."""

ALGORITHMS = {
    "IMPLICIT_GEMM": "implicit_gemm", "IMPLICIT_PRECOMP_GEMM": "implicit_precomp_gemm", "WINOGRAD": "winograd",
    "LICIT_PRECOMP_GEMM": "implicit_precomp_gemm",  # a damaged label of the sheet: no other algorithm ends so
    "WINOGRAD_NONFUSED": "winograd_nonfused", "FFT": "fft", "FFT_TILING": "fft_tiling", "DIRECT CONV": "direct",
    "ConvolutionFwdAlgoWinograd": "winograd", "ConvolutionFwdAlgoDirect": "direct", "ConvolutionFwdAlgoGEMM": "gemm",
    "ConvolutionFwdAlgoFFT": "fft",
}


def output(extent, taps, stride, pad):
    return (extent + 2 * pad - taps) // stride + 1  # rounded down, as every library does


def conv_descriptor(c):
    """The canonical descriptor (kernels/conv/descriptor.cpp, to_descriptor): one axis if height and width are equal."""
    axes = "h" if all(c[a + "h"] == c[a + "w"] for a in "iksp") else "hw"
    out = {a: output(c["i" + a], c["k" + a], c["s" + a], c["p" + a]) for a in axes}
    text = f"mb{c['mb']}" if "mb" in c else ""
    text += f"ic{c['ic']}" + "".join(f"i{a}{c['i' + a]}" for a in axes)
    text += f"oc{c['oc']}" + "".join(f"o{a}{out[a]}" for a in axes) + "".join(f"k{a}{c['k' + a]}" for a in axes)
    text += "".join(f"s{a}{c['s' + a]}" for a in axes if c["s" + a] != 1)
    return text + "".join(f"p{a}{c['p' + a]}" for a in axes if c["p" + a] != 0)


def conv_flops(c):
    """Nominal: taps in the padding count too, whatever the algorithm does; the same for every direction."""
    out = output(c["ih"], c["kh"], c["sh"], c["ph"]) * output(c["iw"], c["kw"], c["sw"], c["pw"])
    return 2 * c["mb"] * c["oc"] * out * c["ic"] * c["kh"] * c["kw"]
