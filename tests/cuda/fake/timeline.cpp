#include "tests/cuda/fake/timeline.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>

extern "C" int fake_gpu_captures();
extern "C" __attribute__((weak)) const char* fake_cudnn_ran();

namespace fake {
namespace {

struct Passing {
  bool known = false;
  double at = 0;
  const void* stream = nullptr;
};

/// The next task of a stream: work, an event, waiting for the event of another, or for a gate.
struct Task {
  double submitted = 0, cost = 0;
  std::shared_ptr<Passing> records{}, waits_for{};
  const std::uint32_t* gate = nullptr;
  std::uint32_t value = 0;
};

struct Queue {
  std::deque<Task> tasks;
  double ready = 0;  ///< when all that has left the queue is done
};

std::map<const void*, Queue> queues;
std::map<const void*, std::shared_ptr<Passing>> events;
const void* last_stream = nullptr;
double begun = 0;
int depth = 0;  ///< calls within calls
unsigned long happened = 0;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double number(const char* name, double otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtod(text, nullptr);
}

/// The factor of the next piece of work.
double drift() {
  static double now = 1;
  const double each = number("FAKE_GPU_DRIFT", 1);
  return now = each == 1 ? 1 : now * each;
}

bool is_open(const Task& task) {
  const std::uint32_t found = __atomic_load_n(task.gate, __ATOMIC_ACQUIRE);
  return static_cast<std::int32_t>(found - task.value) >= 0;
}

/// Lets the stream do what it can. False if it waits for a gate.
bool advance(const void* stream) {
  Queue& queue = queues[stream];
  while (!queue.tasks.empty()) {
    Task& task = queue.tasks.front();
    double start = std::max(queue.ready, task.submitted);
    if (task.gate != nullptr) {
      if (!is_open(task)) return false;
      start = now();
    }
    if (task.waits_for != nullptr) {
      if (const auto passing = task.waits_for; !passing->known) {
        advance(passing->stream);
        if (!passing->known) return false;
        continue;  // that stream may have waited for this one, which is then further
      }
      start = std::max(start, task.waits_for->at);
    }
    if (task.records != nullptr) {
      task.records->at = start;
      task.records->known = true;
    } else {
      queue.ready = start + task.cost;
    }
    queue.tasks.pop_front();
  }
  return true;
}

void submit(const void* stream, Task task) {
  const auto most = static_cast<std::size_t>(number("FAKE_GPU_QUEUE", 1024));
  while (!advance(stream) && queues[stream].tasks.size() >= most) usleep(50);
  task.submitted = task.submitted > 0 ? task.submitted : now();
  queues[stream].tasks.push_back(std::move(task));
  last_stream = stream;
  advance(stream);
}

}  // namespace

void begin_work(const void* stream) {
  ++happened;
  if (depth++ > 0) return;
  if (stream != nullptr) last_stream = stream;
  const double until = now() + 1e-6 * number("FAKE_GPU_SUBMIT_US", 0);
  while (now() < until) {
  }
  begun = now();
}

void memory_changed() { ++happened; }

void end_work(std::size_t pieces) {
  if (--depth > 0 || fake_gpu_captures() != 0) return;
  double each = number("FAKE_GPU_WORK_US", -1);
  if (fake_cudnn_ran != nullptr)
    each = number((std::string("FAKE_GPU_WORK_US_") + fake_cudnn_ran()).c_str(), each);
  Task task;
  task.submitted = begun;
  task.cost = each < 0 ? now() - begun : 1e-6 * each * static_cast<double>(pieces) * drift();
  submit(last_stream, task);
}

void record_time(const void* event, const void* stream) {
  auto& passing = events[event] = std::make_shared<Passing>();
  passing->stream = stream;
  Task task;
  task.records = passing;
  submit(stream, task);
}

void order_time(const void* stream, const void* event) {
  const auto found = events.find(event);
  if (found == events.end()) return;
  Task task;
  task.waits_for = found->second;
  submit(stream, task);
}

void wait_for_gate(const void* stream, const std::uint32_t* gate, std::uint32_t value) {
  Task task;
  task.gate = gate;
  task.value = value;
  submit(stream, task);
}

void finish(const void* stream) {
  while (!advance(stream)) usleep(50);
  if (std::getenv("FAKE_GPU_WORK_US") == nullptr) return;  // the host has taken the time already
  const double ready = queues[stream].ready, left = ready - now();
  if (left > 200e-6) usleep(static_cast<useconds_t>(1e6 * left) - 100);  // which may last longer
  while (now() < ready) {
  }
}

void finish_all() {
  for (const auto& [stream, queue] : queues) finish(stream);
}

bool passed(const void* event) {
  const auto found = events.find(event);
  return found == events.end() || found->second->known || advance(found->second->stream);
}

double time_of(const void* event) { return events[event]->at; }

}  // namespace fake

// Serves other fakes (worked.hpp), and the driver's interface.
extern "C" {
void fake_gpu_begin_work(const void* stream) { fake::begin_work(stream); }
void fake_gpu_end_work() { fake::end_work(1); }
/// Counts whatever may change memory: work, and new memory (submitted.hpp).
unsigned long fake_gpu_happened() { return fake::happened; }
}
