#include "models/network/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/api/layout.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/benchmark.hpp"
#include "models/network/memory_plan.hpp"

namespace assay {
namespace {

std::size_t count_bytes(const GraphValue& value, std::int64_t elements) {
  return static_cast<std::size_t>(elements) * size_of(value.type);
}

std::size_t in_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

bool is_scratch(const TensorSpec& spec) {
  return spec.role == Role::workspace || spec.role == Role::saved || spec.role == Role::consumed;
}

std::shared_ptr<void> within(const std::shared_ptr<void>& memory, std::size_t offset) {
  return {memory, static_cast<std::byte*>(memory.get()) + offset};
}

/// The same tensor with a first dimension of 1, as filters in one group.
TensorSpec in_one_group(TensorSpec spec) {
  if (spec.layout) {
    Layout layout = *spec.layout;
    layout.splits.insert(layout.splits.begin(), {1, layout.elements, 0});
    spec.layout = std::make_shared<const Layout>(std::move(layout));
  }
  spec.dims.insert(spec.dims.begin(), 1);
  return spec;
}

const std::string name_of_fp32(name(DataType::fp32)), name_of_fp64(name(DataType::fp64));

}  // namespace

Executor::Executor(Graph graph, const ExecutorSettings& settings)
    : graph_(std::move(graph)), settings_(settings) {
  const std::vector<std::string> references = dimension::list_backends("reference");
  const auto plain = [&](const std::string& backend) {
    return std::ranges::count(references, backend) > 0;
  };
  row_major_ = settings.chosen.empty()
                   ? std::ranges::all_of(settings.backends, plain)
                   : std::ranges::all_of(settings.chosen, plain, &Choice::backend);
}

Result<std::unique_ptr<Executor>> Executor::make(Graph graph, const ExecutorSettings& settings,
                                                 Plugins& plugins, Communicator& ranks) {
  using OwnedExecutor = std::unique_ptr<Executor>;
  Result<OwnedExecutor> all_made =
      make_on_all<OwnedExecutor>(ranks, [&]() -> Result<OwnedExecutor> {
        OwnedExecutor own(new Executor(std::move(graph), settings));
        own->fuse(plugins, ranks);
        if (std::string why = own->make_candidates(plugins, ranks); !why.empty())
          return Unsupported{std::move(why)};
        own->add_sums(plugins, ranks);
        own->allocate();
        return own;
      });
  if (const auto* const own = std::get_if<OwnedExecutor>(&all_made))
    (*own)->expect_equal_candidates(ranks);
  return all_made;
}

TensorSpec Executor::make_spec(ValueIndex index) const {
  const GraphValue& value = graph_.values[index];
  TensorSpec spec = plain_tensor(value.name, Role::input, value.type, value.dims);
  if (value.dims.size() == 4 && !row_major_ && (!value.filters || filters_last()))
    spec.layout = std::make_shared<const Layout>(channels_last(value.dims));
  return spec;
}

std::string Executor::why_not_layout(const GraphNode& node, const Candidate& candidate) const {
  for (const TensorSpec& spec : candidate.operation->arguments()) {
    if (is_scratch(spec) || candidate.shares(spec)) continue;
    TensorSpec ours = make_spec(node.tensors.at(spec.name));
    if (spec.dims.size() == ours.dims.size() + 1 && spec.dims.front() == 1)
      ours = in_one_group(std::move(ours));
    const bool same = spec.dims == ours.dims
                          ? same_places(spec, ours)
                          : !spec.layout && !spec.opaque && spec.elements() == ours.elements();
    if (!same || spec.type != ours.type)
      return fmt::format("its {} is laid out in another way than the network's", spec.name);
  }
  return "";
}

Result<Executor::Candidate> Executor::make_candidate(const GraphNode& node, const Choice& choice,
                                                     Plugins& plugins, Communicator& ranks) const {
  Result<Backend*> opened = plugins.open(choice.backend);
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  Backend& backend = *std::get<Backend*>(opened);
  Options options;
  options.threads = settings_.threads;
  options.settings["backend"] = choice.backend;
  Candidate candidate;
  candidate.choice = choice;
  if (choice.has_sums()) {
    candidate.shared = node.gives != nullptr ? node.gives : node.takes;
    options.settings[candidate.shared->setting] = candidate.shared->value;
  } else if (!choice.algorithm.empty()) {
    options.settings["algorithm"] = choice.algorithm;
  }
  options.settings["device"] = settings_.device;
  if (!node.layout.empty() && !row_major_)
    options.settings["layout"] = filters_last() ? node.layout_filters_last : node.layout;
  Result<Device*> device = backend.device(options);
  if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
  Result<std::unique_ptr<Operation>> result = backend.make(*node.problem, options, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&result)) return std::move(*refusal);
  candidate.device = std::get<Device*>(device);
  candidate.operation = std::move(std::get<std::unique_ptr<Operation>>(result));
  if (const std::string why = why_not_layout(node, candidate); !why.empty())
    return Unsupported{why};
  if (candidate.shared != nullptr &&
      std::ranges::count_if(candidate.operation->arguments(), [&](const TensorSpec& spec) {
        return candidate.shares(spec);
      }) != std::ssize(candidate.shared->names))
    return Unsupported{fmt::format("{} makes no sums", choice.backend)};
  if (const std::string compute = candidate.operation->execution().compute;
      settings_.wide_products && node.problem->flops() > 0 && compute != name_of_fp32 &&
      compute != name_of_fp64)
    return Unsupported{
        fmt::format("it forms products in {}", compute.empty() ? "an unknown type" : compute)};
  candidate.count_scratch();
  return candidate;
}

