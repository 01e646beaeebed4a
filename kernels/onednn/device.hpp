#pragma once
// Memory and order of execution of one oneDNN engine.

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "core/api/host_device.hpp"

namespace assay::onednn {

/// The layout of a TensorSpec, and the spec's field for a layout.
std::shared_ptr<const void> as_layout(const dnnl::memory::desc& desc);
/// A spec without layout is plain row-major.
dnnl::memory::desc desc_of(const TensorSpec& spec);
/// Row-major memory of the same logical elements as `desc`.
dnnl::memory::desc plain(const dnnl::memory::desc& desc);
dnnl::memory::data_type data_type_of(DataType type);
/// "aBcd16b", as oneDNN's verbose lines and benchdnn name formats; "opaque" for layouts that the
/// library keeps to itself.
std::string layout_name(const dnnl::memory::desc& desc);

class OneDnnStream final : public Stream {
 public:
  explicit OneDnnStream(const dnnl::engine& engine);
  /// On a GPU this waits: without profiling oneDNN tells no device times, and a host reading means
  /// something only after the work.
  void mark(int which) override;
  void wait() override;
  double seconds(int from, int to) const override { return clock_.seconds(from, to); }
  NativeHandle native() override { return {"dnnl_stream_t", stream_.get()}; }
  dnnl::stream& get() { return stream_; }

 private:
  dnnl::stream stream_;
  bool synchronous_;
  HostStream clock_;
};

class OneDnnTensor final : public Tensor {
 public:
  OneDnnTensor(const TensorSpec& spec, const dnnl::engine& engine);
  const TensorSpec& spec() const override { return spec_; }
  void* data() override { return memory_.get_data_handle(); }
  dnnl::memory& get() { return memory_; }

 private:
  TensorSpec spec_;
  dnnl::memory memory_;
};

class OneDnnDevice final : public Device {
 public:
  explicit OneDnnDevice(dnnl::engine::kind kind);
  std::string name() const override { return gpu_ ? "gpu" : "cpu"; }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override;
  void put(Tensor& tensor, const Source& source) override;
  void get(Tensor& tensor, const Sink& sink) override;
  std::size_t memory_available() const override;
  std::size_t cache_bytes() const override;
  double reorder_seconds() const override { return reorder_seconds_; }
  const dnnl::engine& engine() const { return engine_; }

 private:
  void reorder(dnnl::memory& from, dnnl::memory& to);

  bool gpu_;
  dnnl::engine engine_;
  OneDnnStream stream_;
  double reorder_seconds_ = 0;
};

/// Runs a primitive on arguments as they lie here: the C++ call would build a vector in the timed
/// region. `what` names it in the CaseError of a failure.
void execute(const dnnl::primitive& primitive, Stream& stream,
             const std::vector<dnnl_exec_arg_t>& arguments, const char* what);

}  // namespace assay::onednn
