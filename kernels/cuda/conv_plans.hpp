#pragma once
// Convolutions by cuDNN's graphs. A graph has engines; an engine with its settings (knobs) is a
// plan. An engine has numerical notes, which are the library's own word on its arithmetic. It uses
// the C interface that every cuDNN has: cudnn-frontend, the C++ headers over it, is not needed.

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/conv_form.hpp"
#include "kernels/cuda/conv_way.hpp"

namespace assay::cuda {

/// The algorithms that are plans: of direct sums, and those whose notes say Winograd or FFT.
const std::vector<std::string>& conv_plan_names();

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
  // These throw a CudnnError where cuDNN says no.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  void set(cudnnBackendAttributeName_t name, const GraphObject& value);
  void finalize();
  /// The number of values, of which at most `most` are written.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   std::int64_t most, void* values) const;
  std::int64_t get(cudnnBackendAttributeName_t name) const;

 private:
  cudnnBackendDescriptor_t object_ = nullptr;
};

/// The GPU for which plans are made: that of a handle, or one that is described (cuDNN 9.8), for
/// which no GPU is needed.
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
  /// True if the notes say that sums are split, and the parts added in the type of the result.
  bool adds_parts() const;
};

/// True if the notes of an engine allow the precision and are of the family.
bool keeps_to(const ConvEngine& engine, Precision precision, Family family);

/// A convolution as a graph. It has several operations if a normalization, or the sums of one,
/// follow.
class ConvGraph {
 public:
  /// Throws a CudnnError, also if the library has no such graph.
  ConvGraph(const GraphTarget& target, const ConvProblem& problem, const ConvForm& form);
  /// The proposals of the heuristics, the fastest by their expectation first; then those that they
  /// fall back to. Each engine with its knobs once.
  std::vector<ConvEngine> engines() const;
  /// Throws a CudnnError, also if the engine cannot compute it after all.
  GraphObject plan(const ConvEngine& engine) const;
  /// The number of the form's specs. A plan knows a tensor by the place of its spec.
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

/// A plan that runs on the GPU of `handle`. Throws as ConvGraph::plan.
std::unique_ptr<ConvWay> plan_way(cudnnHandle_t handle, std::shared_ptr<const ConvGraph> graph,
                                  const ConvEngine& engine);

}  // namespace assay::cuda