bool Executor::Candidate::shares(const TensorSpec& spec) const {
  return shared != nullptr && std::ranges::count(shared->names, spec.name) > 0;
}

std::map<std::string, std::size_t> Executor::Candidate::shared_bytes() const {
  std::map<std::string, std::size_t> all;
  for (const TensorSpec& spec : operation->arguments())
    if (shares(spec)) all[spec.name] = spec.bytes;
  return all;
}

void Executor::Candidate::count_scratch() {
  for (const TensorSpec& spec : operation->arguments()) {
    if (!is_scratch(spec) || shares(spec)) continue;
    scratch += in_lines(spec.bytes);
    has_prologue |= spec.role != Role::workspace;
  }
}

void Executor::allocate() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) phases_[graph_.nodes[i].phase].push_back(i);
  runs_.resize(graph_.nodes.size());
  host_included_.resize(graph_.nodes.size());
  const std::size_t count = graph_.values.size();
  std::vector<Lifetime> lifetimes(count, {0, std::numeric_limits<std::size_t>::max(), 0});
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    for (const auto& [name, value] : graph_.nodes[i].tensors) {
      lifetimes[value].first = std::min(lifetimes[value].first, i);
      lifetimes[value].last = std::max(lifetimes[value].last, i);
    }
  std::size_t persistent = 0;
  for (std::size_t v = 0; v < count; ++v) {
    const std::size_t bytes = count_bytes(graph_.values[v], graph_.elements(v));
    if (graph_.values[v].storage == Storage::planned)
      lifetimes[v].bytes = lifetimes[v].first <= lifetimes[v].last ? bytes : 0;  // 0: fuse()
    else if (graph_.values[v].storage == Storage::persistent && !settings_.memory.contains(v))
      persistent += in_lines(bytes);
  }
  // Scratch memory is planned as a tensor of its node. It adds little to the peak: when most
  // activations are alive, the running layers are small.
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    std::size_t scratch = 0;
    for (const Candidate& candidate : candidates_[i])
      scratch = std::max(scratch, candidate.scratch);
    lifetimes.push_back({scratch, i, i});
  }
  const MemoryPlan plan = plan_memory(lifetimes);
  arena_bytes_ = plan.bytes;
  std::size_t of_sums = 0;
  for (const std::size_t first : summed_) {
    sums_at_[first] = sums_at_[first + 1] = of_sums;
    for (const auto& [name, bytes] : candidates_[first].back().shared_bytes())
      of_sums += in_lines(bytes);
  }
  bytes_ = arena_bytes_ + persistent + of_sums;
  if (bytes_ > device_->memory_available())
    throw CaseError(
        fmt::format("the network needs {:.3g} GiB of memory, but {:.3g} GiB are available. Use a "
                    "smaller batch.",
                    static_cast<double>(bytes_) / (1 << 30),
                    static_cast<double>(device_->memory_available()) / (1 << 30)));
  arena_ = allocate_arena(std::max<std::size_t>(arena_bytes_, 64));
  sums_bytes_ = of_sums;
  if (of_sums > 0) sums_ = allocate_arena(of_sums);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    scratch_.push_back({plan.offsets[count + i], lifetimes[count + i].bytes});
  places_.resize(count);
  for (std::size_t v = 0; v < count; ++v) {
    const GraphValue& value = graph_.values[v];
    const std::size_t bytes = in_lines(count_bytes(value, graph_.elements(v)));
    if (value.storage == Storage::planned) {
      places_[v] = within(arena_, plan.offsets[v]);
    } else if (value.storage == Storage::persistent) {
      const auto entry = settings_.memory.find(v);
      places_[v] = entry != settings_.memory.end() ? entry->second : allocate_arena(bytes);
      if (entry == settings_.memory.end()) fill(places_[v].get(), 0, bytes);
    }
  }
  for (std::size_t v = 0; v < count; ++v)
    if (graph_.values[v].storage == Storage::part) place_part(v);
  if (graph_.lags()) bind_swapped();
  for (std::size_t v = 0; v < count; ++v) tensors_.push_back(make_tensor(v));
  for (std::size_t v = 0; v < count; ++v)
    if (const std::vector<double>& all = graph_.values[v].constant; !all.empty())
      device_->put(*tensors_[v], [&all](std::int64_t first, std::span<double> out) {
        std::copy_n(all.begin() + first, out.size(), out.begin());
      });
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    for (Candidate& candidate : candidates_[i]) {
      candidate.now = binding(candidate, i);
      candidate.operation->bind(candidate.now.bound);
    }
}

