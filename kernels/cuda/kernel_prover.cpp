#include "kernels/cuda/kernel_prover.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "core/api/scan.hpp"
#include "core/api/tensor_values.hpp"
#include "kernels/cuda/device_tables.hpp"
#include "kernels/cuda/proof_formulas.hpp"

namespace assay::cuda {
namespace {

static_assert(static_cast<int>(Format::fp8_e5m2) == static_cast<int>(DataType::fp8_e5m2));

/// Calls body(the code of this formula). False if the GPU lacks the code, or the formula has too
/// many inputs.
template <class Body>
bool with_expectation(const ElementFormula& formula, const Body& body) {
  const auto tried = [&]<class Code>(std::type_identity<Code>) {
    if (formula.name != Code::name) return false;
    if (formula.inputs.size() > static_cast<std::size_t>(most_inputs<Code>)) return false;
    Code code;
    std::memcpy(&code, formula.code.data(), sizeof code);
    body(code);
    return true;
  };
#define ASSAY_TRY(Code) tried(std::type_identity<Code>()) ||
  return ASSAY_EXPECTATIONS(ASSAY_TRY) false;
}
template <class Body>
bool with_sum(const ElementFormula& formula, const Body& body) {
  const auto tried = [&]<class Code>(std::type_identity<Code>) {
    if (formula.name != Code::name) return false;
    if (formula.inputs.size() > static_cast<std::size_t>(most_inputs<Code>)) return false;
    Code code;
    std::memcpy(&code, formula.code.data(), sizeof code);
    body(code);
    return true;
  };
  return ASSAY_CHANNEL_SUMS(ASSAY_TRY) false;
#undef ASSAY_TRY
}

/// A tensor. Its tables are added first; their addresses are set when they have a place on the GPU.
struct Operand {
  AnyTensor tensor{};
  const TensorSpec* spec = nullptr;
  std::size_t pieces = 0, kept = 0;

  void add(Tensor& bound, Tables& tables) {
    spec = &bound.spec();
    tensor.data = bound.data();
    tensor.format = static_cast<Format>(spec->type);
    tensor.place = find_places(*spec);
    pieces = add_pieces(*spec, tables);
  }
  void add(const Values& values, Tables& tables) {
    tensor.recipe = values.recipe();
    if (tensor.recipe.kept != nullptr)
      kept =
          tables.add(std::span(tensor.recipe.kept, static_cast<std::size_t>(tensor.recipe.rows)));
  }
  void set(std::byte* memory) {
    if (spec != nullptr) set_pieces(*spec, memory, pieces, tensor.place);
    if (tensor.recipe.kept != nullptr)
      tensor.recipe.kept = address<const unsigned char>(memory, kept);
  }
};

/// The inputs of a formula, and its table.
class Operands {
 public:
  /// False if the GPU can neither generate nor read one of them.
  bool add(const ElementFormula& formula, const Inputs& inputs, Tables& tables) {
    for (const std::string& name : formula.inputs) {
      const Values& values = inputs.find(name)->second;
      if (values.random()) {
        operands_.emplace_back().add(values, tables);
        continue;
      }
      const auto* const stored = dynamic_cast<const TensorValues*>(values.stored());
      Tensor* const tensor = stored == nullptr ? nullptr : stored->on_device();
      if (tensor == nullptr || tensor->spec().dims.size() > most_dims) return false;
      operands_.emplace_back().add(*tensor, tables);
    }
    table_ = tables.add(std::span<const double>(formula.table));
    return true;
  }
  template <class Code>
  FormulaInputs<Code> at(std::byte* memory) {
    FormulaInputs<Code> in;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      operands_[k].set(memory);
      in.tensors[k] = operands_[k].tensor;
    }
    in.table = address<const double>(memory, table_);
    return in;
  }

