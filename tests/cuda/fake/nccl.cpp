// A fake NCCL: what its calls mean, by MPI, on the memory of the fake GPUs (fake/cudart.cpp). It
// gathers what all ranks gave and adds in fp64, so nothing of it says how NCCL moves or adds. As
// the real one it refuses two ranks on one GPU, and memory that is not of the rank's. An allreduce
// refuses a stream that does not come after all other work (order.hpp).
//
//   FAKE_NCCL_FLIPS=N   the lowest bit of element N of what the last rank gets is flipped
//   FAKE_NCCL_ADDS=0    an allreduce gives each rank what it has sent
//   FAKE_NCCL_PIECES=N  an allreduce is N pieces of work of the GPU (default 1)
//   FAKE_NCCL_VERSION=N the version, as ncclGetVersion encodes it
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/api/precision.hpp"
#include "tests/cuda/fake/opened.hpp"
#include "tests/cuda/fake/worked.hpp"

extern "C" void* fake_gpu_memory(const void* address);
extern "C" int fake_gpu_submits_in_order(const void* stream);

struct ncclComm {
  MPI_Comm ranks = MPI_COMM_NULL;
  int rank = 0, size = 1;
};

namespace {

using assay::DataType;

struct Working {
  /// `stream`: null for that of the call before.
  explicit Working(cudaStream_t stream = nullptr) : counted(stream) {}
  fake::WorkScope counted;
  fake::OpeningScope reached{};
};

std::string last;
/// The calls of a group until it ends.
std::vector<std::function<void(std::vector<MPI_Request>&)>> group;
bool grouping = false;

ncclResult_t refuse(const std::string& why) {
  last = "fake: " + why;
  return ncclInvalidUsage;
}

DataType type_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64:
      return DataType::fp64;
    case ncclFloat16:
      return DataType::fp16;
    case ncclBfloat16:
      return DataType::bf16;
    case ncclInt32:
      return DataType::s32;
    case ncclInt8:
      return DataType::s8;
    case ncclUint8:
      return DataType::u8;
    default:
      return DataType::fp32;
  }
}

int bytes_of(std::size_t count, ncclDataType_t type) {
  return static_cast<int>(count * assay::size_of(type_of(type)));
}

/// Memory of this rank's GPU, null with the reason in `last` where it is not.
char* gpu(const void* address, std::size_t count) {
  static char nothing = 0;
  if (count == 0) return &nothing;
  auto* const at = static_cast<char*>(fake_gpu_memory(address));
  if (at == nullptr) refuse("this is no memory of the rank's GPU");
  return at;
}

void flip(ncclComm_t comm, char* data, std::size_t count, ncclDataType_t type) {
  const char* const which = std::getenv("FAKE_NCCL_FLIPS");
  if (which == nullptr || comm->rank != comm->size - 1) return;
  const std::size_t element = std::strtoull(which, nullptr, 10);
  if (element < count) data[element * assay::size_of(type_of(type))] ^= 1;
}

double combined(double a, double b, ncclRedOp_t op) {
  if (op == ncclMax) return std::max(a, b);
  return op == ncclMin ? std::min(a, b) : a + b;
}

/// The work of an allreduce but for the piece that does it.
void work_more(cudaStream_t stream) {
  const char* const pieces = std::getenv("FAKE_NCCL_PIECES");
  for (int more = pieces == nullptr ? 1 : std::atoi(pieces); more > 1; --more)
    const Working meanwhile(stream);
}

/// Elements [first, first + into.size()) of the reduction of `count` elements of each rank.
ncclResult_t reduction(ncclComm_t comm, const void* send, std::size_t count, ncclDataType_t type,
                       ncclRedOp_t op, std::size_t first, std::size_t wanted, void* receive) {
  const char* const mine = gpu(send, count);
  char* const into = receive == nullptr ? nullptr : gpu(receive, wanted);
  if (mine == nullptr || (receive != nullptr && into == nullptr)) return ncclInvalidArgument;
  const auto each = static_cast<std::size_t>(bytes_of(count, type));
  std::vector<char> all(each * static_cast<std::size_t>(comm->size));
  MPI_Allgather(mine, bytes_of(count, type), MPI_CHAR, all.data(), bytes_of(count, type), MPI_CHAR,
                comm->ranks);
  std::vector<double> result(wanted), one(wanted);
  const std::size_t skipped = static_cast<std::size_t>(bytes_of(first, type));
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm->size); ++rank) {
    assay::decode(type_of(type), all.data() + rank * each + skipped, rank == 0 ? result : one);
    for (std::size_t i = 0; rank > 0 && i < wanted; ++i)
      result[i] = combined(result[i], one[i], op);
  }
  if (op == ncclAvg)
    for (double& value : result) value /= comm->size;
  if (into == nullptr) return ncclSuccess;
  assay::encode(type_of(type), result, into);
  flip(comm, into, wanted, type);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  const char* const given = std::getenv("FAKE_NCCL_VERSION");
  *version = given == nullptr ? NCCL_VERSION_CODE : std::atoi(given);
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "fake: no success"; }
const char* ncclGetLastError(ncclComm_t) { return last.c_str(); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::memset(id->internal, 0, sizeof id->internal);
  const int unique = 1000 * rank + ++made;
  std::memcpy(id->internal, &unique, sizeof unique);
  return ncclSuccess;
}

