// Our kernels on the fake GPU: what a thread of theirs does is compiled for the host, too, and runs
// here for every index of a launch. The way in which threads find their index is not tried.
#include "tests/cuda/fake/items.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <type_traits>
#include <typeinfo>

#include "kernels/cuda/activation_items.hpp"
#include "kernels/cuda/concat_items.hpp"
#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/data_items.hpp"
#include "kernels/cuda/dropout_items.hpp"
#include "kernels/cuda/linalg_items.hpp"
#include "kernels/cuda/loss_items.hpp"
#include "kernels/cuda/norm_items.hpp"
#include "kernels/cuda/pixel_loss_items.hpp"
#include "kernels/cuda/pool_items.hpp"
#include "kernels/cuda/product_items.hpp"
#include "kernels/cuda/proof_formulas.hpp"
#include "kernels/cuda/resize_items.hpp"
#include "kernels/cuda/squared_error_items.hpp"
#include "kernels/cuda/stream_items.hpp"
#include "kernels/cuda/sum_items.hpp"
#include "kernels/cuda/update_items.hpp"

namespace fake {
namespace {

using namespace assay::cuda;
using Body = std::function<void()> (*)(void** arguments);
using Bodies = std::map<std::string, Body>;

/// FAKE_GPU_LOSES=N: of each launch the first N threads do not run; FAKE_GPU_LOSES_OF=ITEM: of
/// those of an item alone.
std::int64_t lost(const std::string& item) {
  const char* const text = std::getenv("FAKE_GPU_LOSES");
  const char* const of = std::getenv("FAKE_GPU_LOSES_OF");
  if (text == nullptr || (of != nullptr && item.find(of) == std::string::npos)) return 0;
  return std::atoll(text);
}

/// FAKE_GPU_OVERLOOKS=ITEM: threads of this item that compare find nothing wrong.
template <class Item>
bool overlooks() {
  const char* const of = std::getenv("FAKE_GPU_OVERLOOKS");
  return of != nullptr && std::string(typeid(Item).name()).find(of) != std::string::npos;
}

/// Threads of a launch of an item that does not know them are the kernel's second argument. Where
/// an item returns a number, that is the sum to which it is added.
template <class Item>
std::function<void()> body(void** arguments) {
  const Item item = *static_cast<const Item*>(arguments[0]);
  if constexpr (!std::is_void_v<decltype(item(0))>) {
    return [item, sum = *static_cast<double* const*>(arguments[1])] {
      for (std::int64_t i = item.threads; i-- > lost(typeid(Item).name());) *sum += item(i);
    };
  } else {
    std::int64_t count = 0;
    if constexpr (requires { item.threads; })
      count = item.threads;
    else
      count = *static_cast<const std::int64_t*>(arguments[1]);
    return [item, count] {
      const std::int64_t first = lost(typeid(Item).name());
      for (std::int64_t i = count; i-- > first;) item(i);  // in no order that a GPU promises
      if constexpr (requires { item.to->least_bound; })
        if (overlooks<Item>())
          for (std::int64_t i = first; i < count; ++i) item.to[i].wrong = item.to[i].bad = 0;
    };
  }
}

std::string readable(const char* mangled) {
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), std::free);
  return text == nullptr ? "" : text.get();
}

template <class... Items>
void add(Bodies& all) {
  (all.emplace(readable(typeid(Items).name()), body<Items>), ...);
}
template <class Stored>
using LossOfAnyPixels = LossOfPixels<Stored, 0>;
template <class Stored>
using LossOfThreeClasses = LossOfPixels<Stored, 3>;

template <class Real, Caching how>
void add_moves(Bodies& all) {
  add<MovePacks<Real, Move::copy, how>, MovePacks<Real, Move::scale, how>,
      MovePacks<Real, Move::add, how>, MovePacks<Real, Move::triad, how>>(all);
}
template <template <class> class... Items>
void add_wide(Bodies& all) {
  add<Items<double>..., Items<float>...>(all);
}
template <template <class> class... Items>
void add_stored(Bodies& all) {
  add<Items<double>..., Items<float>..., Items<__half>..., Items<__nv_bfloat16>...>(all);
}

