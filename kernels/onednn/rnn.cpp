// oneDNN's recurrent primitives.

#include "kernels/rnn/problem.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "kernels/onednn/backend.hpp"
#include "kernels/onednn/device.hpp"
#include "kernels/onednn/implementation.hpp"

namespace assay::onednn {
namespace {

using dnnl::memory;

/// Names of tensors, and oneDNN's numbers for arguments.
struct Argument {
  const char* name;
  int id;
};
constexpr std::array arguments_of_forward{Argument{"src_layer", DNNL_ARG_SRC_LAYER},
                                          Argument{"src_iter", DNNL_ARG_SRC_ITER},
                                          Argument{"src_iter_c", DNNL_ARG_SRC_ITER_C},
                                          Argument{"weights_layer", DNNL_ARG_WEIGHTS_LAYER},
                                          Argument{"weights_iter", DNNL_ARG_WEIGHTS_ITER},
                                          Argument{"bias", DNNL_ARG_BIAS},
                                          Argument{"dst_layer", DNNL_ARG_DST_LAYER},
                                          Argument{"dst_iter", DNNL_ARG_DST_ITER},
                                          Argument{"dst_iter_c", DNNL_ARG_DST_ITER_C}};

/// A map from the number of an argument to that of its gradient.
constexpr int to_diff = DNNL_ARG_DIFF_SRC_0 - DNNL_ARG_SRC_0;
/// An argument that the timed primitive does not take.
constexpr int not_in_call = -1;

int find_id(const std::string& name) {
  const bool diff = name.starts_with("diff_");
  for (const Argument& argument : arguments_of_forward)
    if (name.substr(diff ? 5 : 0) == argument.name)
      return diff ? argument.id + to_diff : argument.id;
  throw std::logic_error("rnn: no argument " + name);
}

/// The descriptions in a request for a primitive, by oneDNN's number.
class Wishes {
 public:
  explicit Wishes(const RnnProblem& problem) {
    // States of the forward pass are requested in every direction, because a backward pass reads
    // them.
    const RnnProblem forward(problem.shape(), problem.input(), RnnDirection::forward_training,
                             problem.precision());
    for (const RnnProblem& part : {forward, problem})
      for (const TensorSpec& spec : part.tensors()) {
        const memory::dims dims(spec.dims.begin(), spec.dims.end());
        // Weights are reordered once, before the timed runs, to the layout that the library
        // prefers.
        descs_[find_id(spec.name)] =
            spec.name.starts_with("weights")
                ? memory::desc(dims, to_data_type(spec.type), memory::format_tag::any)
                : make_desc(spec);
      }
  }
  const_dnnl_memory_desc_t operator()(int id) const {
    const auto entry = descs_.find(id);
    return entry == descs_.end() ? nullptr : entry->second.get();
  }

