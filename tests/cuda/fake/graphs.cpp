// CUDA graphs of the fake runtime: what was submitted while a stream was captured, in that order.
//
//   FAKE_GPU_GRAPHS=0           no stream can be captured
//   FAKE_GPU_GRAPHS=idle        graphs take their time, and compute nothing
//   FAKE_GPU_GRAPH_PIECES=N     a graph is N pieces of work more than was captured
//
// The thread that captures a stream must not wait, allocate, free, query an event or copy pageable
// memory: such a call fails and makes the capture invalid, as the real runtime does.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/fake/graphs.hpp"
#include "tests/cuda/fake/opened.hpp"
#include "tests/cuda/fake/order.hpp"
#include "tests/cuda/fake/timeline.hpp"

struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

namespace {

CUgraph_st* captured = nullptr;  // by one stream at a time
bool valid = true;
std::thread::id capturing;

bool graphs_are(const char* value) {
  const char* const graphs = std::getenv("FAKE_GPU_GRAPHS");
  return graphs != nullptr && std::string(graphs) == value;
}

}  // namespace

namespace fake {

bool refused_in_capture() {
  if (captured == nullptr || std::this_thread::get_id() != capturing) return false;
  valid = false;
  return true;
}

}  // namespace fake

extern "C" {

// Serves submitted.hpp.
int fake_gpu_captures() { return captured != nullptr ? 1 : 0; }
void fake_gpu_keep(const std::function<void()>* work) { captured->work.push_back(*work); }

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (captured != nullptr || graphs_are("0")) return cudaErrorNotSupported;
  captured = new CUgraph_st;
  capturing = std::this_thread::get_id();
  valid = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = captured;
  captured = nullptr;
  if (valid) return cudaSuccess;
  delete *graph;
  *graph = nullptr;
  return cudaErrorStreamCaptureInvalidated;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  *ready = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
  fake::submitted_to(stream);
  fake::begin_work(stream);
  {
    const fake::OpeningScope while_it_runs;
    for (const auto& work : ready->work)
      if (!graphs_are("idle")) work();
  }
  const char* const more = std::getenv("FAKE_GPU_GRAPH_PIECES");
  fake::end_work(ready->work.size() + (more == nullptr ? 0 : std::strtoull(more, nullptr, 10)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) {
  delete ready;
  return cudaSuccess;
}

}  // extern "C"
