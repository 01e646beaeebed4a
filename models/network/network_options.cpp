#include "models/network/network_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "comm/algorithms/algorithm.hpp"
#include "comm/joined.hpp"
#include "kernels/update/problem.hpp"
#include "models/network/loss_scale.hpp"
#include "models/network/schedule.hpp"
#include "models/network/training_data.hpp"

namespace assay::network_options {
namespace {

/// Dimensions that only a training has.
constexpr const char* of_training[] = {"data",           "augment",
                                       "page_cache",     "validation",
                                       "label_base",     "max_bad_samples",
                                       "epochs",         "target",
                                       "warmup",         "schedule",
                                       "checkpoint",     "restart",
                                       "beta1",          "beta2",
                                       "alpha",          "epsilon",
                                       "optimizer",      "rate",
                                       "smoothing",      "loss_scale",
                                       "validate_every", "accumulate",
                                       "scaling",        "unreached",
                                       "trial",          "lag",
                                       "self_check",     "weight_gradients",
                                       "weight_decay",   "parallel"};
/// Options that do not affect the computation of a step: the set of images, the length of a
/// training.
constexpr const char* outside_step[] = {
    "augment", "control", "data",   "epochs", "label_base", "max_bad_samples", "page_cache",
    "restart", "steps",   "target", "trial",  "unreached",  "validate_every",  "validation"};

using dimension::of_system;

Dimension file(Dimension axis) {
  axis.traits.file = true;
  return axis;
}

/// A file that is written: it does not affect what is measured.
Dimension make_hidden_dimension(const char* name, const char* help, const char* standard) {
  Dimension axis = make_dimension(name, help, {}, {standard}, "", standard);
  axis.traits.in_id = false;
  return axis;
}

Dimension transport_dimension() {
  Dimension axis = of_system(
      make_dimension("allreduce_transport",
                     "library that adds gradients over the ranks; auto: the launcher's MPI. "
                     "nccl adds those of GPUs where they are; the others stage them",
                     {launched_transport, "mpi", "mpich", "gloo", "oneccl", gpu_transport},
                     {launched_transport}, "", launched_transport));
  axis.flags = {"allreduce_transport", "transport"};
  return axis;
}

Dimension backend_dimension() {
  Dimension axis = dimension::backend("norm", {measured});
  axis.values.insert(axis.values.begin(), measured);
  axis.help =
      "backend of the operations; auto: measure all backends before timing and use the fastest one "
      "for each operation. Another backend computes operations that a backend lacks; the row lists "
      "them";
  return axis;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : algorithms()) names.emplace_back(entry.name);
  return names;
}

std::vector<Dimension> of_computation() {
  return {
      make_dimension("direction",
                     "training: forward pass, backward pass and update; inference: forward pass",
                     {"training", inference}, {"training"}),
      dimension::precision({"fp64", "fp32", "tf32", "bf16", "fp16"}, {"fp32"}),
      make_dimension(
          "emulate",
          "store in bf16 or fp16 but compute in fp32, on any processor: shows how training "
          "converges, not how fast it would be",
          {"none", "bf16", "fp16"}, {"none"}, "", "none"),
      make_dimension(
          "weight_gradients",
          "gradients of filters with bf16 and fp16; 16bit: made in 16 bits from sums in fp32, and "
          "converted; wide: made in fp32; auto: 16bit on a GPU, whose libraries have no fast "
          "others, else wide",
          {}, {measured}, "", "wide"),
      backend_dimension()};
}

std::vector<Dimension> of_step() {
  return {make_dimension("batch", "images of one rank in a forward and backward pass", {}, {"16"},
                         "mb"),
          make_dimension(
              "accumulate",
              "batches of a step: their gradients are added before the allreduce and the update",
              {}, {"1"}, "", "1"),
          make_dimension(
              "lag",
              "steps between gradients and their update; 1: the next step applies them, so their "
              "allreduce may take until its end",
              {"0", "1"}, {"0"}, "", "0")};
}

std::vector<Dimension> of_data() {
  return {file(make_dimension("data",
                              "synthetic: one batch that stays in memory; learnable[:n60000v1000]: "
                              "generated images, n for training and v for validation; generated: "
                              "generated JPEG files; else TFRecord files or a folder of classes",
                              {}, {"synthetic"}, "", "synthetic")),
          make_dimension("augment",
                         "part of an image that training uses; crop+flip: 8 to 100 % of it, "
                         "mirrored or not; crop: never mirrored; shift: all but an eighth of "
                         "its sides; none: its centre",
                         augment_names.names(), {"crop+flip"}, "", "crop+flip"),
          make_dimension("page_cache",
                         "cached: files may be in the page cache; cold: they are evicted from "
                         "it before each timed step, and before training",
                         {"cached", "cold"}, {"cached"}, "", "cached"),
          file(make_dimension(
              "validation",
              "files that validate a training (--epochs) on files; none: those of --data, whose "
              "accuracy says nothing of other images",
              {}, {"none"}, "", "none")),
          make_dimension("label_base", "label of the first class in TFRecord files", {}, {"0"}, "",
                         "0"),
          make_dimension("max_bad_samples",
                         "largest number of bad samples that are skipped, of all ranks", {}, {"0"},
                         "", "0")};
}

std::vector<Dimension> of_length() {
  return {
      make_dimension(
          "steps", "number of timed steps; 0: as many as the timing options (--max-time, ...) need",
          {}, {"0"}, "", "0"),
      make_dimension("epochs",
                     "after the timed steps, train from the beginning for at most this many "
                     "epochs; 0: measure only throughput",
                     {}, {"0"}, "", "0"),
      make_dimension(
          "target",
          "quality that the validation of a training (--epochs) must reach, and at which it ends: "
          "the network's accuracy, or its correlation or intersection over union (the row says it)",
          {}, {"0.759"}, "", "0.759"),
      make_dimension("unreached",
                     "a training that does not reach --target: incorrect: its row has the "
                     "state target missed and no numbers; kept (for studies): its row is ok, "
                     "without time to accuracy",
                     {"incorrect", "kept"}, {"incorrect"}, "", "incorrect"),
      make_dimension("validate_every", "validate every N epochs, and after the last one", {}, {"1"},
                     "", "1")};
}

Dimension self_check_dimension() {
  Dimension axis = make_dimension(
      "self_check",
      "yes: before timing, train 5 steps of a small network with the same options, and "
      "compare its weights with those of a simple trainer in fp64 that shares no code",
      {"no", "yes"}, {"no"}, "", "no");
  axis.traits.in_id = false;
  return axis;
}

std::vector<Dimension> of_learning() {
  return {
      make_dimension("warmup", "epochs of linear warm-up of the learning rate", {}, {"0"}, "", "0"),
      make_dimension(
          "schedule",
          "decay of the learning rate: constant, cosine, step:0.1:30+60+80, poly:2[:END]", {},
          {"cosine"}, "", "cosine"),
      file(of_system(make_hidden_dimension(
          "checkpoint",
          "file to write after every epoch (--epochs), of one training; none: no file", "none"))),
      make_dimension("restart", "continue the training from --checkpoint", {"no", "yes"}, {"no"},
                     "", "no"),
      make_dimension("optimizer", "update rule", list_names<UpdateRule>(), {"sgd"}, "", "sgd"),
      make_dimension("beta1", "decay of the first moments of adam, adamw and lamb", {}, {"0.9"}, "",
                     "0.9"),
      make_dimension("beta2", "decay of their second moments", {}, {"0.999"}, "", "0.999"),
      make_dimension("alpha", "decay of the second moments of rmsprop", {}, {"0.99"}, "", "0.99"),
      make_dimension("epsilon", "added to the roots of second moments", {}, {"1e-08"}, "", "1e-08"),
      make_dimension("weight_decay",
                     "factor of the weights that is added to their gradients (adamw, lamb: to the "
                     "step); biases and normalizations do not decay",
                     {}, {"0.0001"}, "", "0.0001"),
      make_dimension("rate", "learning rate for 256 images in a step", {}, {"0.1"}, "", "0.1"),
      make_dimension(
          "scaling",
          "learning rate for other numbers of images in a step: linear: in proportion; none: the "
          "same",
          {"linear", "none"}, {"linear"}, "", "linear"),
      make_dimension("trial",
                     "repetition with other initial parameters and another order of the images", {},
                     {"0"}, "", "0"),
      make_dimension(
          "loss_scale",
          "factor of the loss, so that 16-bit gradients do not underflow: none, fixed:1024, "
          "dynamic[:65536[:2000]]; auto: dynamic for training in fp16, else none",
          {}, {measured}, "", "none"),
      make_dimension("smoothing", "label smoothing", {}, {"0"}, "", "0"),
      self_check_dimension()};
}

std::vector<Dimension> of_ranks() {
  return {
      transport_dimension(),
      of_system(make_dimension("allreduce",
                               "algorithm that adds the gradients; library: the transport's own",
                               algorithm_names(), {"library"}, "", "library")),
      of_system(make_dimension(
          "control",
          "agreement of ranks on the order in which they add gradients: none: all have one order; "
          "flat: rank 0 hears of each tensor from every rank; tree:R: each rank from at most R",
          {}, {"none"}, "", "none")),
      make_dimension(
          "parallel",
          "way in which ranks train together: sync: one update of all gradients; async: parts of "
          "the "
          "weights on all ranks, each gradient updates them as it comes; stale:S: also, at most "
          "S steps behind; server:K: parts on K ranks of their own; pipeline:P[:1f1b|:fill-drain]"
          ": P stages of layers; split:K: layers on K ranks each; these two with *sync: groups of "
          "P or "
          "K ranks, with samples of their own",
          {}, {"sync"}, "", "sync"),
      make_dimension("wire", "type in which gradients are sent; none: their own",
                     {"none", "fp16", "bf16"}, {"none"}, "", "none"),
      make_determined_dimension("ranks", "r"),
      make_determined_dimension("nodes", "n"),
      dimension::threads(),
      dimension::device()};
}

}  // namespace

std::vector<Dimension> dimensions(const std::vector<Dimension>& problem) {
  std::vector<Dimension> all;
  for (const auto& part :
       {of_computation(), problem, of_step(), of_data(), of_length(), of_learning(), of_ranks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<std::string> step_parameters(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> names;
  for (const Dimension& axis : dimensions)
    if (axis.traits.in_id && axis.field.empty() &&
        std::find(std::begin(outside_step), std::end(outside_step), axis.name) ==
            std::end(outside_step))
      names.push_back(axis.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> why_not_inference(const Settings& settings,
                                             const std::vector<Dimension>& dimensions) {
  for (const Dimension& dimension : dimensions) {
    std::string flag = dimension.name;
    if (std::count(std::begin(of_training), std::end(of_training), flag) == 0 ||
        settings.at(flag) == dimension.omit)
      continue;
    std::replace(flag.begin(), flag.end(), '_', '-');
    return fmt::format("--{} {} is for training (inference learns nothing). Leave it out.", flag,
                       settings.at(dimension.name));
  }
  return std::nullopt;
}

}  // namespace assay::network_options
