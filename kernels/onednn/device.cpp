#include "kernels/onednn/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>

#include "core/api/layout.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "kernels/onednn/backend.hpp"

namespace assay::onednn {

using dnnl::memory;

memory::data_type to_data_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return memory::data_type::f64;
    case DataType::fp32:
      return memory::data_type::f32;
    case DataType::bf16:
      return memory::data_type::bf16;
    case DataType::fp16:
      return memory::data_type::f16;
    case DataType::s32:
      return memory::data_type::s32;
    case DataType::s8:
      return memory::data_type::s8;
    case DataType::u8:
      return memory::data_type::u8;
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
      break;  // since oneDNN 3.4 alone
  }
  return memory::data_type::undef;
}

namespace {

memory::dims row_major(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

/// The format of [n, c, ...] in blocks of 16 or 8 channels; undefined for others.
memory::format_tag blocks_of_channels(std::int64_t block, std::size_t dims) {
  using tag = memory::format_tag;
  static constexpr tag sixteens[] = {tag::aBc16b, tag::aBcd16b, tag::aBcde16b},
                       eights[] = {tag::aBc8b, tag::aBcd8b, tag::aBcde8b};
  if (dims < 3 || dims > 5 || (block != 16 && block != 8)) return tag::undef;
  return block == 16 ? sixteens[dims - 3] : eights[dims - 3];
}

/// Layouts of strides alone, and of activations in blocks of channels.
std::optional<Layout> find_layout(const memory::desc& desc) {
  if (desc.get_format_kind() != memory::format_kind::blocked) return std::nullopt;
  const memory::dims dims = desc.get_dims(), strides = desc.get_strides();
  const memory::dims blocks = desc.get_inner_blks(), split_dims = desc.get_inner_idxs();
  if (blocks.empty()) {
    Layout layout{{}, 1};
    for (std::size_t d = 0; d < dims.size(); ++d) {
      layout.splits.push_back({1, strides[d], 0});
      layout.elements += (dims[d] - 1) * strides[d];
    }
    return layout;
  }
  if (blocks.size() == 1 && split_dims[0] == 1 &&
      blocks_of_channels(blocks[0], dims.size()) != memory::format_tag::undef)
    return channel_blocks({dims.begin(), dims.end()}, blocks[0]);
  return std::nullopt;
}

/// A view of a memory's bytes on the host; it ends with its scope.
class Mapped {
 public:
  explicit Mapped(const memory& mapped) : memory_(mapped), data_(mapped.map_data<void>()) {}
  ~Mapped() {
    try {
      memory_.unmap_data(data_);
    } catch (
        const dnnl::error&) {  // a destructor cannot report this; the next use of the memory fails
    }
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  void* data() const { return data_; }

 private:
  const memory& memory_;
  void* data_;
};

[[noreturn]] void fail(const std::string& what, const dnnl::error& error) {
  throw CaseError(
      fmt::format("{} failed ({}: {}). Try a smaller problem, or look at ONEDNN_VERBOSE=all.", what,
                  library(), words(error)));
}

}  // namespace

void lay_out(TensorSpec& spec, const memory::desc& desc) {
  spec.bytes = desc.get_size();
  spec.layout.reset();
  spec.opaque.reset();
  if (spec.role == Role::workspace || desc == make_desc(spec)) return;
  const bool same_dims = std::ranges::equal(desc.get_dims(), spec.dims);
  if (const std::optional<Layout> layout = find_layout(desc); layout && same_dims) {
    spec.layout = std::make_shared<const Layout>(*layout);
    if (desc == make_desc(spec)) return;
    spec.layout.reset();
  }
  spec.opaque = std::make_shared<const memory::desc>(desc);
}

memory::desc make_desc(const TensorSpec& spec) {
  if (spec.opaque) return *static_cast<const memory::desc*>(spec.opaque.get());
  if (spec.role == Role::workspace || spec.role == Role::saved)
    return memory::desc({static_cast<memory::dim>(spec.bytes)}, memory::data_type::u8,
                        memory::dims{1});
  const memory::dims dims(spec.dims.begin(), spec.dims.end());
  const auto type = to_data_type(spec.type);
  if (!spec.layout) return memory::desc(dims, type, row_major(dims));
  const std::vector<Split>& splits = spec.layout->splits;
  if (dims.size() > 1 && splits[1].block > 1)
    return memory::desc(dims, type, blocks_of_channels(splits[1].block, dims.size()));
  memory::dims strides;
  for (const Split& split : splits) strides.push_back(split.outer);
  return memory::desc(dims, type, strides);
}

memory::desc plain(const memory::desc& desc) {
  return memory::desc(desc.get_dims(), desc.get_data_type(), row_major(desc.get_dims()));
}

std::string layout_name(const memory::desc& desc) {
  if (desc.get_size() == 0) return "";
  if (desc.get_format_kind() != memory::format_kind::blocked) return "opaque";
  const memory::dims dims = desc.get_dims(), strides = desc.get_strides(),
                     blocks = desc.get_inner_blks(), split_dims = desc.get_inner_idxs();
  const memory::dims padded = desc.get_padded_dims();
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<memory::dim> inner(dims.size(), 1);  // elements of each dimension inside one block
  for (std::size_t i = 0; i < blocks.size(); ++i)
    inner[static_cast<std::size_t>(split_dims[i])] *= blocks[i];
  // Strides are equal if an outer extent is one: the dimension with the larger extent is then the
  // inner one.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return strides[a] != strides[b] ? strides[a] > strides[b]
                                    : padded[a] / inner[a] < padded[b] / inner[b];
  });
  std::string name;
  for (std::size_t d : order)
    name += static_cast<char>((inner[d] > 1 ? 'A' : 'a') + static_cast<char>(d));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    name += fmt::format("{}{}", blocks[i], static_cast<char>('a' + split_dims[i]));
  return name;
}

