#include "comm/mpi/library.hpp"

#include <fmt/format.h>

#include "comm/reduce.hpp"
#include "core/base/error.hpp"

namespace assay::mpi {

namespace {

/// MPI passes only elements to a user's operator, so type and operation are template arguments.
template <DataType type, ReduceOp op>
void reduce_16_bits(void* in, void* inout, int* count, MPI_Datatype*) {
  reduce_into({inout, *count, type}, {in, *count, type}, op);
}

template <DataType type, ReduceOp op>
MPI_Op make_operation() {
  static const MPI_Op operation = [] {
    MPI_Op created = MPI_OP_NULL;
    check(MPI_Op_create(&reduce_16_bits<type, op>, 1, &created), "MPI_Op_create");
    return created;
  }();
  return operation;
}

template <DataType type>
MPI_Op make_operation(ReduceOp op) {
  switch (op) {
    case ReduceOp::min:
      return make_operation<type, ReduceOp::min>();
    case ReduceOp::max:
      return make_operation<type, ReduceOp::max>();
    default:
      return make_operation<type, ReduceOp::sum>();
  }
}

}  // namespace

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw CaseError(fmt::format("{}: {} (error {})", what,
                              length > 0 ? std::string(text, static_cast<std::size_t>(length))
                                         : std::string("MPI knows no text"),
                              code));
}

std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  // Open MPI: "Open MPI v4.1.4"; MPICH: "MPICH Version:\t4.0.2".
  if (const std::size_t at = name.find(" v"); at != std::string::npos) name.erase(at + 1, 1);
  if (const std::size_t at = name.find(" Version:"); at != std::string::npos)
    name.replace(at, std::string(" Version:").size() + 1, " ");
  while (!name.empty() && (name.back() == ' ' || name.back() == '\0')) name.pop_back();
  return name;
}

MPI_Datatype choose_transfer_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return MPI_DOUBLE;
    case DataType::fp32:
      return MPI_FLOAT;
    case DataType::bf16:
    case DataType::fp16:
      return MPI_UINT16_T;
    case DataType::s32:
      return MPI_INT32_T;
    case DataType::s8:
      return MPI_INT8_T;
    default:
      return MPI_UINT8_T;
  }
}

bool own_operation(DataType type) { return type == DataType::bf16 || type == DataType::fp16; }

MPI_Op operation(DataType type, ReduceOp op) {
  if (type == DataType::bf16) return make_operation<DataType::bf16>(op);
  if (type == DataType::fp16) return make_operation<DataType::fp16>(op);
  return op == ReduceOp::min ? MPI_MIN : op == ReduceOp::max ? MPI_MAX : MPI_SUM;
}

}  // namespace assay::mpi
