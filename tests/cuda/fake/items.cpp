// Our kernels of data analysis on the fake GPU: what a thread of theirs does is compiled for the
// host, too, and runs here for every index of a launch. How threads find their index is not tried.
#include "tests/cuda/fake/items.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>

#include "kernels/cuda/linalg_items.hpp"

namespace fake {
namespace {

using namespace assay::cuda;
using Body = void (*)(void** arguments);

template <class Item>
void body(void** arguments) {
  const Item& item = *static_cast<const Item*>(arguments[0]);
  const std::int64_t count = *static_cast<const std::int64_t*>(arguments[1]);
  for (std::int64_t i = count; i-- > 0;) item(i);  // in no order that a GPU promises
}

template <template <class> class Item>
void add(std::map<std::string, Body>& all, const std::string& name) {
  all["assay::cuda::" + name + "<double>"] = body<Item<double>>;
  all["assay::cuda::" + name + "<float>"] = body<Item<float>>;
}

const std::map<std::string, Body>& bodies() {
  static const std::map<std::string, Body> all = [] {
    std::map<std::string, Body> made{{"assay::cuda::Fill", body<Fill>}};
    add<Widen>(made, "Widen");
    add<Centre>(made, "Centre");
    add<Select>(made, "Select");
    add<HalfNorm>(made, "HalfNorm");
    add<Assign>(made, "Assign");
    add<SquaredDifference>(made, "SquaredDifference");
    add<Margin>(made, "Margin");
    return made;
  }();
  return all;
}

/// "assay::cuda::Assign<double>" of "void assay::cuda::item_kernel<assay::cuda::Assign<double>
/// >(…)"; "" of other kernels.
std::string item_of(const std::string& kernel) {
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(kernel.c_str(), nullptr, nullptr, nullptr), std::free);
  const std::string name = text == nullptr ? "" : text.get(), start = "assay::cuda::item_kernel<";
  const std::size_t from = name.find(start), to = name.find(">(");
  if (from == std::string::npos || to == std::string::npos) return "";
  std::string item = name.substr(from + start.size(), to - from - start.size());
  while (item.ends_with(' ')) item.pop_back();
  return item;
}

}  // namespace

bool run_item(const std::string& kernel, void** arguments) {
  const auto found = bodies().find(item_of(kernel));
  if (found == bodies().end()) return false;
  found->second(arguments);
  return true;
}

}  // namespace fake
