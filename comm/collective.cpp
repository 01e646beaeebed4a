#include "comm/collective.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"

namespace assay {
namespace {

TensorSpec vector_of(const char* name, Role role, DataType type, std::int64_t count) {
  TensorSpec spec;
  spec.name = name;
  spec.role = role;
  spec.type = type;
  spec.dims = {count};
  spec.bytes = static_cast<std::size_t>(count) * size_of(type);
  return spec;
}

}  // namespace

const std::vector<std::string>& pattern_names() {
  static const std::vector<std::string> names{"allreduce", "reduce",    "reduce_scatter",
                                              "allgather", "broadcast", "alltoall",
                                              "barrier",   "sendrecv"};
  return names;
}

bool reduces(Pattern pattern) { return pattern <= Pattern::reduce_scatter; }
bool has_root(Pattern pattern) {
  return pattern == Pattern::broadcast || pattern == Pattern::reduce;
}
bool has_parts(Pattern pattern) {
  return pattern == Pattern::reduce_scatter || pattern == Pattern::allgather ||
         pattern == Pattern::alltoall;
}

CollectiveProblem::CollectiveProblem(const CollectiveShape& shape) : shape_(shape) {
  const std::string& what = pattern_names().at(static_cast<std::size_t>(shape.pattern));
  const auto size = static_cast<std::int64_t>(size_of(shape.type));
  if (shape.pattern == Pattern::barrier) return;
  if (shape.bytes <= 0)
    throw InputError(fmt::format(
        "{} of {} bytes moves nothing (what only waits is a barrier). Use --collective barrier, or "
        "a number above 0.",
        what, shape.bytes));
  const std::int64_t unit = has_parts(shape.pattern) ? size * shape.ranks : size;
  if (shape.bytes % unit != 0)
    throw InputError(fmt::format(
        "{} of {} bytes in {} is no whole number of elements{}. Use a multiple of {} (the nearest "
        "below is {}).",
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
  return has_parts(shape_.pattern) ? (n - 1) / n : 1;
}

nlohmann::json CollectiveProblem::json() const {
  nlohmann::json all{{"ranks", shape_.ranks}};
  if (shape_.pattern == Pattern::barrier) return all;
  all.update({{"elements", elements()}, {"busbw_factor", busbw_factor()}});
  return all;
}

std::map<std::string, double> CollectiveProblem::amounts() const {
  if (shape_.pattern == Pattern::barrier) return {};
  std::map<std::string, double> all{{"algbw", bytes()}, {"busbw", bytes() * busbw_factor()}};
  if (shape_.pattern == Pattern::allreduce) all["deepbench_bw"] = bytes() * shape_.ranks;
  return all;
}

std::vector<TensorSpec> CollectiveProblem::tensors(int rank) const {
  const bool root = rank == shape_.root;
  const DataType type = shape_.type;
  const std::int64_t whole = elements();
  if (shape_.pattern == Pattern::barrier) return {};
  if (shape_.pattern == Pattern::broadcast)
    return {vector_of("data", root ? Role::unmodified : Role::output, type, whole)};
  const bool reduce = shape_.pattern == Pattern::reduce;
  if (shape_.in_place)
    return {vector_of("data", reduce && !root ? Role::unmodified : Role::inout, type, whole)};
  const std::int64_t sent = shape_.pattern == Pattern::allgather ? part() : whole;
  const std::int64_t received = shape_.pattern == Pattern::reduce_scatter ? part() : whole;
  if (reduce && !root) return {vector_of("send", Role::unmodified, type, sent)};
  return {vector_of("send", Role::input, type, sent),
          vector_of("receive", Role::output, type, received)};
}

Call CollectiveProblem::call(int rank, void* const* data) const {
  Call call;
  if (shape_.pattern != Pattern::sendrecv) call.what = static_cast<Collective>(shape_.pattern);
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
  if (shape.pattern == Pattern::sendrecv && shape.in_place)
    return "sendrecv has no place of its own (what is sent must stay until it has left)";
  if (reduces(shape.pattern) && shape.op == ReduceOp::average && is_integer(shape.type))
    return "an average of integers is no integer";
  return "";
}

}  // namespace assay
