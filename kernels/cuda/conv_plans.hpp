#pragma once
// Convolutions by cuDNN's graphs. A graph has engines; an engine with its settings (knobs) is a
// plan. An engine has numerical notes: the library's own statement on its arithmetic. This code
// uses the C interface of cuDNN, and does not need cudnn-frontend, the C++ headers over it.

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/conv_form.hpp"
#include "kernels/cuda/conv_way.hpp"

namespace assay::cuda {

/// The algorithms that are plans: direct sums, and those whose notes say Winograd or FFT.
const std::vector<std::string>& list_conv_plan_names();

/// An object of the graph interface.
class GraphObject {
 public:
  explicit GraphObject(cudnnBackendDescriptorType_t type);
  ~GraphObject();
  GraphObject(GraphObject&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  GraphObject(const GraphObject&) = delete;
  GraphObject& operator=(const GraphObject&) = delete;
  GraphObject& operator=(GraphObject&&) = delete;

  cudnnBackendDescriptor_t get() const { return object_; }
  // These throw a CudnnError if cuDNN refuses.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  void set(cudnnBackendAttributeName_t name, const GraphObject& value);
  void finalize();
  /// Returns the number of values, and writes at most `most` of them.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   std::int64_t most, void* values) const;
  std::int64_t get(cudnnBackendAttributeName_t name) const;

 private:
  cudnnBackendDescriptor_t object_ = nullptr;
};

/// The GPU for which plans are made: the GPU of a handle, or a description of a GPU (cuDNN 9.8),
/// which needs no GPU.
struct GraphTarget {
  cudnnHandle_t handle = nullptr;
  const GraphObject* properties = nullptr;
};

/// An engine with its knobs, as the heuristics propose it.
struct ConvEngine {
  GraphObject settings;
  std::string name;  ///< as cudnn-frontend writes it: "eng62_k2=0_k13=1"
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool has(cudnnBackendNumericalNote_t note) const;
  /// True if the notes say that sums are split, and their parts added in the type of the result.
  bool adds_parts() const;
};

/// True if the notes of an engine permit the precision and match the family.
bool keeps_to(const ConvEngine& engine, Precision precision, Family family);

/// A convolution as a graph. The graph has several operations if a normalization, or its sums,
/// follow.
class ConvGraph {
 public:
  /// Throws a CudnnError, also if the library has no such graph.
  ConvGraph(const GraphTarget& target, const ConvProblem& problem, const ConvForm& form);
  /// The proposals of the heuristics, the one that they expect to be fastest first; then their
  /// fallbacks. Each engine with its knobs occurs once.
  std::vector<ConvEngine> engines() const;
  /// Throws a CudnnError, also if the engine turns out not to compute it.
  GraphObject plan(const ConvEngine& engine) const;
  /// The number of the form's specs. A plan identifies a tensor by the index of its spec.
  std::size_t tensors() const { return tensors_; }

 private:
  const GraphObject& keep(GraphObject part) {
    return *parts_.emplace_back(std::make_unique<GraphObject>(std::move(part)));
  }
  const GraphObject& virtual_output(const ConvForm& form, cudnnDataType_t type);
  void convolve(const ConvProblem& problem, const ConvForm& form);
  void normalize(const ConvForm& form, cudnnDataType_t type);
  void sum_up(cudnnDataType_t type);
  void point_by_point(cudnnPointwiseMode_t mode, cudnnDataType_t type, const GraphObject& x,
                      const GraphObject* with, const GraphObject& y);
  std::vector<GraphObject> proposals(cudnnBackendHeurMode_t mode) const;

  GraphTarget target_;
  GraphObject graph_;
  std::vector<std::unique_ptr<GraphObject>> parts_;  ///< the form's specs first
  std::vector<cudnnBackendDescriptor_t> operations_;
  const GraphObject* last_ = nullptr;  ///< output of the last operation
  std::size_t tensors_;
};

/// A plan that runs on the GPU of `handle`. Throws like ConvGraph::plan.
std::unique_ptr<ConvWay> plan_way(cudnnHandle_t handle, std::shared_ptr<const ConvGraph> graph,
                                  const ConvEngine& engine);

}  // namespace assay::cuda
