#include "comm/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/base/name_table.hpp"

namespace assay {
namespace {

TensorSpec buffer_spec(const char* name, Role role, DataType type, std::int64_t count) {
  TensorSpec spec;
  spec.name = name;
  spec.role = role;
  spec.type = type;
  spec.dims = {count};
  spec.bytes = static_cast<std::size_t>(count) * size_of(type);
  return spec;
}

/// The call of a pattern; exchanges are not calls.
Collective find_collective(Pattern pattern) {
  if (is_exchange(pattern)) throw std::logic_error("an exchange is not a collective call");
  static_assert(static_cast<int>(Pattern::barrier) == static_cast<int>(Collective::barrier));
  return static_cast<Collective>(pattern);
}

const NameTable<Pattern>& patterns() {
  static const NameTable<Pattern> table(
      {"allreduce", "reduce", "reduce_scatter", "allgather", "broadcast", "alltoall", "barrier",
       "sendrecv", "bisection", "alltoallv"},
      "collective");
  return table;
}
const NameTable<ReduceOp>& reduce_ops() {
  static const NameTable<ReduceOp> table({"sum", "min", "max", "average"}, "reduction operator");
  return table;
}

}  // namespace

std::string_view name(Pattern pattern) { return patterns()[pattern]; }
const std::vector<std::string>& list_pattern_names() { return patterns().names(); }
const std::vector<std::string>& list_reduce_op_names() { return reduce_ops().names(); }
Pattern find_pattern(const std::string& name) { return patterns().at(name); }
ReduceOp reduce_op(const std::string& name) { return reduce_ops().at(name); }

bool reduces(Pattern pattern) {
  return pattern == Pattern::allreduce || pattern == Pattern::reduce ||
         pattern == Pattern::reduce_scatter;
}
bool has_root(Pattern pattern) {
  return pattern == Pattern::broadcast || pattern == Pattern::reduce;
}
bool is_exchange(Pattern pattern) {
  return pattern == Pattern::sendrecv || pattern == Pattern::bisection ||
         pattern == Pattern::alltoallv;
}
bool has_parts(Pattern pattern) {
  return pattern == Pattern::reduce_scatter || pattern == Pattern::allgather ||
         pattern == Pattern::alltoall;
}

CollectiveProblem::CollectiveProblem(const CollectiveShape& shape) : shape_(shape) {
  const std::string_view what = name(shape.pattern);
  const auto size = static_cast<std::int64_t>(size_of(shape.type));
  if (shape.pattern == Pattern::barrier) return;
  if (shape.bytes <= 0)
    throw InputError(fmt::format(
        "{} of {} bytes moves nothing (a call that only waits is a barrier). Use --collective "
        "barrier, or a size above 0.",
        what, shape.bytes));
  const std::int64_t unit = has_parts(shape.pattern) ? size * shape.ranks : size;
  if (shape.bytes % unit != 0)
    throw InputError(fmt::format(
        "{} of {} bytes in {} is not a whole number of elements{}. Use a multiple of {} (the next "
        "lower one is {}).",
        what, shape.bytes, name(shape.type),
        unit == size ? "" : fmt::format(" for each of {} ranks", shape.ranks), unit,
        shape.bytes / unit * unit));
}

std::int64_t CollectiveProblem::elements() const {
  return shape_.bytes / static_cast<std::int64_t>(size_of(shape_.type));
}

double CollectiveProblem::busbw_factor() const {
  const double n = shape_.ranks;
  if (shape_.pattern == Pattern::allreduce) return 2 * (n - 1) / n;
  if (shape_.pattern == Pattern::bisection) return 2 * shape_.rounds;
  if (shape_.pattern == Pattern::alltoallv) {
    double most = 0;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const auto own = static_cast<double>(of_rank(rank).count),
                 all = static_cast<double>(elements());
      most = std::max({most, (all - own) / all, (n - 1) * own / all});
    }
    return most;
  }
  return has_parts(shape_.pattern) ? (n - 1) / n : 1;
}

nlohmann::json CollectiveProblem::json() const {
  nlohmann::json all{{"ranks", shape_.ranks}};
  if (shape_.pattern == Pattern::barrier) return all;
  all.update({{"elements", elements()}, {"busbw_factor", busbw_factor()}});
  return all;
}

