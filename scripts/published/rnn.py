"""Recurrent networks as this project describes them, and what DeepBench's columns are."""

CELLS = {"vanilla": "vanilla_relu", "lstm": "lstm", "gru": "gru_lbr"}  # CUDNN_RNN_RELU; cuDNN's GRU is linear before reset
GATES = {"vanilla": 1, "lstm": 4, "gru": 3}
# Forward times of every sheet, of inference too, are of the call that saves for a backward pass: the code ran
# cudnnRNNForwardTraining (miopenRNNForwardTraining) until 15 November 2019 (4bd07af, 96c1d2e), after the last sheet
# (30c5115, 7 October 2019). "Time Backward" of sheets with one such column is backward data alone.
DIRECTIONS = {"time_fwd": "forward_training", "time_bwd": "bwd_data", "time_bwd_data": "bwd_data", "time_bwd_weights": "bwd_weights"}


def rnn_descriptor(r):
    """The canonical descriptor (kernels/rnn/descriptor.cpp, to_descriptor): one layer, one direction, input as wide as hidden."""
    return f"{CELLS[r['cell']]}:{r['hidden']}-{r['batch']}-{r['steps']}"


def rnn_flops(r):
    """The FLOPs of a pass whose input is skipped: products with the recurrent weights alone."""
    return 2 * GATES[r["cell"]] * r["batch"] * r["steps"] * r["hidden"] ** 2


def rnn_differs(label, r):
    """True if a sheet's label (lstm_h512_b1_t25) is of another problem."""
    return label != f"{r['cell']}_h{r['hidden']}_b{r['batch']}_t{r['steps']}"


def rnn_algorithm(backend):
    """The code asks cuDNN 7 for CUDNN_RNN_ALGO_STANDARD; its calls of cuDNN 5 and 6 know no other."""
    return "standard" if backend == "cudnn" else None


def rnn_reason(backend, entry):
    text = "mean of the repeats, truncated to whole microseconds; the rate is of nominal operations over this time"
    if backend == "miopen":
        text += "; without biases (miopenRNNNoBias)"
    if "inference" in entry["benchmark"]:
        text += "; the sheet is of inference, but the code of that date ran the forward pass of training"
    return text + (f"; {entry['note']}" if "note" in entry else "")
