// Descriptors of matrix multiplications: what they mean, and what is refused by name.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "gemm_helpers.hpp"

namespace assay {
namespace test_gemm_descriptor {

TEST(GemmDescriptor, ReadsEveryField) {
  const GemmShape s = parse_gemm("m3n5k7b2lda9ldb8ldc4alpha-0.5beta2tatb");
  EXPECT_EQ(s.m, 3);
  EXPECT_EQ(s.n, 5);
  EXPECT_EQ(s.k, 7);
  EXPECT_EQ(s.batch, 2);
  EXPECT_EQ(s.lda, 9);
  EXPECT_EQ(s.ldb, 8);
  EXPECT_EQ(s.ldc, 4);
  EXPECT_EQ(s.alpha, -0.5);
  EXPECT_EQ(s.beta, 2);
  EXPECT_TRUE(s.ta);
  EXPECT_TRUE(s.tb);
}

TEST(GemmDescriptor, FieldsMayStandInAnyOrder) {
  EXPECT_EQ(parse_gemm("ta_k7_beta1_m3_tb_n5"), parse_gemm("m3n5k7beta1tatb"));
  // Fields that a list's entry gets after @ stand last.
  EXPECT_EQ(parse_gemm("m3n5k7tab4"), parse_gemm("m3n5k7b4ta"));
  EXPECT_EQ(parse_gemm("m3n5k7tabeta1"), parse_gemm("m3n5k7beta1ta"));
}

TEST(GemmDescriptor, LeavesOutWhatIsUsual) {
  EXPECT_EQ(to_descriptor(parse_gemm("m3n5k7b1lda3ldb7ldc3alpha1beta0")), "m3n5k7");
  EXPECT_EQ(to_descriptor(parse_gemm("m3n5k7talda7")), "m3n5k7ta");
  EXPECT_EQ(to_descriptor(parse_gemm("m3n5k7beta-0")), "m3n5k7");
  EXPECT_EQ(to_descriptor(parse_gemm("tbm3n5k7alpha0.1ldb6")), "m3n5k7ldb6alpha0.1tb");
}

TEST(GemmDescriptor, BenchdnnsFormIsTheSameProblem) {
  EXPECT_EQ(to_descriptor(parse_gemm("16x1760:1760x128")), "m16n128k1760");
  EXPECT_EQ(to_descriptor(parse_gemm("3x16x17:3x17x12")), "m16n12k17b3");
  for (const char* text : {"16x17:18x4", "3x16x17:2x17x4", "16:16", "2x3:3", "0x4:4x4", "4x4:4xb",
                           "1x2x3x4:1x2x4x5", ":", "4x4:"})
    EXPECT_THROW(parse_gemm(text), InputError) << text;
}

TEST(GemmDescriptor, RoundTripsRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const GemmShape shape = gemm_test::random_shape(random, false);
    EXPECT_EQ(parse_gemm(to_descriptor(shape)), shape) << to_descriptor(shape);
  }
}

TEST(GemmDescriptor, NamesTheFieldThatIsWrong) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_gemm(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "empty"},
           {"n5k7", "m is missing"},
           {"m3k7", "n is missing"},
           {"m3n5", "k is missing"},
           {"m3n5k7m4", "m is given twice"},
           {"m3n5k7tata", "ta is given twice"},
           {"m-3n5k7", "m is negative"},
           {"m3n5k7lda-3", "lda is negative"},
           {"m0n5k7", "m is 0"},
           {"m3n5k7b0", "b is 0"},
           {"mn5k7", "m has no number"},
           {"m3n5k7x2", "unexpected 'x'"},
           {"m99999999999999999999n5k7", "m does not fit 64 bits"},
           {"m4294967296n4294967296k2",
            "the number of operations does not fit 64 bits (reached at n = 4294967296)"},
           {"m3n5k7b4611686018427387904", "(reached at b = 4611686018427387904)"},
           {"m3n5k7lda0", "lda is 0"},
           {"m3n5k7lda4611686018427387904",
            "A in bytes does not fit 64 bits (reached at lda = 4611686018427387904)"},
           {"m3n5k7lda576460752303423488", "A in bytes does not fit 64 bits (reached at k = 7)"},
           {"m3n5k7ta_lda576460752303423488", "A in bytes does not fit 64 bits (reached at m = 3)"},
           {"m3n5k7ldb4611686018427387904",
            "B in bytes does not fit 64 bits (reached at ldb = 4611686018427387904)"},
           {"m3n5k7ldc4611686018427387904",
            "C in bytes does not fit 64 bits (reached at ldc = 4611686018427387904)"},
           {"m3n5k7lda2", "lda is 2, below the 3 rows of A"},
           {"m3n5k7lda3ta", "lda is 3, below the 7 rows of A"},
           {"m3n5k7ldb6", "ldb is 6, below the 7 rows of B"},
           {"m3n5k7ldb4tb", "ldb is 4, below the 5 rows of B"},
           {"m3n5k7ldc2", "ldc is 2, below the 3 rows of C"},
           {"m3n5k7alpha0", "alpha is 0"},
           {"m3n5k7alphanan", "alpha has no finite number"},
           {"m3n5k7betainf", "beta has no finite number"},
           {"m3n5k7beta", "beta has no finite number"},
           {"0x3:3x4", "m is '0'"},
           {"2x:3x4", "k is ''"},
           {"2x3:0x4", "k is '0'"},
           {"2x3:3x-4", "n is '-4'"},
           {"0x2x3:1x3x4", "b is '0'"}})
    EXPECT_NE(refusal(text).find(said), std::string::npos) << text << ": " << refusal(text);
}

