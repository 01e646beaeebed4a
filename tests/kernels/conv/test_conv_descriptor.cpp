#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "conv_helpers.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_conv_descriptor {

std::string error_of(const std::string& descriptor) {
  try {
    const ConvShape shape = parse_conv(descriptor);
    return "no error, " + to_descriptor(shape);
  } catch (const InputError& error) {
    return error.what();
  }
}

void expect_error(const std::string& descriptor, const std::string& field, const std::string& why) {
  const std::string text = error_of(descriptor);
  EXPECT_NE(text.find("conv problem '" + descriptor + "': "), std::string::npos) << text;
  EXPECT_NE(text.find(field), std::string::npos) << descriptor << " -> " << text;
  EXPECT_NE(text.find(why), std::string::npos) << descriptor << " -> " << text;
}

TEST(ConvDescriptor, CoralProblem) {
  const ConvShape s = parse_conv("mb16ic64ih112oc128oh112kh3ph1");
  ConvShape want;
  want.mb = 16, want.ic = 64, want.oc = 128;
  want.ih = want.iw = want.oh = want.ow = 112;
  want.kh = want.kw = 3;
  want.ph = want.pw = want.ph_r = want.pw_r = 1;
  EXPECT_EQ(s, want);
  EXPECT_EQ(to_descriptor(s), "mb16ic64ih112oc128oh112kh3ph1");
}

TEST(ConvDescriptor, DerivesAsBenchdnn) {
  // Output from input: floor((i + 2p - reach) / s) + 1, padding 0 if not given; batch 2.
  ConvShape s = parse_conv("ic3ih224oc64kh7sh2ph3");
  EXPECT_EQ(s.mb, 2);
  EXPECT_EQ(s.oh, 112);
  EXPECT_EQ(s.iw, 224);
  EXPECT_EQ(s.sw, 2);
  EXPECT_EQ(s.ph, 3);
  EXPECT_EQ(s.ph_r, 2);  // (112-1)*2 - 224 + 7 - 3
  // Padding from output, rounded down: an odd total is larger on the right.
  s = parse_conv("ic8ih56oc8oh28kh3sh2");
  EXPECT_EQ(s.ph, 0);
  EXPECT_EQ(s.ph_r, 1);
  // benchdnn's own canonical form, names, underscores; strides are not inherited by a width that is
  // given.
  s = parse_conv("g1mb2_ic16ih10iw20_oc32oh5ow20_kh3kw3_sh2_ph1pw1_nsome:name-1");
  EXPECT_EQ(s.sw, 1);
  EXPECT_EQ(parse_conv("ic16ih10oc16oh10kh3ph1n\"resnet:conv1\"*4"),
            parse_conv("ic16ih10oc16kh3ph1"));
  // 1-D is 2-D with a height of one; depth alone is a cube.
  s = parse_conv("ic4iw30oc8kw5pw2");
  EXPECT_EQ(s.ih, 1);
  EXPECT_EQ(s.oh, 1);
  EXPECT_EQ(s.ow, 30);
  s = parse_conv("ic4id8oc8kd3pd1sd2");
  EXPECT_EQ(s.iw, 8);
  EXPECT_EQ(s.oh, 4);
  EXPECT_EQ(s.sw, 2);
  // Dilation 1 means a step of 2.
  s = parse_conv("ic1ih7oc1kh3dh1");
  EXPECT_EQ(s.oh, 3);
  // DeepBench's 1x1 with padding 3 is real: most of its outputs read padding alone.
  s = parse_conv("mb8ic2048ih7oc512kh1sh2ph3");
  EXPECT_EQ(s.oh, 7);
  EXPECT_EQ(s.ph_r, 3);
}

TEST(ConvDescriptor, EveryFaultNamesItsField) {
  expect_error("", "empty", "");
  expect_error("ic64ih14oc64kh3xh4", "'xh'", "unknown field");
  expect_error("ic64ih14oc64kg3", "'kg'", "Did you mean");
  expect_error("icc64ih14oc64kh3", "'icc'", "Did you mean 'ic'");
  expect_error("ic64ih14ic64oc64kh3", "ic is given twice", "");
  expect_error("ic0ih14oc64kh3", "ic is 0", "the least is 1");
  expect_error("mb0ic1ih14oc64kh3", "mb is 0", "");
  expect_error("ic1ih14oc64kh3sh0", "sh is 0", "");
  expect_error("ic-3ih14oc64kh3", "ic is negative", "");
  expect_error("ic3ih14oc64kh3ph-1", "ph is negative", "");
  expect_error("ic99999999999999999999ih14oc64kh3", "ic does not fit 64 bits", "");
  expect_error("icih14oc64kh3", "'icih'", "unknown field");
  expect_error("ih14oc64kh3ic", "ic has no number", "");
  expect_error("ic3.5ih14oc64kh3", "'.'", "unexpected");
  expect_error("ic3 ih14oc64kh3", "' '", "unexpected");
  expect_error("IC3ih14oc64kh3", "'I'", "unexpected");
  expect_error("ih14oc64kh3", "ic is missing", "");
  expect_error("ic3ih14kh3", "oc is missing", "");
  expect_error("ic3oc14", "ih is missing", "");
  expect_error("ic3ih5oc14", "kh is missing", "");
  expect_error("ic3oc14kh3", "ih is missing", "");
  expect_error("ic3ih5oc14kh3kw3", "iw is missing", "");
  expect_error("ic3ih5oc14kh3sh2sw1", "sw is 1", "follows h");
  expect_error("ic3id5ih5oc14kd3kh3", "iw is missing", "3-D");
  expect_error("g3ic4ih14oc6kh3", "g: 3 groups do not divide ic = 4", "");
  expect_error("g2ic4ih14oc7kh3", "g: 2 groups do not divide oc = 7", "");
  expect_error("ic3ih2oc4kh5", "kh: the kernel's reach 5 is larger than the padded input 2", "");
  expect_error("ic3ih2oc4kh3sh2", "kh: the kernel's reach 3",
               "");  // benchdnn divides -1 by 2, and finds one output
  expect_error("ic3ih6oc4kh3dh4ph1", "kh: the kernel's reach 11", "");
  expect_error("ic3ih14oc4oh3kh3ph1", "oh: 3 is impossible", "at least");
  expect_error("ic3ih14oc4oh200kh3ph1", "oh: 200 is impossible", "gives 14");
  expect_error("ic3ih14oc4oh200kh3", "oh: 200 outputs are impossible", "");
  expect_error("ic4000000000ih4000000000oc1kh1", "src in bytes", "64 bits");
  expect_error("mb5000000ic1000000ih1oc1000000kh1", "number of operations", "64 bits");
  expect_error("ic1ih9223372036854775807oc1kh1", "ih", "64 bits");
  expect_error("ic1ih5oc1kh3dh9223372036854775807", "dh", "64 bits");
  expect_error("ic1ih5oc1kh9223372036854775807dh1", "kh", "64 bits");
}

