#include "models/parallel/servers_part.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/device_memory.hpp"

namespace assay {
namespace {

std::size_t update_node(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].phase == Phase::update) return i;
  throw std::logic_error("a network without update");
}

}  // namespace

std::vector<WeightsPart> cut_weights(const Graph& graph, std::int64_t parts) {
  const std::int64_t all = graph.elements(graph.weights);
  std::vector<std::int64_t> borders;  // borders of parameters, which are in reverse order
  for (std::size_t i = graph.parameters.size(); i-- > 0;)
    borders.push_back(graph.parameters[i].offset);
  borders.push_back(all);
  parts = std::min(parts, std::ssize(graph.parameters));
  std::vector<WeightsPart> weights_parts;
  std::size_t at = 0;
  for (std::int64_t part = 1; part <= parts; ++part) {
    // The border nearest to an equal share that leaves a parameter for each remaining part.
    const auto ideal =
        static_cast<double>(all) * static_cast<double>(part) / static_cast<double>(parts);
    const std::size_t last = borders.size() - 1 - static_cast<std::size_t>(parts - part);
    std::size_t end = at + 1;
    const auto distance = [&](std::size_t i) {
      return std::abs(static_cast<double>(borders[i]) - ideal);
    };
    while (end < last && (part == parts || distance(end + 1) <= distance(end))) ++end;
    weights_parts.push_back({borders[at], borders[end] - borders[at]});
    at = end;
  }
  return weights_parts;
}

Graph update_graph(const Graph& whole, const WeightsPart& part) {
  const GraphNode& node = whole.nodes[update_node(whole)];
  const auto& problem = dynamic_cast<const UpdateProblem&>(*node.problem);
  UpdateShape shape = problem.shape();
  shape.tensors.clear();
  std::int64_t at = 0;
  for (const UpdateTensor& tensor : problem.shape().tensors) {
    if (at >= part.first && at < part.first + part.count) shape.tensors.push_back(tensor);
    at += tensor.elements;
  }
  if (shape.elements() != part.count) throw std::logic_error("a part cuts a parameter");
  Graph graph;
  graph.precision = whole.precision;
  const auto of_part = std::make_shared<const UpdateProblem>(std::move(shape), problem.precision());
  GraphNode update = node;
  update.problem = of_part;
  update.oracle = make_update_oracle(*of_part);
  const std::int64_t all = whole.elements(whole.weights);
  for (auto& [name, value] : update.tensors) {
    GraphValue own = whole.value(value);
    own.name = name;
    own.storage = Storage::persistent;
    if (own.dims == std::vector{all}) own.dims = {part.count};
    value = graph.values.size();
    graph.values.push_back(std::move(own));
  }
  graph.nodes.push_back(std::move(update));
  return graph;
}

namespace {

/// `to`: destination of a copy that is made at the same time, or nullptr.
template <bool copies>
std::uint64_t checksum_memory(void* to, const void* data, std::size_t bytes) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
  constexpr std::size_t lanes = 8;  // so that no multiplication waits for the previous one
  std::uint64_t sums[lanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto* const from = static_cast<const std::byte*>(data);
  auto* const copy = static_cast<std::byte*>(to);
  std::size_t at = 0;
  for (; at + lanes * 8 <= bytes; at += lanes * 8)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at + 8 * lane, 8);
      if constexpr (copies) std::memcpy(copy + at + 8 * lane, &word, 8);
      sums[lane] = (sums[lane] ^ word) * odd;
      sums[lane] ^= sums[lane] >> 29;
    }
  for (; at < bytes; ++at) {
    if constexpr (copies) copy[at] = from[at];
    sums[0] = (sums[0] ^ static_cast<std::uint64_t>(from[at])) * odd;
  }
  std::uint64_t all = bytes;
  for (const std::uint64_t sum : sums) all = (all ^ (sum ^ (sum >> 32))) * odd;
  return all ^ (all >> 32);
}

}  // namespace

std::uint64_t checksum(const void* data, std::size_t bytes) {
  return checksum_memory<false>(nullptr, data, bytes);
}

std::uint64_t version_sum(void* to, const void* from, std::size_t bytes, std::int64_t version,
                          bool all) {
  if (all) return from == nullptr ? checksum(to, bytes) : checksum_memory<true>(to, from, bytes);
  if (from != nullptr) std::memcpy(to, from, bytes);
  constexpr std::size_t page = 4096, every = 16;
  const auto* const data = static_cast<const std::byte*>(to);
  const std::size_t pages = std::max<std::size_t>((bytes + page - 1) / page, 1);
  std::uint64_t sum = 0;
  for (std::size_t i = static_cast<std::size_t>(version) % std::min(every, pages); i < pages;
       i += every) {
    const std::uint64_t sums[] = {sum, checksum(data + i * page, std::min(page, bytes - i * page))};
    sum = checksum(sums, sizeof sums);
  }
  return sum;
}

WeightsCopies::WeightsCopies(Device& device, std::size_t most)
    : device_(device), scratch_(is_of_host(device) ? nullptr : device.host_memory(most)) {}