TEST(GemmProblem, CountsOperationsAndBytes) {
  const GemmProblem plain(parse_gemm("m3n5k7b2"), Precision::fp32);
  EXPECT_EQ(plain.flops(), 2.0 * 3 * 5 * 7 * 2);
  EXPECT_EQ(plain.bytes(), 2.0 * 4 * (3 * 7 + 7 * 5 + 3 * 5));
  EXPECT_EQ(plain.tensors()[2].role, Role::output);
  // C is read, too; padding is not counted.
  const GemmProblem adds(parse_gemm("m3n5k7b2beta1lda9ldc8"), Precision::bf16_fp32);
  EXPECT_EQ(adds.bytes(), 2.0 * (2 * (3 * 7 + 7 * 5) + 2 * 4 * 3 * 5));
  EXPECT_EQ(adds.tensors()[2].role, Role::inout);
  EXPECT_EQ(adds.tensors()[2].type, DataType::fp32);
  EXPECT_EQ(adds.tensors()[0].dims, (std::vector<std::int64_t>{2, 7, 9}));
  // Padding of C must be kept, whatever beta is.
  EXPECT_EQ(GemmProblem(parse_gemm("m3n5k7ldc4"), Precision::fp32).tensors()[2].role, Role::inout);
  const nlohmann::json shape = GemmProblem(parse_gemm("m3n5k7beta1ta"), Precision::fp32).json();
  EXPECT_EQ(shape["lda"], 7);
  EXPECT_EQ(shape["ta"], 1);
  EXPECT_EQ(shape["beta"], 1.0);
}

TEST(GemmProblem, FactorsHaveTheTypeThatLibrariesTake) {
  EXPECT_EQ(GemmProblem(parse_gemm("m1n1k1alpha0.1"), Precision::fp64).alpha(), 0.1);
  EXPECT_EQ(GemmProblem(parse_gemm("m1n1k1alpha0.1"), Precision::bf16).alpha(),
            static_cast<double>(0.1f));
  EXPECT_THROW(GemmProblem(parse_gemm("m1n1k1alpha1e60"), Precision::fp32), InputError);
  EXPECT_THROW(GemmProblem(parse_gemm("m1n1k1beta1e-60"), Precision::fp32), InputError);
  EXPECT_TRUE(why_not_precision({parse_gemm("m1n1k1alpha0.5"), Precision::int8}));
  EXPECT_FALSE(why_not_precision({parse_gemm("m1n1k1alpha2beta1"), Precision::int8}));
}

}  // namespace test_gemm_descriptor
}  // namespace assay
