#include "kernels/cuda/kernel_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/api/host_device.hpp"
#include "core/api/layout.hpp"
#include "kernels/cuda/data_items.hpp"
#include "kernels/cuda/device_tables.hpp"
#include "kernels/cuda/kernel_prover.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// Calls body() with an element of the type.
template <class Body>
void with_type(DataType type, const Body& body) {
  switch (type) {
    case DataType::fp64:
      return body(double());
    case DataType::fp32:
      return body(float());
    case DataType::bf16:
      return body(__nv_bfloat16());
    case DataType::fp16:
      return body(__half());
    case DataType::s32:
      return body(std::int32_t());
    case DataType::s8:
      return body(std::int8_t());
    case DataType::u8:
      return body(std::uint8_t());
    case DataType::fp8_e4m3:
      return body(Fp8E4m3());
    case DataType::fp8_e5m2:
      return body(Fp8E5m2());
  }
}

/// Calls body() with an unsigned integer of `size` bytes.
template <class Body>
void with_bits(std::size_t size, const Body& body) {
  if (size == 1) return body(std::uint8_t());
  if (size == 2) return body(std::uint16_t());
  if (size == 4) return body(std::uint32_t());
  body(std::uint64_t());
}

/// Tables of the weights' factors, by dimension.
struct WeightTables {
  std::size_t within[most_dims], sign[most_dims];
};
WeightTables add_weights(const TensorSpec& spec, const ChecksumWeights& weights, Tables& tables) {
  WeightTables at{};
  constexpr std::int64_t block = ChecksumWeights::block;
  for (std::size_t d = 0; d < spec.dims.size(); ++d) {
    std::vector<signed char> within, sign;
    for (std::int64_t i = 0; i < std::min(spec.dims[d], block); ++i)
      within.push_back(static_cast<signed char>(weights.factor(d, i)));
    // Relative to the first block; `within` includes the sign of the first block.
    for (std::int64_t i = 0; i < spec.dims[d]; i += block)
      sign.push_back(weights.factor(d, i) == weights.factor(d, 0) ? 1 : -1);
    at.within[d] = tables.add(std::span<const signed char>(within));
    at.sign[d] = tables.add(std::span<const signed char>(sign));
  }
  return at;
}
Weights weights_at(const TensorSpec& spec, std::byte* memory, const WeightTables& at) {
  Weights weights;
  weights.dims = static_cast<int>(spec.dims.size());
  weights.block = ChecksumWeights::block;
  for (std::size_t d = 0; d < spec.dims.size(); ++d) {
    weights.extent[d] = spec.dims[d];
    weights.within[d] = address<const signed char>(memory, at.within[d]);
    weights.sign[d] = address<const signed char>(memory, at.sign[d]);
  }
  return weights;
}

}  // namespace

void KernelDevice::put(Tensor& tensor, const Source& source) {
  const TensorSpec& spec = tensor.spec();
  const bool here =
      !proving_ && knows(spec) && by_kernels(spec.type, [&] { write_all(tensor, source); });
  if (!here) CudnnDevice::put(tensor, source);
}

void KernelDevice::get(Tensor& tensor, const Sink& sink) {
  const TensorSpec& spec = tensor.spec();
  check(cudaSetDevice(gpu_), "choosing the GPU");  // of a thread of a reference
  bool here = false;
  try {
    here = !proving_ && knows(spec) && by_kernels(spec.type, [&] { read_all(tensor, sink); });
  } catch (const MemoryShortage&) {  // before sink() has been called
  }
  if (!here) CudnnDevice::get(tensor, sink);
}

void KernelDevice::fill(Tensor& tensor, const Values& values) {
  const TensorSpec& spec = tensor.spec();
  const bool here = knows(spec) && values.random() && values.type() == spec.type;
  if (!here || !by_kernels(spec.type, [&] { make(tensor, values); })) Device::fill(tensor, values);
}

void KernelDevice::fill(Tensor& tensor, double value) {
  const TensorSpec& spec = tensor.spec();
  if (!knows(spec) || !by_kernels(spec.type, [&] { set_all(tensor, value); }))
    Device::fill(tensor, value);
}

KernelDevice::KernelDevice() : prover_(std::make_unique<KernelProver>(*this)) {
  check(cudaGetDevice(&gpu_), "asking for the current GPU");
}
KernelDevice::~KernelDevice() = default;
Prover* KernelDevice::prover() { return prover_.get(); }