bool Executor::is_host() const { return device_->name() == "cpu"; }

std::shared_ptr<void> Executor::allocate_arena(std::size_t bytes) const {
  if (is_host()) return device_->host_memory(bytes);
  const std::shared_ptr<Tensor> whole = device_->allocate(
      plain_tensor("network", Role::workspace, DataType::u8, {static_cast<std::int64_t>(bytes)}));
  return {whole, whole->data()};
}

void Executor::fill(void* place, unsigned char with, std::size_t bytes) const {
  if (is_host()) {
    std::memset(place, with, bytes);
    return;
  }
  if (bytes == 0) return;
  TensorSpec spec =
      plain_tensor("memory", Role::workspace, DataType::u8, {static_cast<std::int64_t>(bytes)});
  spec.memory = [place](std::size_t) {
    return std::shared_ptr<void>(std::shared_ptr<void>(), place);
  };
  device_->fill(*device_->allocate(spec), with);
}

void Executor::clear(ValueIndex value) {
  fill(places_[value].get(), 0, count_bytes(graph_.values[value], graph_.elements(value)));
}

void Executor::place_part(ValueIndex value) {
  const GraphValue& part = graph_.values[value];
  places_[value] =
      within(places_[part.whole], static_cast<std::size_t>(part.offset) * size_of(part.type));
}

std::unique_ptr<Tensor> Executor::make_tensor(ValueIndex value) const {
  TensorSpec spec = make_spec(value);
  spec.memory = [place = places_[value]](std::size_t) { return place; };
  return device_->allocate(spec);
}

Executor::Binding Executor::binding(const Candidate& candidate, std::size_t index) const {
  const GraphNode& node = graph_.nodes[index];
  Binding binding;
  std::size_t scratch = scratch_[index].offset;
  for (TensorSpec spec : candidate.operation->arguments()) {
    std::shared_ptr<void> place;
    if (candidate.shares(spec)) {
      const auto& names = candidate.shared->names;
      const auto which = std::ranges::find(names, spec.name) - names.begin();
      place = within(sums_,
                     sums_at_.at(index) + static_cast<std::size_t>(which) * in_lines(spec.bytes));
    } else if (is_scratch(spec)) {
      place = within(arena_, scratch);
      scratch += in_lines(spec.bytes);
    } else {
      place = places_[node.tensors.at(spec.name)];
    }
    spec.memory = [place](std::size_t) { return place; };
    binding.own.push_back(candidate.device->allocate(spec));
    binding.bound.push_back(binding.own.back().get());
  }
  return binding;
}

bool Executor::is_swapped(ValueIndex value) const {
  const GraphValue& graph_value = graph_.values[value];
  return value == graph_.gradients || value == graph_.lagged ||
         (graph_value.storage == Storage::part && graph_value.whole == graph_.gradients);
}

void Executor::swap_places() {
  std::swap(places_[graph_.gradients], places_[graph_.lagged]);
  for (ValueIndex v = 0; v < graph_.values.size(); ++v)
    if (graph_.values[v].storage == Storage::part && is_swapped(v)) place_part(v);
}

/// Made once, so that swap_gradients() allocates nothing.
void Executor::bind_swapped() {
  swap_places();
  swapped_tensors_.resize(graph_.values.size());
  for (ValueIndex v = 0; v < graph_.values.size(); ++v)
    if (is_swapped(v)) swapped_tensors_[v] = make_tensor(v);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& tensors = graph_.nodes[i].tensors;
    if (std::none_of(tensors.begin(), tensors.end(),
                     [this](const auto& tensor) { return is_swapped(tensor.second); }))
      continue;
    for (Candidate& candidate : candidates_[i]) candidate.swapped = binding(candidate, i);
  }
  swap_places();
}

void Executor::swap_gradients() {
  swap_places();
  for (ValueIndex v = 0; v < swapped_tensors_.size(); ++v)
    if (swapped_tensors_[v]) std::swap(tensors_[v], swapped_tensors_[v]);
  swapped_ = !swapped_;
  for (std::vector<Candidate>& all : candidates_)
    for (Candidate& candidate : all) {
      if (candidate.swapped.bound.empty()) continue;
      std::swap(candidate.now, candidate.swapped);
      candidate.operation->bind(candidate.now.bound);
    }
}

