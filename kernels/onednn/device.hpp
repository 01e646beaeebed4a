#pragma once
// The device of one oneDNN engine: its memory and its stream.

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "core/api/host_device.hpp"

namespace assay::onednn {

/// Gives `spec` the layout and the bytes of `desc`: a Layout of core if it can describe `desc`, so
/// that operations of other backends can use the tensor; otherwise an opaque layout.
void lay_out(TensorSpec& spec, const dnnl::memory::desc& desc);
/// The reverse. A spec without layout is plain row-major.
dnnl::memory::desc make_desc(const TensorSpec& spec);
/// The row-major descriptor of the same logical elements as `desc`.
dnnl::memory::desc plain(const dnnl::memory::desc& desc);
dnnl::memory::data_type to_data_type(DataType type);
/// "aBcd16b", the name of the format in oneDNN's verbose lines and in benchdnn; "opaque" for
/// layouts that the library does not describe.
std::string layout_name(const dnnl::memory::desc& desc);

class OneDnnStream final : public Stream {
 public:
  explicit OneDnnStream(const dnnl::engine& engine);
  /// On a GPU this waits for the submitted work, and then reads the host's clock: without profiling
  /// oneDNN reports no device times.
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
  std::shared_ptr<void> storage_;  ///< TensorSpec::memory's; null if the library allocated it
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

/// The arguments of a primitive, in the order in which tensors are bound. Their memory may have
/// been allocated by other libraries.
class Arguments {
 public:
  /// `id`: DNNL_ARG_…
  void add(int id, const dnnl::memory::desc& desc, const dnnl::engine& engine);
  void bind(std::span<Tensor* const> tensors);
  const std::vector<dnnl_exec_arg_t>& call() const { return call_; }

 private:
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> call_;
};

/// Adds the scratchpad of a primitive to its arguments, if it needs one.
void add_scratchpad(const dnnl::memory::desc& desc, const dnnl::engine& engine,
                    std::vector<TensorSpec>& specs, Arguments& arguments);

/// Runs a primitive through oneDNN's C interface, because the C++ call would build a vector in the
/// timed region. `what` names the primitive in the CaseError of a failure.
void execute(const dnnl::primitive& primitive, Stream& stream,
             const std::vector<dnnl_exec_arg_t>& arguments, const char* what);

}  // namespace assay::onednn