ScanResult KernelDevice::scan(Tensor& tensor, std::span<const std::int64_t> indices,
                              const ChecksumWeights* weights) {
  const TensorSpec& spec = tensor.spec();
  ScanResult scanned;
  if (knows(spec, weights) &&
      by_kernels(spec.type, [&] { scanned = read(tensor, indices, weights); }))
    return scanned;
  return Device::scan(tensor, indices, weights);
}

bool KernelDevice::knows(const TensorSpec& spec, const ChecksumWeights* weights) const {
  return !spec.opaque && spec.elements() > 0 && spec.dims.size() <= most_dims &&
         (weights == nullptr || weights->dims() == spec.dims.size());
}

void KernelDevice::prove(DataType type) {
  if (proved_.contains(type)) return;
  proving_ = true;  // until then, put and get are those of the host
  struct Proved {
    bool& proving;
    ~Proved() { proving = false; }
  } const until_proved{proving_};
  // This shape needs two stages with remainders, has an incomplete block, and a layout with
  // padding.
  TensorSpec spec = plain_tensor("trial", Role::output, type, {5, 19, 50});
  spec.layout = std::make_shared<const Layout>(channel_blocks(spec.dims, 8));
  const std::int64_t n = spec.elements();
  const auto tensor = allocate(spec);
  const auto differ = [&](const std::string& what) {
    throw CaseError(fmt::format(
        "the GPU and the host {} of {}. Nothing that this GPU computes can be checked: update its "
        "driver, or test it (nvidia-smi, compute-sanitizer).",
        what, assay::name(type)));
  };
  const ChecksumWeights weights(spec.dims, 3);
  const std::vector<std::int64_t> some{0, 1, n / 2, n - 1};
  const auto scan_alike = [&](bool exact) {
    const ScanResult scanned = read(*tensor, some, &weights),
                     wanted = Device::scan(*tensor, some, &weights);
    const auto near = [exact](double a, double b) {
      return exact ? a == b : std::abs(a - b) <= 1e-10 * (std::abs(a) + std::abs(b));
    };
    if (scanned.bad != wanted.bad || scanned.first_bad != wanted.first_bad ||
        (scanned.bad == 0 &&
         (scanned.elements != wanted.elements || !near(scanned.sum, wanted.sum) ||
          !near(scanned.rounding, wanted.rounding))))
      differ("find different results");
  };
  const Values full(Values::Kind::mantissa, 1, "trial", type, 100),
      small(Values::Kind::integer, 2, "trial", type, 8);
  std::vector<Values> all{full, small};
  // Values so large that their rounding may have changed the sum.
  if (!is_integer(type) && size_of(type) > 1)
    all.push_back(full.scaled(static_cast<int>(-std::log2(unit_roundoff(type))) + 2));
  for (const Values& values : all) {
    const auto compare = [&](const char* what) {
      return [&values, &differ, what](std::int64_t first, std::span<const double> actual) {
        for (std::size_t i = 0; i < actual.size(); ++i)
          if (actual[i] != values(first + static_cast<std::int64_t>(i))) differ(what);
      };
    };
    make(*tensor, values);
    get(*tensor, compare("make different values"));
    read_all(*tensor, compare("read different values"));
    set_all(*tensor, 0);
    write_all(*tensor, [&](std::int64_t first, std::span<double> out) { values.fill(first, out); });
    get(*tensor, compare("write different values"));
    scan_alike(&values == &all[1]);
  }
  if (!is_integer(type) || type == DataType::s32) {
    const double none =
        type == DataType::s32 ? -2147483648.0 : std::numeric_limits<double>::quiet_NaN();
    for (const std::int64_t bad : {std::int64_t{0}, n - 1}) {
      put(*tensor, [&](std::int64_t first, std::span<double> out) {
        small.fill(first, out);
        for (std::size_t i = 0; i < out.size(); ++i)
          if (first + static_cast<std::int64_t>(i) == bad) out[i] = none;
      });
      scan_alike(true);
    }
    set_all(*tensor, none);
    scan_alike(true);
  }
  proved_.insert(type);
}