void Executor::run(Candidate& candidate) const {
  Stream& stream = candidate.device->stream();
  if (candidate.has_prologue) candidate.operation->prologue(stream);
  candidate.operation->run(stream);
}

void Executor::run_node(std::size_t node) {
  if (observer_ != nullptr) observer_->before(node);
  run(candidates_[node].front());
  ++runs_[node];
  if (observer_ != nullptr) observer_->after(node);
}

void Executor::run(Phase phase) {
  const std::vector<std::size_t>& nodes = phases_[phase];
  if (nodes.empty()) return;
  const auto one_by_one = [&] {
    for (const std::size_t i : nodes) run_node(i);
  };
  if (observer_ != nullptr) return one_by_one();
  // A recording contains only work of this stream, so all nodes must use its device.
  const bool warm = std::ranges::all_of(nodes, [this](std::size_t i) {
    return runs_[i] > 0 && candidates_[i].front().device == device_;
  });
  const std::int64_t before = runs_[nodes.front()];
  recordings_.run(make_key(phase, swapped_), device_->stream(), warm, one_by_one);
  // A recording submits its nodes uncounted; if recording failed, they may be counted twice.
  const std::int64_t missed = before + 1 - runs_[nodes.front()];
  for (const std::size_t i : nodes) runs_[i] += missed;
}

double Executor::measure_seconds(Candidate& candidate) const {
  Stream& stream = candidate.device->stream();
  Hold hold(stream, !candidate.early.in_vain());
  stream.mark(0);
  run(candidate);
  stream.mark(1);
  candidate.early.release(hold);
  stream.wait();
  return stream.seconds(0, 1);
}

double Executor::run_timed(std::size_t node) {
  Candidate& candidate = candidates_[node].front();
  const double seconds = measure_seconds(candidate);
  if (!candidate.early.why().empty()) host_included_[node] = candidate.early.why();
  return seconds;
}

void Executor::run_timed(Phase phase, std::span<double> seconds) {
  constexpr std::size_t most = 15;  // one less than the marks of a stream
  const std::vector<std::size_t>& nodes = phases_[phase];
  for (std::size_t first = 0, last = 0; first < nodes.size(); first = last) {
    Candidate& begins = candidates_[nodes[first]].front();
    Stream& stream = begins.device->stream();
    Hold hold(stream, !begins.early.in_vain());
    stream.mark(0);
    for (; last < nodes.size() && last - first < most; ++last) {
      Candidate& candidate = candidates_[nodes[last]].front();
      if (candidate.device != begins.device) break;
      run(candidate);
      stream.mark(static_cast<int>(last - first) + 1);
    }
    begins.early.release(hold);
    stream.wait();
    for (std::size_t i = first; i < last; ++i) {
      const auto mark = static_cast<int>(i - first);
      seconds[nodes[i]] += stream.seconds(mark, mark + 1);
      if (!begins.early.why().empty()) host_included_[nodes[i]] = begins.early.why();
    }
  }
}

std::shared_ptr<void> Executor::memory(ValueIndex value) const { return places_[value]; }

std::span<Tensor* const> Executor::arguments(std::size_t node) const {
  return candidates_[node].front().now.bound;
}

std::vector<Choice> Executor::list_chosen() const {
  std::vector<Choice> all;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    all.push_back({choice(i).backend, choice(i).is_own() && !choice(i).algorithm.empty()
                                          ? choice(i).algorithm
                                          : execution(i).algorithm});
  return all;
}

Execution Executor::execution(std::size_t node) const {
  return candidates_[node].front().operation->execution();
}

void Executor::poison_scratch(std::size_t node) {
  fill(within(arena_, scratch_[node].offset).get(), 0xff, scratch_[node].bytes);
}

void Executor::poison() {
  fill(arena_.get(), 0xff, arena_bytes_);
  if (sums_) fill(sums_.get(), 0xff, sums_bytes_);
  const auto spoil = [&](ValueIndex value) {
    fill(places_[value].get(), 0xff, count_bytes(graph_.values[value], graph_.elements(value)));
  };
  for (const ValueIndex value :
       {graph_.logits, graph_.losses, graph_.correct, graph_.correlations, graph_.confusion})
    if (value != Graph::none) spoil(value);
  // One by one, so that the gaps between them stay 0.
  if (graph_.gradients != Graph::none)
    for (const Parameter& parameter : graph_.parameters) spoil(parameter.gradient);
  if (graph_.accumulates()) spoil(graph_.gradients);  // each step begins with zeros in all of it
}

}  // namespace assay
