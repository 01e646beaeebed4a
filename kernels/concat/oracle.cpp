// The reference of a concatenation: every element is a copy of one element of an input.

#include <algorithm>

#include "core/base/place.hpp"
#include "kernels/concat/problem.hpp"

namespace assay {
namespace {

class ConcatOracle final : public WholeOracle {
 public:
  explicit ConcatOracle(const ConcatProblem& problem)
      : problem_(problem), plane_(problem.shape().ih * problem.shape().iw) {}

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    std::vector<double> values;
    for (std::size_t i = 0; i < indices.size();) {
      const Origin origin = origin_of(output, indices[i]);
      std::size_t count = 1;
      while (i + count < indices.size() && indices[i + count] == indices[i + count - 1] + 1)
        ++count;
      count = std::min(count, place(origin.followed));
      values.resize(count);
      inputs.find(origin.input)->second.fill(origin.element, values);
      for (const double value : values) expected[i++] = {value, 0, 0};
    }
  }

 private:
  /// The place of an element in its source, and the number of elements, itself included, that
  /// follow each other there as they do in the output.
  struct Origin {
    std::string input;
    std::int64_t element, followed;
  };

  Origin origin_of(const TensorSpec& output, std::int64_t index) const {
    const std::int64_t image = output.dims[1] * plane_, n = index / image, rest = index % image;
    const std::vector<std::int64_t>& channels = problem_.shape().channels;
    std::int64_t before = 0;  // elements of an image, in the tensors before
    for (std::size_t k = 0; k < channels.size(); ++k) {
      const std::int64_t here = channels[k] * plane_;
      if (output.name == "diff_src" + std::to_string(k))
        return {"diff_dst", n * problem_.channels() * plane_ + before + rest, here - rest};
      if (output.name == "dst" && rest - before < here)
        return {"src" + std::to_string(k), n * here + rest - before, here - (rest - before)};
      before += here;
    }
    throw std::logic_error("concat oracle: no such output");
  }

  ConcatProblem problem_;
  std::int64_t plane_;
};

}  // namespace

std::unique_ptr<Oracle> concat_oracle(const ConcatProblem& problem) {
  return std::make_unique<ConcatOracle>(problem);
}

}  // namespace assay