std::map<std::string, double> CollectiveProblem::amounts() const {
  if (shape_.pattern == Pattern::barrier || shape_.ranks == 1 || shape_.beside > 0) return {};
  std::map<std::string, double> all{{"algbw", bytes()}, {"busbw", bytes() * busbw_factor()}};
  if (shape_.pattern == Pattern::allreduce) all["deepbench_bw"] = bytes() * shape_.ranks;
  return all;
}

std::vector<TensorSpec> CollectiveProblem::tensors(int rank) const {
  const bool root = rank == shape_.root;
  const DataType type = shape_.type;
  const std::int64_t message = elements();
  if (shape_.pattern == Pattern::barrier) return {};
  if (shape_.pattern == Pattern::broadcast)
    return {buffer_spec("data", root ? Role::unmodified : Role::output, type, message)};
  const bool reduce = shape_.pattern == Pattern::reduce;
  if (shape_.in_place)
    return {buffer_spec("data", reduce && !root ? Role::unmodified : Role::inout, type, message)};
  const std::int64_t sent = shape_.pattern == Pattern::allgather ? part() : message;
  const std::int64_t received = shape_.pattern == Pattern::reduce_scatter ? part()
                                : shape_.pattern == Pattern::bisection    ? message * shape_.rounds
                                : shape_.pattern == Pattern::alltoallv
                                    ? of_rank(rank).count * shape_.ranks
                                    : message;
  if (reduce && !root) return {buffer_spec("send", Role::unmodified, type, sent)};
  return {buffer_spec("send", Role::input, type, sent),
          buffer_spec("receive", Role::output, type, received)};
}

ElementRange CollectiveProblem::of_rank(int to) const {
  double before = 0, all = 0;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const double weight = std::pow(rank + 1, -shape_.zipf);
    if (rank < to) before += weight;
    all += weight;
  }
  const auto at = [&](double weights) {
    return static_cast<std::int64_t>(static_cast<double>(elements()) * (weights / all));
  };
  const std::int64_t first = at(before);
  if (to == shape_.ranks - 1) return {first, elements() - first};
  return {first, at(before + std::pow(to + 1, -shape_.zipf)) - first};
}

Call CollectiveProblem::call(int rank, void* const* data) const {
  Call call;
  if (!is_exchange(shape_.pattern)) call.what = find_collective(shape_.pattern);
  call.op = shape_.op;
  call.root = shape_.root;
  if (shape_.pattern == Pattern::barrier) return call;
  const Buffer first{data[0], elements(), shape_.type};
  const Buffer mine =
      shape_.in_place && has_parts(shape_.pattern) ? first.part(rank * part(), part()) : Buffer{};
  switch (shape_.pattern) {
    case Pattern::broadcast:
      call.receive = first;
      break;
    case Pattern::reduce:
      call.send = first;
      call.receive = {rank != shape_.root && !shape_.in_place ? nullptr
                      : shape_.in_place                       ? data[0]
                                                              : data[1],
                      elements(), shape_.type};
      break;
    case Pattern::reduce_scatter:
      call.send = first;
      call.receive = shape_.in_place ? mine : Buffer{data[1], part(), shape_.type};
      break;
    case Pattern::allgather:
      call.send = shape_.in_place ? mine : Buffer{data[0], part(), shape_.type};
      call.receive = {shape_.in_place ? data[0] : data[1], elements(), shape_.type};
      break;
    default:
      call.send = first;
      call.receive = {shape_.in_place ? data[0] : data[1], elements(), shape_.type};
  }
  return call;
}

std::string why_not_problem(const CollectiveShape& shape) {
  if (is_exchange(shape.pattern) && shape.in_place)
    return fmt::format("{} cannot run in place (the data must stay unchanged until they are sent)",
                       name(shape.pattern));
  if (shape.pattern == Pattern::alltoallv) {
    const CollectiveProblem problem(shape);
    for (int rank = 0; rank < shape.ranks; ++rank)
      if (problem.of_rank(rank).count == 0)
        return fmt::format(
            "rank {} gets no element of an alltoallv so small and so skewed (its output could not "
            "be checked)",
            rank);
  }
  if (shape.pattern == Pattern::bisection && (shape.ranks % 2 != 0 || shape.rounds >= shape.ranks))
    return fmt::format(
        "bisection has pairs of an even number of ranks ({} were started), of which none meet "
        "twice "
        "in fewer permutations than the {} that were requested",
        shape.ranks, shape.rounds);
  if (reduces(shape.pattern) && shape.op == ReduceOp::average && is_integer(shape.type))
    return "the average of integers is not an integer";
  return "";
}

}  // namespace assay