void KernelDevice::make(Tensor& tensor, const Values& values) {
  const TensorSpec& spec = tensor.spec();
  ValueRecipe recipe = values.recipe();
  Places places = find_places(spec);
  Tables tables;
  const std::size_t pieces = add_pieces(spec, tables);
  const std::size_t kept =
      recipe.kept == nullptr
          ? 0
          : tables.add(std::span(recipe.kept, static_cast<std::size_t>(recipe.rows)));
  std::byte* const memory = scratch(tables.size());
  upload(memory, tables.bytes());
  set_pieces(spec, memory, pieces, places);
  if (recipe.kept != nullptr) recipe.kept = address<const unsigned char>(memory, kept);
  clear_padding(tensor);
  const std::int64_t n = spec.elements();
  with_type(spec.type, [&](auto stored) {
    using Stored = decltype(stored);
    start(MakeValues<Stored>{recipe, places, static_cast<Stored*>(tensor.data()), n}, (n + 3) / 4,
          spec);
  });
  stream().wait();
}

void KernelDevice::set_all(Tensor& tensor, double value) {
  const TensorSpec& spec = tensor.spec();
  Places places;
  Tables tables;
  // Without padding, every place gets the value, so the order does not matter.
  if (in_pieces(spec) || (spec.layout && spec.layout->elements > spec.elements()))
    places = find_places(spec);
  const std::size_t pieces = add_pieces(spec, tables);
  std::byte* const memory = scratch(tables.size());
  upload(memory, tables.bytes());
  set_pieces(spec, memory, pieces, places);
  clear_padding(tensor);
  with_bits(size_of(spec.type), [&](auto bits) {
    encode(spec.type, std::span(&value, 1), &bits);
    using Bits = decltype(bits);
    start(SetElement<Bits>{bits, places, static_cast<Bits*>(tensor.data())}, spec.elements(), spec);
  });
  stream().wait();
}

ScanResult KernelDevice::read(Tensor& tensor, std::span<const std::int64_t> indices,
                              const ChecksumWeights* weights) {
  const TensorSpec& spec = tensor.spec();
  const std::int64_t n = spec.elements(), lanes = std::min((n + 63) / 64, most_lanes);
  Tables tables;
  const std::size_t pieces = add_pieces(spec, tables), wanted = tables.add(indices);
  const WeightTables factors =
      weights == nullptr ? WeightTables{} : add_weights(spec, *weights, tables);
  // After the tables follow: the parts of the lanes, the parts of each stage, and the data for the
  // host, which are the last part and the elements.
  std::int64_t parts = lanes;
  for (std::int64_t left = lanes; left > 1; parts += left)
    left = (left + rows_of_stage - 1) / rows_of_stage;
  const std::size_t count = indices.size(),
                    result_at =
                        tables.size() + static_cast<std::size_t>(parts - 1) * sizeof(ScanPart),
                    result_bytes = sizeof(ScanPart) + count * sizeof(double);
  std::byte* const memory = scratch(result_at + result_bytes);
  upload(memory, tables.bytes());
  Places places = find_places(spec);
  set_pieces(spec, memory, pieces, places);
  const double unit = unit_roundoff(spec.type), infinity = std::numeric_limits<double>::infinity(),
               largest =
                   spec.type == DataType::s32 ? 2147483647.0 : std::numeric_limits<double>::max();
  auto* part = address<ScanPart>(memory, tables.size());
  with_type(spec.type, [&](auto stored) {
    using Stored = decltype(stored);
    const auto* const from = static_cast<const Stored*>(tensor.data());
    start(ScanLane<Stored>{from, places,
                           weights == nullptr ? Weights{} : weights_at(spec, memory, factors),
                           largest, unit > 0 ? 1 / unit : infinity, unit, n, lanes, part},
          lanes, spec);
    if (count > 0)
      start(Gather<Stored>{from, places, address<const std::int64_t>(memory, wanted),
                           address<double>(memory, result_at + sizeof(ScanPart))},
            static_cast<std::int64_t>(count), spec);
  });
  for (std::int64_t left = lanes; left > 1;) {
    const std::int64_t next = (left + rows_of_stage - 1) / rows_of_stage;
    start(ScanStage{part, part + left, left}, next, spec);
    part += left;
    left = next;
  }
  std::vector<std::byte> answer(result_bytes);
  copy(answer.data(), memory + result_at, result_bytes);
  stream().wait();
  ScanPart all;
  std::memcpy(&all, answer.data(), sizeof all);
  ScanResult scanned;
  scanned.elements.resize(count);
  if (count > 0)
    std::memcpy(scanned.elements.data(), answer.data() + sizeof all, count * sizeof(double));
  scanned.bad = all.bad;
  scanned.first_bad = all.first_bad;
  scanned.bad_value = all.bad_value;
  scanned.sum = all.sum + all.carry;
  scanned.rounding = all.rounding / (1 - unit);
  return scanned;
}