/// All ranks of the job must be at it, each in its communicator: so Assay makes them.
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  int unique = 0;
  std::memcpy(&unique, id.internal, sizeof unique);
  auto* const made = new ncclComm{MPI_COMM_NULL, rank, size};
  MPI_Comm_split(MPI_COMM_WORLD, unique, rank, &made->ranks);
  *comm = made;
  int joined = 0, mine = 0;
  MPI_Comm_size(made->ranks, &joined);
  if (joined != size) return refuse("other ranks were to come");
  std::vector<int> gpus(static_cast<std::size_t>(size));
  cudaGetDevice(&mine);
  MPI_Allgather(&mine, 1, MPI_INT, gpus.data(), 1, MPI_INT, made->ranks);
  std::sort(gpus.begin(), gpus.end());
  if (std::adjacent_find(gpus.begin(), gpus.end()) != gpus.end())
    return refuse("two ranks are on one GPU");
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  int over = 0;
  MPI_Finalized(&over);
  if (over == 0) MPI_Comm_free(&comm->ranks);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  work_more(stream);
  const Working meanwhile(stream);
  if (fake_gpu_submits_in_order(stream) == 0) return refuse("the work before may not be done");
  const char* const adds = std::getenv("FAKE_NCCL_ADDS");
  if (adds != nullptr && std::string(adds) == "0" && send == receive) return ncclSuccess;
  return reduction(comm, send, count, type, op, 0, count, receive);
}
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t) {
  const Working meanwhile;
  return reduction(comm, send, count, type, op, 0, count, root == comm->rank ? receive : nullptr);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t) {
  const Working meanwhile;
  const auto size = static_cast<std::size_t>(comm->size),
             rank = static_cast<std::size_t>(comm->rank);
  return reduction(comm, send, count * size, type, op, rank * count, count, receive);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  const Working meanwhile;
  const auto size = static_cast<std::size_t>(comm->size);
  const char* const mine = gpu(send, count);
  char* const into = gpu(receive, count * size);
  if (mine == nullptr || into == nullptr) return ncclInvalidArgument;
  const std::vector<char> sent(mine, mine + bytes_of(count, type));
  MPI_Allgather(sent.data(), bytes_of(count, type), MPI_CHAR, into, bytes_of(count, type), MPI_CHAR,
                comm->ranks);
  flip(comm, into, count * size, type);
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t) {
  const Working meanwhile;
  const char* const mine = gpu(send, count);
  char* const into = gpu(receive, count);
  if (mine == nullptr || into == nullptr) return ncclInvalidArgument;
  if (comm->rank == root && into != mine)
    std::memcpy(into, mine, static_cast<std::size_t>(bytes_of(count, type)));
  MPI_Bcast(into, bytes_of(count, type), MPI_CHAR, root, comm->ranks);
  if (comm->rank != root) flip(comm, into, count, type);
  return ncclSuccess;
}
ncclResult_t ncclAlltoAll(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t) {
  const Working meanwhile;
  const auto size = static_cast<std::size_t>(comm->size);
  const char* const mine = gpu(send, count * size);
  char* const into = gpu(receive, count * size);
  if (mine == nullptr || into == nullptr) return ncclInvalidArgument;
  MPI_Alltoall(mine, bytes_of(count, type), MPI_CHAR, into, bytes_of(count, type), MPI_CHAR,
               comm->ranks);
  flip(comm, into, count * size, type);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  grouping = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  const Working meanwhile;
  grouping = false;
  std::vector<MPI_Request> requests;
  for (const auto& message : group) message(requests);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  group.clear();
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t) {
  const char* const mine = gpu(send, count);
  if (mine == nullptr || !grouping) return ncclInvalidArgument;
  group.emplace_back([=](std::vector<MPI_Request>& requests) {
    MPI_Isend(mine, bytes_of(count, type), MPI_CHAR, peer, 0, comm->ranks,
              &requests.emplace_back(MPI_REQUEST_NULL));
  });
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t) {
  char* const into = gpu(receive, count);
  if (into == nullptr || !grouping) return ncclInvalidArgument;
  group.emplace_back([=](std::vector<MPI_Request>& requests) {
    MPI_Irecv(into, bytes_of(count, type), MPI_CHAR, peer, 0, comm->ranks,
              &requests.emplace_back(MPI_REQUEST_NULL));
  });
  return ncclSuccess;
}

}  // extern "C"