TEST(ConvDescriptor, RoundTripOfRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const ConvShape shape = conv_test::random_shape(random);
    const std::string text = to_descriptor(shape);
    ASSERT_EQ(parse_conv(text), shape) << text;
    ASSERT_EQ(to_descriptor(parse_conv(text)), text);
    // This follows from benchdnn's definition of the right-hand padding.
    ASSERT_EQ((shape.oh - 1) * shape.sh + (shape.kh - 1) * (shape.dh + 1) + 1,
              shape.ih + shape.ph + shape.ph_r)
        << text;
    ASSERT_GT(shape.ph_r, -shape.sh) << text;
  }
}

TEST(ConvDescriptor, RandomTextNeverDoesAnythingElse) {
  // Every text is a shape that round-trips, or an InputError.
  std::mt19937 random(2);
  const std::vector<std::string> pieces{"g",
                                        "mb",
                                        "ic",
                                        "ih",
                                        "iw",
                                        "oc",
                                        "oh",
                                        "ow",
                                        "kh",
                                        "kw",
                                        "sh",
                                        "ph",
                                        "dh",
                                        "id",
                                        "kd",
                                        "od",
                                        "_",
                                        "n",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "7",
                                        "16",
                                        "-",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "x"};
  int shapes = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string text = i % 2 == 0 ? "ic4oc8ih9kh3" : "";
    for (std::uint32_t n = random() % 10; n > 0; --n) text += pieces[random() % pieces.size()];
    try {
      const ConvShape shape = parse_conv(text);
      ASSERT_EQ(parse_conv(to_descriptor(shape)), shape) << text;
      ++shapes;
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(shapes, 100);
}

TEST(ConvProblem, CountsOfTheCoralProblem) {
  const ConvProblem p(parse_conv("mb16ic64ih112oc128oh112kh3ph1"), ConvDirection::forward,
                      Precision::fp32);
  EXPECT_EQ(p.flops(), 2.0 * 16 * 128 * 112 * 112 * 64 * 9);
  EXPECT_EQ(p.bytes(), 4.0 * (16 * 64 * 112 * 112 + 128 * 64 * 9 + 16 * 128 * 112 * 112));
  EXPECT_EQ(p.json().at("oh"), 112);
  EXPECT_EQ(p.canonical(), "mb16ic64ih112oc128oh112kh3ph1");
  const ConvProblem q(p.shape(), ConvDirection::bwd_weights, Precision::bf16);
  EXPECT_EQ(q.flops(), p.flops());
  EXPECT_EQ(q.bytes() * 2, p.bytes());
}

TEST(ConvProblem, TensorsOfEachDirection) {
  const ConvShape s = parse_conv("g2mb3ic4ih5iw6oc8oh5ow6kh3kw3");
  const auto forward = ConvProblem(s, ConvDirection::forward, Precision::int8).tensors();
  EXPECT_EQ(forward[0].name, "src");
  EXPECT_EQ(forward[0].dims, (std::vector<std::int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(forward[0].type, DataType::u8);
  EXPECT_EQ(forward[1].dims, (std::vector<std::int64_t>{2, 4, 2, 3, 3}));
  EXPECT_EQ(forward[1].type, DataType::s8);
  EXPECT_EQ(forward[2].type, DataType::s32);
  EXPECT_EQ(forward[2].role, Role::output);
  EXPECT_EQ(forward[2].bytes, 4u * 3 * 8 * 5 * 6);
  const auto weights = ConvProblem(s, ConvDirection::bwd_weights, Precision::fp16).tensors();
  EXPECT_EQ(weights[1].name, "diff_dst");
  EXPECT_EQ(weights[2].name, "diff_weights");
  EXPECT_EQ(weights[2].type, DataType::fp16);
  EXPECT_EQ(ConvProblem(parse_conv("ic1id4oc1kd2"), ConvDirection::forward, Precision::fp32)
                .tensors()[1]
                .dims.size(),
            6u);
}

TEST(ConvProblem, RefusesAShapeThatIsNone) {
  ConvShape s = parse_conv("ic4ih8oc4kh3");
  s.ph_r = 5;
  EXPECT_THROW(ConvProblem(s, ConvDirection::forward, Precision::fp32), InputError);
  EXPECT_THROW(ConvProblem(ConvShape{}, ConvDirection::forward, Precision::fp32), InputError);
}

}  // namespace test_conv_descriptor
}  // namespace assay