void KernelDevice::write_all(Tensor& tensor, const Source& source) {
  clear_padding(tensor);
  move(tensor, true, [&](std::int64_t first, std::int64_t count, std::byte* at) {
    fill_packed(tensor.spec().type, count, at,
                [&](std::int64_t from, std::span<double> out) { source(first + from, out); });
  });
}

void KernelDevice::read_all(Tensor& tensor, const Sink& sink) {
  move(tensor, false, [&](std::int64_t first, std::int64_t count, std::byte* at) {
    show_packed(
        tensor.spec().type, count, at,
        [&](std::int64_t from, std::span<const double> values) { sink(first + from, values); });
  });
}

void KernelDevice::move(Tensor& tensor, bool to_gpu,
                        const std::function<void(std::int64_t, std::int64_t, std::byte*)>& show) {
  constexpr std::size_t bytes_at_once = std::size_t{1} << 26;
  const TensorSpec& spec = tensor.spec();
  const std::size_t size = size_of(spec.type);
  const auto at_once = static_cast<std::int64_t>(bytes_at_once / size);
  Places places = find_places(spec);
  Tables tables;
  const std::size_t pieces = add_pieces(spec, tables);
  const std::int64_t n = spec.elements();
  const std::size_t most = static_cast<std::size_t>(std::min(n, at_once)) * size;
  std::byte* const memory = scratch(tables.size() + most);
  // show() may use the device, so the memory of this call is reserved for it until it ends.
  const std::size_t scratch_bytes = std::exchange(scratch_bytes_, 0);
  std::shared_ptr<void> own_scratch = std::exchange(scratch_, nullptr),
                        own_staging = std::exchange(staging_, nullptr);
  if (!own_staging) own_staging = host_memory(bytes_at_once);
  auto* const staging = static_cast<std::byte*>(own_staging.get());
  upload(memory, tables.bytes());
  set_pieces(spec, memory, pieces, places);
  std::byte* const packed = memory + tables.size();
  for (std::int64_t first = 0; first < n; first += at_once) {
    const std::int64_t count = std::min(at_once, n - first);
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    if (to_gpu) {
      show(first, count, staging);
      copy(packed, staging, bytes);
    }
    with_bits(size, [&](auto bits) {
      using Bits = decltype(bits);
      auto* const all = static_cast<Bits*>(tensor.data());
      auto* const part = address<Bits>(packed, 0);
      if (to_gpu)
        start(PlaceElement<Bits>{part, places, first, all}, count, spec);
      else
        start(PackElement<Bits>{all, places, first, part}, count, spec);
    });
    if (!to_gpu) copy(staging, packed, bytes);
    stream().wait();
    if (!to_gpu) show(first, count, staging);
  }
  scratch_ = std::move(own_scratch);
  scratch_bytes_ = scratch_bytes;
  staging_ = std::move(own_staging);
}

void KernelDevice::clear_padding(Tensor& tensor) {
  const TensorSpec& spec = tensor.spec();
  if (!spec.layout || spec.layout->elements <= spec.elements()) return;
  const std::vector<std::int64_t> whole{0};
  const bool cut = in_pieces(spec);
  const std::size_t size = size_of(spec.type);
  const std::int64_t length = cut ? count_piece(*spec.layout) : spec.layout->elements;
  for (const std::int64_t first : cut ? spec.layout->pieces : whole)
    check(cudaMemsetAsync(
              static_cast<std::byte*>(tensor.data()) + static_cast<std::size_t>(first) * size, 0,
              static_cast<std::size_t>(length) * size, stream().get()),
          fmt::format("clearing the padding of '{}'", spec.name));
}

std::byte* KernelDevice::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset();
    scratch_bytes_ = 0;
    try {
      scratch_ = gpu_memory(bytes, "what is made of inputs and outputs");
    } catch (const CaseError& error) {
      throw MemoryShortage(error.what());
    }
    scratch_bytes_ = bytes;
  }
  return static_cast<std::byte*>(scratch_.get());
}

void KernelDevice::upload(std::byte* to, const std::vector<std::byte>& from) {
  if (!from.empty()) copy(to, from.data(), from.size());
}

}  // namespace assay::cuda