template <template <class> class... Items>
void add_types(Bodies& all) {
  add_stored<Items...>(all);
  add<Items<int>..., Items<signed char>..., Items<unsigned char>..., Items<assay::Fp8E4m3>...,
      Items<assay::Fp8E5m2>...>(all);
}

template <template <class> class... Items>
void add_bits(Bodies& all) {
  add<Items<unsigned char>..., Items<unsigned short>..., Items<unsigned int>...,
      Items<unsigned long>...>(all);
}

template <template <class, int> class... Items>
void add_packed(Bodies& all) {
  add<Items<double, 2>..., Items<double, 1>..., Items<float, 4>..., Items<float, 1>...,
      Items<__half, 8>..., Items<__half, 1>..., Items<__nv_bfloat16, 8>...,
      Items<__nv_bfloat16, 1>...>(all);
}

template <template <class, int> class... Items>
void add_tiled(Bodies& all) {
  add<Items<double, 2>..., Items<double, 1>..., Items<float, 4>..., Items<float, 2>...,
      Items<float, 1>...>(all);
}

const Bodies& bodies() {
  static const Bodies all = [] {
    Bodies made;
    add<AddMatrices, AddCentroids, AddHinge>(made);
    add_moves<double, Caching::usual>(made);
    add_moves<double, Caching::once>(made);
    add_moves<float, Caching::usual>(made);
    add_moves<float, Caching::once>(made);
    add_wide<ReadPacks>(made);
    add<ChaseLines>(made);
    add_wide<Observe, HalfNorm>(made);
    add_tiled<FindLabels, AddToCentroids, HingeRows>(made);
    add<AddStale, SumStage<std::int32_t>>(made);
    add_wide<SumStage, SumParameters, MakeStep, SumDirections, TrustDirections, MakeNorms,
             SquaredErrorResults>(made);
    add<UpdateParameters<double, double>, UpdateParameters<float, float>,
        UpdateParameters<float, __half>, UpdateParameters<float, __nv_bfloat16>>(made);
    add_stored<Add, LossOfSample, LossOfAnyPixels, LossOfThreeClasses, NormMoments, Transpose>(
        made);
    add_packed<LossGradients, SquaredErrorMeans, SquaredErrorSums>(made);
    add<ToFp32<__half>, ToFp32<__nv_bfloat16>>(made);
    add_wide<NormFactor, NormGivenMoments, NormSlopes>(made);
    add_packed<NormMomentSums, NormGradientSums, Normalize, NormGradients>(made);
    add_types<MakeValues, ScanLane, Gather>(made);
    add<ScanStage>(made);
    add_bits<SetElement, PackElement, PlaceElement>(made);
    add_packed<PoolLargest, PoolMean, PoolGather, CopyPiece, ResizePixel, ResizeGather>(made);
    add_packed<Activate, ActivationSums, ActivationGradient, Drop>(made);
#define ASSAY_ADD(Code) add<CompareLane<Code>, ExpectElement<Code>>(made);
    ASSAY_EXPECTATIONS(ASSAY_ADD)
#undef ASSAY_ADD
#define ASSAY_ADD(Code) add<SumChannelPart<Code>>(made);
    ASSAY_CHANNEL_SUMS(ASSAY_ADD)
    add<JoinComparisons, MultiplyRows>(made);
    return made;
  }();
  return all;
}

/// "assay::cuda::Assign<double>" of "void assay::cuda::item_kernel<assay::cuda::Assign<double>
/// >(…)"; "" of other functions.
std::string item_of(const std::string& kernel) {
  const std::string name = readable(kernel.c_str()), start = "_kernel<";
  const std::size_t from = name.find(start), to = name.find(">(");
  if (from == std::string::npos || to == std::string::npos) return "";
  std::string item = name.substr(from + start.size(), to - from - start.size());
  while (item.ends_with(' ')) item.pop_back();
  return item;
}

}  // namespace

std::function<void()> work_of_item(const std::string& kernel, void** arguments) {
  const auto found = bodies().find(item_of(kernel));
  return found == bodies().end() ? std::function<void()>() : found->second(arguments);
}

}  // namespace fake
