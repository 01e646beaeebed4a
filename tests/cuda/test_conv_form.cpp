// The description of convolutions to cuDNN, by the real library, which needs no GPU for this.
#include <gtest/gtest.h>

#include <random>

#include "core/api/layout.hpp"
#include "kernels/cuda/conv_form.hpp"
#include "tests/kernels/conv/conv_helpers.hpp"

namespace assay {
namespace test_conv_form {

using namespace cuda;

ConvProblem problem_of(const std::string& text, ConvDirection direction = ConvDirection::forward,
                       Precision precision = Precision::fp32) {
  return ConvProblem(parse_conv(text), direction, precision);
}

ConvForm form_of(const ConvProblem& problem, const std::string& layout) {
  Result<ConvForm> made = conv_form(problem, layout);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) {
    ADD_FAILURE() << refusal->reason;
    return {};
  }
  return std::get<ConvForm>(made);
}

std::string refusal_of(const ConvProblem& problem, const std::string& layout = "any") {
  const Result<ConvForm> made = conv_form(problem, layout);
  const auto* refusal = std::get_if<Unsupported>(&made);
  return refusal == nullptr ? "" : refusal->reason;
}

/// Place of an element by a TensorSpec's layout: row-major where it has none.
std::int64_t place_by_layout(const TensorSpec& spec, const std::vector<std::int64_t>& at) {
  const auto* layout = spec.layout.get();
  std::int64_t place = 0;
  for (std::size_t d = 0; d < at.size(); ++d)
    place = layout == nullptr ? place * spec.dims[d] + at[d]
                              : place + at[d] / layout->splits[d].block * layout->splits[d].outer +
                                    at[d] % layout->splits[d].block * layout->splits[d].inner;
  return place;
}

/// The content of a tensor descriptor by cuDNN itself: type, extents, strides.
struct Described {
  cudnnDataType_t type;
  std::vector<std::int64_t> dims, strides;
};
Described described(const TensorDescriptor& descriptor) {
  int dims[8], strides[8], count = 0;
  Described found{};
  EXPECT_EQ(cudnnGetTensorNdDescriptor(descriptor.get(), 8, &found.type, &count, dims, strides),
            CUDNN_STATUS_SUCCESS);
  found.dims.assign(dims, dims + count);
  found.strides.assign(strides, strides + count);
  return found;
}

/// The extents of y that cuDNN itself derives from x, w and the convolution.
std::vector<std::int64_t> output_extents(const ConvDescriptors& descriptors, std::size_t dims) {
  std::vector<int> extents(dims);
  EXPECT_EQ(cudnnGetConvolutionNdForwardOutputDim(descriptors.convolution.get(),
                                                  descriptors.x.get(), descriptors.w.get(),
                                                  static_cast<int>(dims), extents.data()),
            CUDNN_STATUS_SUCCESS);
  return {extents.begin(), extents.end()};
}

TEST(ConvForm, CudnnDerivesTheSameOutputFromRandomShapes) {
  std::mt19937 random(3);
  int tried = 0, refused = 0;
  while (tried < 200) {
    const ConvShape shape = conv_test::random_shape(random);
    for (const ConvDirection direction : conv_test::directions) {
      const ConvProblem problem(shape, direction, Precision::fp32);
      const Result<ConvForm> made = conv_form(problem, tried % 2 == 0 ? "nchw" : "nhwc");
      // Both sides alike is all that cuDNN can pad; a right-hand padding that no window reads is no
      // difference.
      if (std::holds_alternative<Unsupported>(made)) {
        ++refused;
        continue;
      }
      const ConvForm& form = std::get<ConvForm>(made);
      const TensorSpec& y = form.specs[conv_parts(direction).y];
      EXPECT_EQ(output_extents(ConvDescriptors(problem, form), y.dims.size()), y.dims)
          << to_descriptor(shape);
      ++tried;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(ConvForm, LayoutsAreWhatCudnnTakesThemFor) {
  // Unequal extents in every dimension, so that no two strides can be mistaken.
  for (const char* text : {"mb2ic6ih5iw7oc3kh2kw3", "mb2ic6id4ih5iw7oc3kd2kh2kw3"})
    for (const char* layout : {"nchw", "nhwc"})
      for (const ConvDirection direction : conv_test::directions) {
        const ConvProblem problem = problem_of(text, direction);
        const ConvForm form = form_of(problem, layout);
        EXPECT_EQ(form.layout, layout);
        const ConvDescriptors descriptors(problem, form);
        const ConvParts parts = conv_parts(direction);
        for (const auto& [descriptor, part] :
             {std::pair{&descriptors.x, parts.x}, {&descriptors.y, parts.y}}) {
          const TensorSpec& spec = form.specs[part];
          const Described got = described(*descriptor);
          ASSERT_EQ(got.dims, spec.dims);
          std::vector<std::int64_t> at(spec.dims.size(), 0);
          for (std::size_t d = 0; d < at.size(); ++d) {
            at[d] = spec.dims[d] - 1;
            std::int64_t place = 0;
            for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * got.strides[i];
            EXPECT_EQ(place_by_layout(spec, at), place)
                << text << ' ' << layout << ' ' << spec.name;
          }
        }
      }
}

TEST(ConvForm, EveryElementHasAPlaceOfItsOwn) {
  for (const auto& [text, precision, layout] :
       {std::tuple{"g2mb2ic6ih5iw7oc4kh2kw3", Precision::fp16, "nhwc"},
        {"mb2ic8ih3iw2oc4kh2kw2", Precision::int8, "nchw"},
        {"mb2ic8ih3iw2oc4kh2kw2", Precision::int8, "nhwc"}}) {
    const ConvForm form = form_of(problem_of(text, ConvDirection::forward, precision), layout);
    for (const TensorSpec& spec : form.specs) {
      std::vector<bool> taken(static_cast<std::size_t>(spec.elements()));
      std::vector<std::int64_t> at(spec.dims.size());
      for (std::int64_t i = 0; i < spec.elements(); ++i) {
        std::int64_t rest = i;
        for (std::size_t d = at.size(); d-- > 0; rest /= spec.dims[d]) at[d] = rest % spec.dims[d];
        const auto place = static_cast<std::size_t>(place_by_layout(spec, at));
        ASSERT_LT(place, taken.size());
        EXPECT_FALSE(taken[place]) << spec.name << " element " << i;
        taken[place] = true;
      }
      EXPECT_EQ(spec.bytes, taken.size() * size_of(spec.type));
    }
  }
}

TEST(ConvForm, ChannelsLastAndVectorsOfChannelsLieAsNvidiaDocumentsThem) {
  // NHWC and NC/4HW4, element by element of a [2, 8, 3, 2] tensor (cuDNN Developer Guide, "Tensor
  // layouts").
  const auto at = [](const TensorSpec& spec, std::int64_t n, std::int64_t c, std::int64_t h,
                     std::int64_t w) {
    return place_by_layout(spec, {n, c, h, w});
  };
  const ConvForm last =
      form_of(problem_of("mb2ic8ih3iw2oc4kh2kw2", ConvDirection::forward, Precision::bf16), "any");
  EXPECT_EQ(last.layout, "nhwc");
  const ConvForm fours =
      form_of(problem_of("mb2ic8ih3iw2oc4kh2kw2", ConvDirection::forward, Precision::int8), "nchw");
  EXPECT_EQ(fours.layout, "nchw_vect_c4");
  for (std::int64_t n : {0, 1})
    for (std::int64_t c = 0; c < 8; ++c)
      for (std::int64_t h = 0; h < 3; ++h)
        for (std::int64_t w : {0, 1}) {
          EXPECT_EQ(at(last.specs[0], n, c, h, w), ((n * 3 + h) * 2 + w) * 8 + c);
          EXPECT_EQ(at(fours.specs[0], n, c, h, w),
                    (((n * 2 + c / 4) * 3 + h) * 2 + w) * 4 + c % 4);
        }
  EXPECT_EQ(fours.specs[2].layout, nullptr);  // sums come as plain fp32
  EXPECT_EQ(fours.specs[2].type, DataType::fp32);
  EXPECT_EQ(fours.specs[0].type, DataType::s8);
  // A filter of [g, k/g, c/g, r, s] is KRSC.
  EXPECT_EQ(place_by_layout(last.specs[1], {0, 3, 5, 1, 0}), ((3 * 2 + 1) * 2 + 0) * 8 + 5);
}

TEST(ConvForm, FiltersAndConvolutionsReadBackAsMeant) {
  const ConvProblem problem = problem_of("g2mb2ic6ih9iw9oc4oh4ow4kh3kw2sh2sw2dh0dw1ph0pw0",
                                         ConvDirection::bwd_weights, Precision::fp16);
  const ConvForm form = form_of(problem, "nhwc");
  const ConvDescriptors descriptors(problem, form);
  int dims[8], count = 0;
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
  ASSERT_EQ(cudnnGetFilterNdDescriptor(descriptors.w.get(), 8, &type, &format, &count, dims),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<int>(dims, dims + count), (std::vector<int>{4, 3, 3, 2}));
  EXPECT_EQ(type, CUDNN_DATA_HALF);
  EXPECT_EQ(format, CUDNN_TENSOR_NHWC);
  int pad[3], stride[3], dilation[3], groups = 0;
  cudnnConvolutionMode_t mode;
  cudnnMathType_t math;
  ASSERT_EQ(cudnnGetConvolutionNdDescriptor(descriptors.convolution.get(), 3, &count, pad, stride,
                                            dilation, &mode, &type),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(mode, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(type, CUDNN_DATA_FLOAT);  // fp16 is summed in fp32
  EXPECT_EQ((std::vector<int>{stride[0], stride[1], dilation[0], dilation[1]}),
            (std::vector<int>{2, 2, 1, 2}));
  ASSERT_EQ(cudnnGetConvolutionGroupCount(descriptors.convolution.get(), &groups),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(groups, 2);
  ASSERT_EQ(cudnnGetConvolutionMathType(descriptors.convolution.get(), &math),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(math, CUDNN_TENSOR_OP_MATH);
}

TEST(ConvForm, EachPrecisionAsksForItsArithmetic) {
  const auto math = [](Precision precision) {
    const ConvForm form =
        form_of(problem_of("mb1ic8ih4oc8kh1", ConvDirection::forward, precision), "any");
    return std::tuple{form.arithmetic.math, form.arithmetic.accumulate};
  };
  // Every mode but FMA_MATH allows tf32 for fp32 tensors.
  EXPECT_EQ(math(Precision::fp32), (std::tuple{CUDNN_FMA_MATH, std::string("fp32")}));
  EXPECT_EQ(math(Precision::tf32), (std::tuple{CUDNN_TENSOR_OP_MATH, std::string("fp32_rz")}));
  EXPECT_EQ(math(Precision::fp16), (std::tuple{CUDNN_TENSOR_OP_MATH, std::string("fp32_rz")}));
  EXPECT_EQ(math(Precision::bf16), (std::tuple{CUDNN_TENSOR_OP_MATH, std::string("fp32_rz")}));
  EXPECT_EQ(math(Precision::int8), (std::tuple{CUDNN_TENSOR_OP_MATH, std::string("s32")}));
  EXPECT_EQ(math(Precision::fp64), (std::tuple{CUDNN_DEFAULT_MATH, std::string("fp64")}));
}

TEST(ConvForm, RefusalsSayWhichConditionFails) {
  EXPECT_NE(refusal_of(problem_of("mb1ic4ih7oc4oh8kh3ph1")).find("with ph1 it gives oh7, not oh8"),
            std::string::npos);
  EXPECT_EQ(refusal_of(problem_of("mb1ic4ih8oc4oh4kh3sh2ph1")),
            "");  // the last row is read by none
  EXPECT_NE(refusal_of(problem_of("mb1ic4ih4oc4kh1"), "chwn").find("no layout chwn"),
            std::string::npos);
  EXPECT_NE(refusal_of(problem_of("mb1ic4ih4oc4kh1", ConvDirection::bwd_data, Precision::int8))
                .find("only direction forward"),
            std::string::npos);
  EXPECT_NE(
      refusal_of(problem_of("mb1ic6ih4oc4kh1", ConvDirection::forward, Precision::int8), "nchw")
          .find("vectors of 4 channels alone (g 1, ic 6)"),
      std::string::npos);
  EXPECT_NE(refusal_of(problem_of("mb4096ic1024ih1024oc1kh1")).find("2147483647 elements"),
            std::string::npos);
}

}  // namespace test_conv_form
}  // namespace assay
