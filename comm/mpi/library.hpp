#pragma once
// MPI's C interface, with its errors as exceptions.

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <string>

#include "core/api/communicator.hpp"

// The name of the plugin: the same sources are compiled once for each installed MPI.
#ifndef ASSAY_MPI_NAME
#define ASSAY_MPI_NAME "mpi"
#endif

namespace assay::mpi {

/// Throws CaseError with MPI's message where `code`, returned by the call `what`, is an error.
void check(int code, const char* what);

/// Name and version from MPI_Get_library_version: "Open MPI 4.1.4".
std::string library_name();

/// The MPI type with which elements of `type` are sent; MPI has no 16-bit floating-point types, and
/// sends them as unsigned integers.
MPI_Datatype choose_transfer_type(DataType type);

/// The reduction operator for elements of `type`: MPI's own, or Assay's for 16-bit floating point.
/// `average` sums.
MPI_Op operation(DataType type, ReduceOp op);
/// True if operation() is an operator of Assay: 16-bit floating-point types.
bool own_operation(DataType type);

}  // namespace assay::mpi