 private:
  std::map<int, memory::desc> descs_;
};

void check(dnnl_status_t status, const char* what) { dnnl::error::wrap_c_api(status, what); }

dnnl::primitive_desc forward_desc(const RnnProblem& problem, const dnnl::engine& engine,
                                  const dnnl::primitive_attr& attributes) {
  const Wishes wish(problem);
  const RnnShape& s = problem.shape();
  const auto kind = problem.direction() == RnnDirection::forward_inference ? dnnl_forward_inference
                                                                           : dnnl_forward_training;
  const auto walk = s.directions == 2 ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;
  std::array<const_dnnl_memory_desc_t, 9> d;
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = wish(arguments_of_forward[i].id);
  dnnl_primitive_desc_t description = nullptr;
  switch (s.cell) {
    case RnnCell::vanilla_relu:
    case RnnCell::vanilla_tanh:
      check(dnnl_vanilla_rnn_forward_primitive_desc_create(
                &description, engine.get(), kind,
                s.cell == RnnCell::vanilla_relu ? dnnl_eltwise_relu : dnnl_eltwise_tanh, walk, d[0],
                d[1], d[3], d[4], d[5], d[6], d[7], dnnl_rnn_flags_undef, 0, 0, attributes.get()),
            "could not create a primitive descriptor for vanilla_rnn");
      break;
    case RnnCell::lstm:
      check(dnnl_lstm_forward_primitive_desc_create(
                &description, engine.get(), kind, walk, d[0], d[1], d[2], d[3], d[4], nullptr,
                nullptr, d[5], d[6], d[7], d[8], dnnl_rnn_flags_undef, attributes.get()),
            "could not create a primitive descriptor for lstm");
      break;
    case RnnCell::gru:
      check(dnnl_gru_forward_primitive_desc_create(&description, engine.get(), kind, walk, d[0],
                                                   d[1], d[3], d[4], d[5], d[6], d[7],
                                                   dnnl_rnn_flags_undef, attributes.get()),
            "could not create a primitive descriptor for gru");
      break;
    case RnnCell::gru_lbr:
      check(dnnl_lbr_gru_forward_primitive_desc_create(&description, engine.get(), kind, walk, d[0],
                                                       d[1], d[3], d[4], d[5], d[6], d[7],
                                                       dnnl_rnn_flags_undef, attributes.get()),
            "could not create a primitive descriptor for lbr_gru");
      break;
  }
  return dnnl::primitive_desc(description);
}

dnnl::primitive_desc backward_desc(const RnnProblem& problem, const dnnl::engine& engine,
                                   const dnnl::primitive_desc& forward,
                                   const dnnl::primitive_attr& attributes) {
  const Wishes wish(problem);
  const RnnShape& s = problem.shape();
  const auto kind = dnnl_backward;
  const auto walk = s.directions == 2 ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;
  // Otherwise oneDNN would add the gradients of weights to the previous contents of their memory.
  const unsigned flags = dnnl_rnn_flags_diff_weights_overwrite;
  std::array<const_dnnl_memory_desc_t, 9> d, g;
  for (std::size_t i = 0; i < d.size(); ++i) {
    d[i] = wish(arguments_of_forward[i].id);
    g[i] = wish(arguments_of_forward[i].id + to_diff);
  }
  dnnl_primitive_desc_t description = nullptr;
  switch (s.cell) {
    case RnnCell::vanilla_relu:
    case RnnCell::vanilla_tanh:
      check(dnnl_vanilla_rnn_backward_primitive_desc_create(
                &description, engine.get(), kind,
                s.cell == RnnCell::vanilla_relu ? dnnl_eltwise_relu : dnnl_eltwise_tanh, walk, d[0],
                d[1], d[3], d[4], d[5], d[6], d[7], g[0], g[1], g[3], g[4], g[5], g[6], g[7], flags,
                0, 0, forward.get(), attributes.get()),
            "could not create a primitive descriptor for vanilla_rnn");
      break;
    case RnnCell::lstm:
      check(dnnl_lstm_backward_primitive_desc_create(
                &description, engine.get(), kind, walk, d[0], d[1], d[2], d[3], d[4], nullptr,
                nullptr, d[5], d[6], d[7], d[8], g[0], g[1], g[2], g[3], g[4], nullptr, nullptr,
                g[5], g[6], g[7], g[8], flags, forward.get(), attributes.get()),
            "could not create a primitive descriptor for lstm");
      break;
    case RnnCell::gru:
      check(dnnl_gru_backward_primitive_desc_create(
                &description, engine.get(), kind, walk, d[0], d[1], d[3], d[4], d[5], d[6], d[7],
                g[0], g[1], g[3], g[4], g[5], g[6], g[7], flags, forward.get(), attributes.get()),
            "could not create a primitive descriptor for gru");
      break;
    case RnnCell::gru_lbr:
      check(dnnl_lbr_gru_backward_primitive_desc_create(
                &description, engine.get(), kind, walk, d[0], d[1], d[3], d[4], d[5], d[6], d[7],
                g[0], g[1], g[3], g[4], g[5], g[6], g[7], flags, forward.get(), attributes.get()),
            "could not create a primitive descriptor for lbr_gru");
      break;
  }
  return dnnl::primitive_desc(description);
}

memory::desc argument_desc(const dnnl::primitive_desc& description, int id) {
  return description.query_md(dnnl::query::exec_arg_md, id);
}

class RecurrentNetwork final : public BoundOperation {
 public:
  RecurrentNetwork(const RnnProblem& problem, OneDnnDevice& device, int threads)
      : BoundOperation(problem.tensors()), problem_(problem), device_(device), threads_(threads) {
    dnnl::primitive_attr attributes;
    // ONEDNN_DEFAULT_FPMATH_MODE could make oneDNN compute fp32 in bf16 or tf32; strict mode
    // prevents that.
    attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    forward_ = forward_desc(problem, device.engine(), attributes);
    const bool backward = !is_forward(problem.direction());
    timed_ = backward ? backward_desc(problem, device.engine(), forward_, attributes) : forward_;
    primitive_ = dnnl::primitive(timed_);
    for (TensorSpec& spec : arguments_) {
      const bool weights = spec.name.starts_with("weights");
      // A backward pass takes plain weights; the prologue reorders them for both passes.
      ids_.push_back(weights && backward ? not_in_call : find_id(spec.name));
      if (weights && !backward) lay_out(spec, argument_desc(timed_, ids_.back()));
    }
    if (backward) {
      for (const char* name : {"weights_layer", "weights_iter"}) {
        save(fmt::format("laid_out_{}", name), find_id(name), argument_desc(timed_, find_id(name)));
      }
      for (const char* name : {"dst_layer", "dst_iter", "dst_iter_c"})
        if (problem.has_cell_state() || !std::string_view(name).ends_with("_c"))
          save(name, find_id(name), argument_desc(timed_, find_id(name)));
    }
    if (const memory::desc workspace = timed_.query_md(dnnl::query::workspace_md);
        workspace.get_size() > 0)
      save("workspace", DNNL_ARG_WORKSPACE, workspace);
    if (const memory::desc scratchpad = timed_.query_md(dnnl::query::scratchpad_md);
        scratchpad.get_size() > 0) {
      arguments_.push_back(bytes_tensor("scratchpad", Role::workspace, 0));
      lay_out(arguments_.back(), scratchpad);
      execution_.workspace_bytes = arguments_.back().bytes;
      ids_.push_back(DNNL_ARG_SCRATCHPAD);
    }
    describe();
  }

