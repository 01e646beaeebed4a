// Properties that operations tell before they run: the memory that they need, and what will be
// executed.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "assay/test_paths.hpp"
#include "core/base/error.hpp"
#include "core/measure/workload.hpp"
#include "core/program/plugins.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace test_conv_operations {

class ConvOperation : public testing::Test {
 protected:
  /// The backend and its device, or the reason why not.
  std::string open(const std::string& name) {
    Result<Backend*> made = plugins_.open(name);
    if (const auto* no = std::get_if<Unsupported>(&made)) return no->reason;
    backend_ = std::get<Backend*>(made);
    device_ = std::get<Device*>(backend_->device(options_));
    return "";
  }
  /// Null where it is unsupported.
  std::unique_ptr<Operation> make(const ConvProblem& problem,
                                  const std::string& algorithm = "auto") {
    options_.settings["algorithm"] = algorithm;
    auto made = backend_->make(problem, options_, *ranks_);
    if (const auto* no = std::get_if<Unsupported>(&made)) {
      refusal_ = no->reason;
      return nullptr;
    }
    return std::move(std::get<std::unique_ptr<Operation>>(made));
  }
  /// Left out of the build by choice: nothing to test. Built and unusable is a failure.
  static bool not_built(const std::string& why) {
    return why.find("no plugin libassay_") != std::string::npos;
  }
  static std::string told(const std::function<void()>& body) {
    try {
      body();
    } catch (const CaseError& error) {
      return error.what();
    }
    return "";
  }

  Plugins plugins_{{std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"}};
  Options options_;
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  Backend* backend_ = nullptr;
  Device* device_ = nullptr;
  std::string refusal_;
};

TEST_F(ConvOperation, TheReferencesScratchIsCountedAndNotTakenBeforehand) {
  ASSERT_EQ(open("reference"), "");
  options_.threads = 3;
  // 4e12 outputs: 14.6 TiB a tensor, and planes of fp64 for each thread.
  const ConvProblem problem(parse_conv("mb1ic1ih2000000oc1oh2000000kh1"), ConvDirection::forward,
                            Precision::fp32);
  std::unique_ptr<Operation> operation = make(problem);
  ASSERT_TRUE(operation);
  const TensorSpec& scratch = operation->arguments().back();
  EXPECT_EQ(scratch.role, Role::workspace);
  EXPECT_GE(static_cast<double>(scratch.bytes), 3 * 2 * 4e12 * sizeof(double));
  EXPECT_EQ(operation->execution().workspace_bytes, scratch.bytes);
  const std::string reason = told([&] {
    make_operation_workload(problem, std::move(operation), *device_, make_conv_oracle(problem), 0,
                            {});
  });
  EXPECT_NE(reason.find("needs "), std::string::npos) << reason;
  EXPECT_NE(reason.find("are available"), std::string::npos) << reason;
}

TEST_F(ConvOperation, ALibrarysRefusalNamesTheNeed) {
  const std::string why = open("onednn");
  if (not_built(why)) GTEST_SKIP() << why;
  ASSERT_EQ(why, "");
  TensorSpec spec;
  spec.name = "scratchpad";
  spec.role = Role::workspace;
  spec.type = DataType::u8;
  spec.bytes = std::size_t{1} << 50;  // more than an address space of 47 bits
  const std::string reason = told([&] { device_->allocate(spec); });
  EXPECT_NE(reason.find("1125899906842624 bytes for scratchpad"), std::string::npos) << reason;
}

TEST_F(ConvOperation, ByteProductsAreCalledSoOnlyWhereTheNameTells) {
  const std::string why = open("onednn");
  if (not_built(why)) GTEST_SKIP() << why;
  ASSERT_EQ(why, "");
  for (const char* text : {"mb1ic64ih14oc64kh3ph1", "g3mb1ic9ih7oc9kh3dh2"}) {
    const auto operation =
        make(ConvProblem(parse_conv(text), ConvDirection::forward, Precision::int8));
    ASSERT_TRUE(operation) << text;  // oneDNN has int8 for every processor
    const Execution execution = operation->execution();
    const std::string& by = execution.implementation;
    const bool bytes = by.find("vnni") != std::string::npos || by.find("amx") != std::string::npos;
    EXPECT_EQ(execution.compute, bytes ? "int8" : "") << by;
    EXPECT_EQ(execution.accumulate, "s32") << by;
  }
}

/// int8 in nchw has nothing else on any processor (oneDNN 3.2).
TEST_F(ConvOperation, ReferenceLoopsAreNotRunWhereTheyTakeMinutes) {
  const std::string why = open("onednn");
  if (not_built(why)) GTEST_SKIP() << why;
  ASSERT_EQ(why, "");
  options_.settings["layout"] = "nchw";
  const auto problem = [](const char* text) {
    return ConvProblem(parse_conv(text), ConvDirection::forward, Precision::int8);
  };
  const auto small = make(problem("mb1ic16ih7oc16kh3ph1"));
  ASSERT_TRUE(small) << refusal_;
  if (!small->execution().implementation.starts_with("ref"))
    GTEST_SKIP() << "this oneDNN has a kernel: " << small->execution().implementation;
  EXPECT_FALSE(make(problem("mb16ic64ih112oc128oh112kh3ph1")));
  EXPECT_NE(refusal_.find("its reference loops alone for this (ref:any), of which one run"),
            std::string::npos)
      << refusal_;
}

TEST_F(ConvOperation, WinogradsOperationsAreCountedOrUnknown) {
  const std::string why = open("onednn");
  if (not_built(why)) GTEST_SKIP() << why;
  ASSERT_EQ(why, "");
  int made = 0;
  for (const std::string& direction : list_names<ConvDirection>()) {
    const ConvProblem problem(parse_conv("mb1ic64ih14oc64kh3ph1"),
                              parse_name<ConvDirection>(direction), Precision::fp32);
    const auto operation = make(problem, "winograd");
    if (!operation) continue;
    ++made;
    const Execution execution = operation->execution();
    EXPECT_EQ(execution.algorithmic_flops,
              execution.tile ? count_winograd_flops(problem, *execution.tile) : 0)
        << execution.implementation;
    EXPECT_LT(execution.algorithmic_flops, problem.flops());
  }
  if (made == 0) GTEST_SKIP() << "this oneDNN has no Winograd for this processor";
}

}  // namespace test_conv_operations
}  // namespace assay