OneDnnStream::OneDnnStream(const dnnl::engine& engine)
    : stream_(engine), synchronous_(engine.get_kind() == dnnl::engine::kind::cpu) {}

void OneDnnStream::mark(int which) {
  // oneDNN's CPU engine with OpenMP is synchronous: when execute returns, the work is done.
  if (!synchronous_) wait();
  clock_.mark(which);
}

void OneDnnStream::wait() {
  try {
    stream_.wait();
  } catch (const dnnl::error& error) {
    fail("waiting for the stream", error);
  }
}

OneDnnTensor::OneDnnTensor(const TensorSpec& spec, const dnnl::engine& engine) : spec_(spec) {
  try {
    const memory::desc desc = make_desc(spec);
    if (spec.memory) {
      storage_ = spec.memory(std::max<std::size_t>(desc.get_size(), 1));
      memory_ = memory(desc, engine, storage_.get());
    } else {
      memory_ = memory(desc, engine);
    }
  } catch (const dnnl::error& error) {
    fail(fmt::format("allocating {} bytes for {}", spec.bytes, spec.name), error);
  }
  spec_.bytes = memory_.get_desc().get_size();
}

OneDnnDevice::OneDnnDevice(dnnl::engine::kind kind)
    : gpu_(kind == dnnl::engine::kind::gpu), engine_(kind, 0), stream_(engine_) {}

std::unique_ptr<Tensor> OneDnnDevice::allocate(const TensorSpec& spec) {
  return std::make_unique<OneDnnTensor>(spec, engine_);
}

void OneDnnDevice::reorder(memory& from, memory& to) {
  const dnnl::reorder convert(from, to);
  stream_.wait();
  const auto start = std::chrono::steady_clock::now();
  convert.execute(stream_.get(), from, to);
  stream_.wait();
  reorder_seconds_ += seconds_since(start);
}

void OneDnnDevice::put(Tensor& tensor, const Source& source) {
  auto& own = static_cast<OneDnnTensor&>(tensor);
  const TensorSpec& spec = own.spec();
  try {
    const memory::desc desc = own.get().get_desc(), packed = plain(desc);
    if (desc == packed) {
      fill_packed(spec.type, spec.elements(), Mapped(own.get()).data(), source);
      return;
    }
    memory staging(packed, engine_);
    fill_packed(spec.type, spec.elements(), Mapped(staging).data(), source);
    reorder(staging, own.get());
  } catch (const dnnl::error& error) {
    fail(fmt::format("filling {} ({} bytes)", spec.name, spec.bytes), error);
  }
}

void OneDnnDevice::get(Tensor& tensor, const Sink& sink) {
  auto& own = static_cast<OneDnnTensor&>(tensor);
  const TensorSpec& spec = own.spec();
  try {
    stream_.wait();
    const memory::desc desc = own.get().get_desc(), packed = plain(desc);
    if (desc == packed) {
      show_packed(spec.type, spec.elements(), Mapped(own.get()).data(), sink);
      return;
    }
    memory staging(packed, engine_);
    reorder(own.get(), staging);
    show_packed(spec.type, spec.elements(), Mapped(staging).data(), sink);
  } catch (const dnnl::error& error) {
    fail(fmt::format("reading {} ({} bytes)", spec.name, spec.bytes), error);
  }
}

std::size_t OneDnnDevice::memory_available() const {
  // oneDNN reports nothing about a GPU's memory, so only the allocation can fail.
  return gpu_ ? std::numeric_limits<std::size_t>::max() : assay::memory_available();
}

std::size_t OneDnnDevice::cache_bytes() const { return gpu_ ? 0 : assay::cache_bytes(); }

void Arguments::add(int id, const memory::desc& desc, const dnnl::engine& engine) {
  memories_.emplace_back(desc, engine, nullptr);
  call_.push_back({id, memories_.back().get()});
}

void Arguments::bind(std::span<Tensor* const> tensors) {
  for (std::size_t i = 0; i < memories_.size(); ++i)
    memories_[i].set_data_handle(tensors[i]->data());
}

void add_scratchpad(const memory::desc& desc, const dnnl::engine& engine,
                    std::vector<TensorSpec>& specs, Arguments& arguments) {
  if (desc.get_size() == 0) return;
  specs.push_back(bytes_tensor("scratchpad", Role::workspace, desc.get_size()));
  arguments.add(DNNL_ARG_SCRATCHPAD, desc, engine);
}

void execute(const dnnl::primitive& primitive, Stream& stream,
             const std::vector<dnnl_exec_arg_t>& arguments, const char* what) {
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive.get(), static_cast<dnnl_stream_t>(native_handle(stream, "dnnl_stream_t")),
      static_cast<int>(arguments.size()), arguments.data());
  if (status != dnnl_success)
    throw CaseError(fmt::format("{} failed ({}: status {}). Look at ONEDNN_VERBOSE=all.", what,
                                library(), dnnl_status2str(status)));
}

}  // namespace assay::onednn