  void bind(std::span<Tensor* const> tensors) override {
    tensors_.clear();
    call_.clear();
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      tensors_.push_back(static_cast<OneDnnTensor*>(tensors[i]));
      if (ids_[i] != not_in_call) call_.push_back({ids_[i], tensors_[i]->get().get()});
    }
    set_threads(threads_);
  }

  /// Reorders the weights for the backward pass, and runs the forward pass with weights reordered
  /// for it.
  void prologue(Stream&) override {
    if (is_forward(problem_.direction())) return;
    dnnl::stream stream(device_.engine());
    std::unordered_map<int, memory> all;
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (ids_[i] != not_in_call) all[ids_[i]] = tensors_[i]->get();
    for (const std::string name : {"weights_layer", "weights_iter"}) {
      memory &plain = find_memory(name), &backward = find_memory("laid_out_" + name);
      memory forward(argument_desc(forward_, find_id(name)), device_.engine());
      dnnl::reorder(plain, backward).execute(stream, plain, backward);
      dnnl::reorder(plain, forward).execute(stream, plain, forward);
      all[find_id(name)] = forward;
    }
    all[DNNL_ARG_SCRATCHPAD] =
        memory(forward_.query_md(dnnl::query::scratchpad_md), device_.engine());
    dnnl::primitive(forward_).execute(stream, all);
    stream.wait();
  }

  void run(Stream& stream) override { execute(primitive_, stream, call_, "recurrent network"); }