 private:
  std::vector<Operand> operands_;
  std::size_t table_ = 0;
};

enum class Fault { none, wrong, missing };

/// A value that is wrong if another one is expected: finite in the narrowest type, or missing
/// (NaN).
double faulty(Fault fault, DataType type, const Expected& want) {
  if (fault == Fault::missing && type == DataType::s32) return -2147483648.0;
  if (fault == Fault::missing) return std::numeric_limits<double>::quiet_NaN();
  const double size = std::fabs(want.value);
  return round_to(type, std::trunc(want.value -
                                   std::copysign(1.5 * size + 3 * want.max_bound + 1, want.value)));
}

/// True if two comparisons are equal except for fp64 roundings.
bool are_alike(const ElementComparison& a, const ElementComparison& b, Fault fault) {
  const auto near = [](double x, double y, double size) {
    return x == y || (!std::isfinite(x) && !std::isfinite(y)) ||
           std::abs(x - y) <= 1e-6 * (std::abs(x) + std::abs(y)) + 0x1p-45 * size;
  };
  const double norm = std::sqrt(b.reference_squares);
  const auto near_norm = [&](double x, double y) { return near(std::sqrt(x), std::sqrt(y), norm); };
  if (a.count != b.count || a.wrong != b.wrong || a.bad != b.bad ||
      !near_norm(a.error_squares, b.error_squares) ||
      !near_norm(a.bound_squares, b.bound_squares) || !near_norm(a.most_squares, b.most_squares) ||
      !near_norm(a.reference_squares, b.reference_squares) ||
      !near(a.max_error, b.max_error, b.largest) ||
      !near(a.least_bound, b.least_bound, b.largest) || !near(a.largest, b.largest, 0))
    return false;
  // Roundings may select another one of the correct elements as the worst.
  return fault == Fault::none ||
         (a.worst == b.worst && near(a.actual, b.actual, 0) && near(a.target, b.target, 0) &&
          near(a.bound, b.bound, std::fabs(b.target)) && near(a.worst_ratio, b.worst_ratio, 0));
}

TensorSpec scratch_spec() { return plain_tensor("a reference", Role::output, DataType::fp64, {1}); }

}  // namespace

std::optional<ElementComparison> KernelProver::compare(Tensor& output, ElementRange range,
                                                       const ElementFormula& formula,
                                                       const Inputs& inputs) {
  const TensorSpec& spec = output.spec();
  if (range.count < 1 || !device_.knows(spec) || !finds_faults(spec.type, range, formula, inputs))
    return std::nullopt;
  const auto all = compare(output, range.first, range, formula, inputs);
  if (all && all->count != range.count)
    throw CaseError(fmt::format("the GPU compared {} elements of '{}' in place of {}.", all->count,
                                spec.name, range.count));
  return all;
}

bool KernelProver::finds_faults(DataType type, ElementRange range, const ElementFormula& formula,
                                const Inputs& inputs) {
  // This shape needs three stages with a remainder, and has a layout with padding.
  TensorSpec spec = plain_tensor("trial", Role::output, type, {5, 19, 50});
  spec.layout = std::make_shared<const Layout>(channel_blocks(spec.dims, 8));
  spec.bytes = static_cast<std::size_t>(spec.layout->elements) * size_of(type);
  range.count = std::min(range.count, spec.elements());
  const std::string what =
      fmt::format("{} {} {}", formula.name, static_cast<int>(type), range.count);
  if (const auto known = finds_faults_.find(what); known != finds_faults_.end())
    return known->second;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(range.count));
  std::iota(indices.begin(), indices.end(), range.first);
  const auto expected = expect(formula, inputs, indices);
  // No fault can be planted where a network's data have overflowed.
  if (!expected || !std::ranges::all_of(*expected, [](const Expected& element) {
        return std::isfinite(element.value) && std::isfinite(element.max_bound);
      }))
    return false;
  const auto tensor = device_.allocate(spec);
  bool& finds = finds_faults_[what] = false;
  for (const Fault fault : {Fault::none, Fault::wrong, Fault::missing}) {
    if (fault == Fault::missing && is_integer(type) && type != DataType::s32) continue;
    const std::size_t at = fault == Fault::wrong ? indices.size() - 1 : indices.size() / 2;
    ElementComparison here;
    std::vector<double> values(static_cast<std::size_t>(spec.elements()));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Expected& want = (*expected)[i];
      const double right = round_to(type, want.value);
      values[i] = fault == Fault::none || i != at ? right : faulty(fault, type, want);
      const bool rounded = want.max_bound == 0 && values[i] != want.value;
      here.add(indices[i], values[i], rounded ? right : want.value, no_result(type, values[i]),
               want);
    }
    device_.put(*tensor, [&](std::int64_t first, std::span<double> out) {
      std::copy_n(values.begin() + first, out.size(), out.begin());
    });
    const auto there = compare(*tensor, 0, range, formula, inputs);
    if (!there || !are_alike(*there, here, fault)) return false;
  }
  return finds = true;
}

