#include <gtest/gtest.h>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_native_handle {

class LibraryStream final : public Stream {
 public:
  void mark(int) override {}
  void wait() override {}
  double seconds(int, int) const override { return 0; }
  NativeHandle native() override { return {"library_stream_t", this}; }
};

TEST(NativeHandle, IsGivenUnderItsOwnTypeAlone) {
  LibraryStream stream;
  EXPECT_EQ(native_handle(stream, "library_stream_t"), &stream);
  EXPECT_THROW(native_handle(stream, "cudaStream_t"), CaseError);
}

TEST(NativeHandle, AStreamOfTheHostHasNone) {
  HostStream stream;
  try {
    native_handle(stream, "cudaStream_t");
    FAIL() << "a stream of the host was cast";
  } catch (const CaseError& error) {
    EXPECT_STREQ(
        error.what(),
        "the stream is of the host, not a cudaStream_t (it belongs to another device). Use "
        "a device of this backend.");
  }
}

}  // namespace test_native_handle
}  // namespace assay