std::uint64_t WeightsCopies::sum_of_copy(const void* copy, std::size_t bytes, std::int64_t version,
                                         bool all) const {
  return to_host(scratch_.get(), copy, bytes, version, all);
}

std::uint64_t WeightsCopies::to_host(void* to, const void* from, std::size_t bytes,
                                     std::int64_t version, bool all) const {
  if (on_host()) return version_sum(to, from, bytes, version, all);
  device_.copy(to, from, bytes);
  device_.stream().wait();
  return version_sum(to, nullptr, bytes, version, all);
}

std::uint64_t WeightsCopies::to_device(void* to, const void* from, std::size_t bytes,
                                       std::int64_t version, bool all) const {
  if (on_host()) return version_sum(to, from, bytes, version, all);
  if (from != nullptr) device_.copy(to, from, bytes);
  if (all || from == nullptr) return sum_of_copy(to, bytes, version, all);
  device_.stream().wait();  // the next message overwrites `from`
  return version_sum(const_cast<void*>(from), nullptr, bytes, version, all);
}

std::uint64_t WeightsCopies::within(void* to, const void* from, std::size_t bytes,
                                    std::int64_t version, bool all) const {
  if (on_host()) return version_sum(to, from, bytes, version, all);
  device_.copy(to, from, bytes);
  return sum_of_copy(to, bytes, version, all);
}

Result<std::unique_ptr<PartUpdate>> PartUpdate::make(Trainer& whole, const WeightsPart& part,
                                                     Plugins& plugins, const Gradients& gradients) {
  ExecutorSettings settings = whole.settings().executor;
  settings.measured = false;
  settings.memory.clear();
  settings.chosen = {whole.executor().choice(update_node(whole.graph()))};
  // Each rank has a different part, or none, so these calls are not collective.
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  Executors all;
  for (const std::shared_ptr<void>& memory : gradients) {
    Graph graph = update_graph(whole.graph(), part);
    const ValueIndex gradient = graph.nodes.front().tensors.at("gradient");
    for (ValueIndex value = 0; !all.empty() && value < graph.values.size(); ++value)
      settings.memory[value] = all.front()->memory(value);
    settings.memory.erase(gradient);
    if (memory) settings.memory[gradient] = memory;
    auto executor = Executor::make(std::move(graph), settings, plugins, *alone);
    if (auto* refusal = std::get_if<Unsupported>(&executor)) return std::move(*refusal);
    all.push_back(std::move(std::get<std::unique_ptr<Executor>>(executor)));
  }
  return std::unique_ptr<PartUpdate>(new PartUpdate(std::move(all), part));
}

PartUpdate::PartUpdate(Executors executors, const WeightsPart& part)
    : executors_(std::move(executors)), part_(part) {
  const auto& tensors = first().graph().nodes.front().tensors;
  weights_ = tensors.at("weights");
  gradient_ = tensors.at("gradient");
}

std::size_t PartUpdate::bytes() const { return element(part_.count); }

void PartUpdate::begin(Trainer& whole) {
  const Buffer all = find_memory(whole.executor(), whole.graph().weights);
  for (const Buffer& buffer : state())
    write_bytes(device(), buffer, std::vector<std::byte>(buffer.bytes()).data());
  write_bytes(device(), {weights(), part_.count, type()},
              read_bytes(device(), all.part(part_.first, part_.count)).data());
  updates_ = 0;
}

void PartUpdate::put(const char* tensor, double number) {
  const auto& tensors = first().graph().nodes.front().tensors;
  if (const auto entry = tensors.find(tensor); entry != tensors.end())
    first().device().fill(first().tensor(entry->second), number);
}

bool PartUpdate::apply(std::size_t at, double rate, double scale, Verification* check,
                       std::uint64_t seed) {
  put("rate", rate);
  put("unscale", 1 / scale);
  put("step", static_cast<double>(updates_ + 1));
  Executor& executor = *executors_[at];
  if (check != nullptr)
    run_checked(executor, 0, budget_of_node, seed, *check);
  else
    executor.run_node(0);
  const bool finite =
      read_values(executor, executor.graph().nodes.front().tensors.at("counts"))[0] == 0;
  if (finite) ++updates_;
  return finite;
}

std::vector<Buffer> PartUpdate::state() const {
  const auto& tensors = first().graph().nodes.front().tensors;
  std::vector<Buffer> all;
  for (const char* name : {"weights", "velocity", "second"})
    if (const auto entry = tensors.find(name); entry != tensors.end())
      all.push_back({first().memory(entry->second).get(), part_.count, type()});
  return all;
}

std::uint64_t PartUpdate::state_sum() const {
  std::vector<std::uint64_t> sums{static_cast<std::uint64_t>(updates_)};
  for (const Buffer& buffer : state()) {
    const std::vector<std::byte> all = read_bytes(device(), buffer);
    sums.push_back(checksum(all.data(), all.size()));
  }
  return checksum(sums.data(), sums.size() * sizeof sums.front());
}

}  // namespace assay