 private:
  void save(const std::string& name, int id, const memory::desc& desc) {
    arguments_.push_back(bytes_tensor(name, Role::saved, 0));
    lay_out(arguments_.back(), desc);
    ids_.push_back(id);
  }
  memory& find_memory(const std::string& name) const {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].name == name) return tensors_[i]->get();
    throw std::logic_error("rnn: no argument " + name);
  }
  void describe() {
    execution_.algorithm = "standard";
    execution_.implementation = timed_.impl_info_str();
    execution_.storage = std::string(name(problem_.precision()));
    for (const char* name : {"weights_layer", "weights_iter"})
      execution_.layout += fmt::format("{}{}={}", execution_.layout.empty() ? "" : " ", name,
                                       layout_name(argument_desc(timed_, find_id(name))));
    // fpmath_mode::strict forbids oneDNN to lower the precision of fp32, and accumulation is fp32
    // (Developer Guide, "Primitive Attributes"). The instruction set in "brgemm:avx512_core_amx" is
    // that of its matrix products; "ref" calls a matrix product whose instruction set the name does
    // not tell.
    execution_.compute =
        problem_.precision() == Precision::fp32 || execution_.implementation.starts_with("brgemm:")
            ? compute_type(problem_.precision(), execution_.implementation, false)
            : "";
    execution_.accumulate = std::string(name(DataType::fp32));
    // In the forward pass in bf16, the states and r*h are bf16. Gates and cell states are fp32
    // until they are saved in bf16 for a backward pass.
    if (is_forward(problem_.direction()) && problem_.precision() == Precision::bf16 &&
        execution_.implementation.starts_with("brgemm:"))
      execution_.operand_roundings = 1;
    execution_.evidence = "library";
  }

  RnnProblem problem_;
  OneDnnDevice& device_;
  int threads_;
  dnnl::primitive_desc forward_, timed_;
  dnnl::primitive primitive_;
  std::vector<int> ids_;  ///< of the arguments in the call
  std::vector<dnnl_exec_arg_t> call_;
  std::vector<OneDnnTensor*> tensors_;
};

/// Why oneDNN does not support such a recurrent network; nothing if it may.
std::optional<std::string> why_not(const RnnProblem& problem, const std::string& algorithm) {
  const RnnShape& s = problem.shape();
  if (algorithm != "auto" && algorithm != "standard")
    return fmt::format(
        "onednn has no {} recurrent network (it computes step by step). Use standard.", algorithm);
  if (problem.precision() == Precision::tf32)
    return "onednn has no tf32 recurrent network (its processors multiply in fp32). Use fp32.";
  if (problem.skips())
    return "onednn has no skipped input (its primitives always multiply the input by weights). Use "
           "--input linear.";
  if (problem.direction() == RnnDirection::bwd_data ||
      problem.direction() == RnnDirection::bwd_weights)
    return fmt::format(
        "onednn has no {} (one primitive computes the gradients of data and weights together). Use "
        "--direction bwd.",
        name(problem.direction()));
  if (s.directions == 2 && s.layers > 1)
    return "onednn joins the directions of a stack after its last layer alone (this problem joins "
           "them after every layer). Use one layer.";
  return std::nullopt;
}

Result<std::unique_ptr<Operation>> make_rnn(Device& device, const Problem& problem,
                                            const Options& options, Communicator&) {
  const RnnProblem& rnn = problem_cast<RnnProblem>(problem);
  auto& place = static_cast<OneDnnDevice&>(device);
  if (auto why = why_not(rnn, options.get("algorithm", "auto"))) return Unsupported{*why};
  const std::string request =
      fmt::format("{}, {}, {}", rnn.canonical(), name(rnn.direction()), name(rnn.precision()));
  const int threads = set_threads(place.engine(), options);
  try {
    return std::make_unique<RecurrentNetwork>(rnn, place, threads);
  } catch (const dnnl::error& error) {
    return refusal(error, fmt::format("{} (", request), request);
  }
}

const Maker add_rnn{makers(), problem_kind<RnnProblem>(), &make_rnn, {"standard"}};

}  // namespace
}  // namespace assay::onednn
