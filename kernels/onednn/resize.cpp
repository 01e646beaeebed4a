// oneDNN's resampling primitives, which support only coordinates of half pixels.

#include "kernels/resize/problem.hpp"

#include "kernels/onednn/in_layout.hpp"

namespace assay::onednn {
namespace {

class Resizing final : public OnePrimitive {
 public:
  Resizing(const ResizeProblem& problem, const std::string& layout, const dnnl::engine& engine,
           int threads)
      : OnePrimitive(problem.tensors(), problem.precision(), layout, threads, "resampling") {
    // (o + 1/2) in / out - 1/2 and 1 - w, in fp32 (src/common/resampling_utils.hpp).
    execution_.numbers[coordinate_roundings] = 3;
    const bool forward = problem.direction() == ResizeDirection::forward;
    const dnnl::memory::desc input = make_desc(arguments_[0]), output = make_desc(arguments_[1]);
    const dnnl::resampling_forward::primitive_desc description(
        engine, dnnl::prop_kind::forward_training, dnnl::algorithm::resampling_linear,
        forward ? input : output, forward ? output : input, attributes());
    call_.add(forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, input, engine);
    call_.add(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, output, engine);
    if (forward) {
      finish(description, dnnl::resampling_forward(description), engine);
    } else {
      const dnnl::resampling_backward::primitive_desc backward(
          engine, dnnl::algorithm::resampling_linear, output, input, description, attributes());
      finish(backward, dnnl::resampling_backward(backward), engine);
    }
  }
};

Result<std::unique_ptr<Operation>> make_resize(Device& device, const Problem& problem,
                                               const Options& options, Communicator&) {
  const ResizeProblem& resize = problem_cast<ResizeProblem>(problem);
  if (resize.coordinates() != ResizeCoordinates::half_pixel)
    return Unsupported{fmt::format("onednn has no {} coordinates (it has half_pixel).",
                                   name(resize.coordinates()))};
  return make_in_layout<ResizeProblem, Resizing>(device, problem, options, "resizing");
}

const Maker add_resize{makers(), problem_kind<ResizeProblem>(), &make_resize, {"direct"}};

}  // namespace
}  // namespace assay::onednn