std::optional<ElementComparison> KernelProver::compare(Tensor& output, std::int64_t at,
                                                       ElementRange range,
                                                       const ElementFormula& formula,
                                                       const Inputs& inputs) {
  const TensorSpec& spec = output.spec();
  Tables tables;
  Operands operands;
  if (!operands.add(formula, inputs, tables)) return std::nullopt;
  Operand of_output;
  of_output.add(output, tables);
  const std::int64_t lanes = std::min((range.count + 15) / 16, most_lanes);
  std::int64_t parts = lanes;
  for (std::int64_t left = lanes; left > 1; parts += left)
    left = (left + rows_of_stage - 1) / rows_of_stage;
  ElementComparison all;
  bool has = false;
  const auto work = [&] {
    std::byte* const memory = device_.scratch(tables.size() + static_cast<std::size_t>(parts) *
                                                                  sizeof(ElementComparison));
    device_.upload(memory, tables.bytes());
    of_output.set(memory);
    auto* part = address<ElementComparison>(memory, tables.size());
    const double largest =
        spec.type == DataType::s32 ? 2147483647.0 : std::numeric_limits<double>::max();
    has = with_expectation(formula, [&](const auto& code) {
      using Code = std::decay_t<decltype(code)>;
      device_.start(CompareLane<Code>{code, operands.at<Code>(memory), of_output.tensor, largest,
                                      at, range.first, range.count, lanes, part},
                    lanes, spec);
    });
    if (!has) return;
    for (std::int64_t left = lanes; left > 1;) {
      const std::int64_t next = (left + rows_of_stage - 1) / rows_of_stage;
      device_.start(JoinComparisons{part, part + left, left}, next, spec);
      part += left;
      left = next;
    }
    device_.copy(&all, part, sizeof all);
    device_.stream().wait();
  };
  if (!by_kernels(spec.type, work) || !has) return std::nullopt;
  return all;
}

std::optional<std::vector<Expected>> KernelProver::expect(const ElementFormula& formula,
                                                          const Inputs& inputs,
                                                          std::span<const std::int64_t> indices) {
  Tables tables;
  Operands operands;
  if (indices.empty() || !operands.add(formula, inputs, tables)) return std::nullopt;
  const std::size_t wanted = tables.add(indices);
  std::vector<Expected> expected(indices.size());
  bool has = false;
  const auto work = [&] {
    const std::size_t bytes = expected.size() * sizeof(Expected);
    std::byte* const memory = device_.scratch(tables.size() + bytes);
    device_.upload(memory, tables.bytes());
    has = with_expectation(formula, [&](const auto& code) {
      using Code = std::decay_t<decltype(code)>;
      device_.start(ExpectElement<Code>{code, operands.at<Code>(memory),
                                        address<const std::int64_t>(memory, wanted),
                                        address<Expected>(memory, tables.size())},
                    static_cast<std::int64_t>(indices.size()), scratch_spec());
    });
    if (!has) return;
    device_.copy(expected.data(), memory + tables.size(), bytes);
    device_.stream().wait();
  };
  if (!by_kernels(DataType::fp64, work) || !has) return std::nullopt;
  return expected;
}

std::optional<std::vector<double>> KernelProver::sum(const ElementFormula& formula,
                                                     const Inputs& inputs, const Channels& over) {
  Tables tables;
  Operands operands;
  if (!operands.add(formula, inputs, tables)) return std::nullopt;
  std::vector<double> sums;
  bool has = false;
  const auto work = [&] {
    has = with_sum(formula, [&](const auto& code) {
      using Code = std::decay_t<decltype(code)>;
      const std::int64_t columns = over.channels * Code::terms;
      const std::int64_t parts =
          std::clamp(most_lanes / over.channels, std::int64_t{1}, over.images * over.plane);
      std::int64_t rows = parts;
      for (std::int64_t left = parts; left > 1; rows += left)
        left = (left + rows_of_stage - 1) / rows_of_stage;
      std::byte* const memory = device_.scratch(
          tables.size() + static_cast<std::size_t>(rows * columns) * sizeof(double));
      device_.upload(memory, tables.bytes());
      auto* part = address<double>(memory, tables.size());
      device_.start(SumChannelPart<Code>{code, operands.at<Code>(memory), over.images,
                                         over.channels, over.plane, parts, part},
                    parts * over.channels, scratch_spec());
      for (std::int64_t left = parts; left > 1;) {
        const std::int64_t next = (left + rows_of_stage - 1) / rows_of_stage;
        device_.start(SumStage<double>{part, part + left * columns, left, columns}, next * columns,
                      scratch_spec());
        part += left * columns;
        left = next;
      }
      sums.resize(static_cast<std::size_t>(columns));
      device_.copy(sums.data(), part, sums.size() * sizeof(double));
      device_.stream().wait();
    });
  };
  if (!by_kernels(DataType::fp64, work) || !has) return std::nullopt;
  return sums;
}

}  // namespace assay::cuda
