#pragma once
// MPI's C interface, and its errors as ours.

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <string>

#include "core/api/communicator.hpp"

// The name of the plugin: the same sources make one for each MPI that is installed.
#ifndef ASSAY_MPI_NAME
#define ASSAY_MPI_NAME "mpi"
#endif

namespace assay::mpi {

/// Throws CaseError with MPI's own text where `code` is an error of the call `what`.
void check(int code, const char* what);

/// "Open MPI 4.1.4": the first words of MPI_Get_library_version.
std::string library_name();

/// The MPI type that moves elements of `type` (16-bit floats as unsigned integers: MPI has none).
MPI_Datatype moved_as(DataType type);

/// The operation that combines elements of `type`: MPI's own, or for 16-bit floats ours. `average`
/// gives the sum.
MPI_Op operation(DataType type, ReduceOp op);
/// Whether operation() is ours.
bool own_operation(DataType type);

}  // namespace assay::mpi
