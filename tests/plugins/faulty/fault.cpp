#include "fault.hpp"

#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>

#include "core/api/precision.hpp"

namespace faulty {

namespace {

const std::map<std::string, Fault>& faults() {
  static const std::map<std::string, Fault> all{{"wrong_element", Fault::wrong_element},
                                                {"wrong_element_late", Fault::wrong_element_late},
                                                {"nan", Fault::nan},
                                                {"inf", Fault::inf},
                                                {"wrong_precision", Fault::wrong_precision},
                                                {"crash", Fault::crash},
                                                {"quit", Fault::quit},
                                                {"hang", Fault::hang},
                                                {"throw", Fault::throws},
                                                {"flip", Fault::flip},
                                                {"skip", Fault::skip},
                                                {"slow", Fault::slow},
                                                {"mutter", Fault::mutter},
                                                {"mutter_and_abort", Fault::mutter_and_abort},
                                                {"abort_in_make", Fault::abort_in_make},
                                                {"crash_in_create", Fault::crash_in_create}};
  return all;
}

std::vector<double> values_of(assay::Device& device, assay::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.spec().elements()));
  device.get(tensor, [&](std::int64_t first, std::span<const double> part) {
    std::copy(part.begin(), part.end(), values.begin() + first);
  });
  return values;
}

void put_back(assay::Device& device, assay::Tensor& tensor, const std::vector<double>& values) {
  device.put(tensor, [&](std::int64_t first, std::span<double> part) {
    std::copy_n(values.begin() + first, part.size(), part.begin());
  });
}

}  // namespace

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const auto& [name, fault] : faults()) names.push_back(name);
  return names;
}

Fault fault_of(const std::string& name) {
  const auto found = faults().find(name);
  return found == faults().end() ? Fault::none : found->second;
}

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

void strike(Fault fault) {
  switch (fault) {
    case Fault::crash:
    case Fault::crash_in_create:
      // raise() is not used: a handler that a library has set must see a real fault.
      *static_cast<volatile int*>(nullptr) = 1;
      break;
    case Fault::quit:
      _exit(0);
    case Fault::abort_in_make:
      std::abort();
    case Fault::mutter:
    case Fault::mutter_and_abort:
      std::cerr << "muttered (injected)" << std::endl;
      if (fault == Fault::mutter_and_abort) std::abort();
      break;
    case Fault::hang:
      for (;;) pause();
    case Fault::throws:
      throw std::runtime_error("the library reports an asynchronous error (injected)");
    default:
      break;
  }
}

void linger(std::chrono::steady_clock::time_point began) {
  using Clock = std::chrono::steady_clock;
  const double part = std::stod(environment("ASSAY_FAULT_SLOW", "0.05"));
  const Clock::time_point ended = Clock::now();
  const auto until = ended + std::chrono::duration_cast<Clock::duration>((ended - began) * part);
  while (Clock::now() < until) {
  }
}

void spoil(assay::Device& device, assay::Tensor& output, Fault fault) {
  std::vector<double> values = values_of(device, output);
  std::mt19937_64 random(std::stoull(environment("ASSAY_FAULT_SEED", "1")));
  const std::size_t place = random() % values.size();
  if (fault == Fault::nan) {
    values[place] = std::numeric_limits<double>::quiet_NaN();
  } else if (fault == Fault::inf) {
    values[place] = std::numeric_limits<double>::infinity();
  } else {
    double squares = 0;
    for (const double value : values) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(values.size()));
    values[place] += std::stod(environment("ASSAY_FAULT_SIZE", "1e-3")) * rms;
  }
  put_back(device, output, values);
}

Flips::Flips()
    : random_(std::stoull(environment("ASSAY_FAULT_SEED", "1"))),
      every_(std::stod(environment("ASSAY_FAULT_EVERY", "1000"))),
      first_second_(std::stod(environment("ASSAY_FAULT_FROM", "0"))),
      when_(environment("ASSAY_FAULT_WHEN", "")) {}

bool Flips::holds() const {
  const std::string kind = when_.substr(0, when_.find(':'));
  if (kind.empty()) return true;
  const std::string rest = when_.substr(kind.size() + 1);
  if (kind == "processor") return sched_getcpu() == std::stoi(rest);
  if (kind == "above") {
    double now = 0;
    std::ifstream(rest.substr(rest.find(':') + 1)) >> now;
    return now > std::stod(rest);
  }
  std::string averages, tasks;
  std::ifstream load("/proc/loadavg");
  load >> averages >> averages >> averages >> tasks;  // "2/345"
  return std::stoi(tasks) >= std::stoi(rest);
}

bool Flips::now() {
  const std::chrono::duration<double> age = std::chrono::steady_clock::now() - start_;
  if (age.count() < first_second_) return false;
  return std::uniform_real_distribution<>(0, 1)(random_) < 1 / every_ && holds();
}

void Flips::maybe(const std::vector<assay::Tensor*>& outputs) {
  if (outputs.empty() || !now()) return;
  assay::Tensor& output = *outputs[random_() % outputs.size()];
  const std::size_t size = assay::size_of(output.spec().type);
  auto* const bytes = static_cast<unsigned char*>(output.data());
  const std::size_t element = random_() % static_cast<std::size_t>(output.spec().elements());
  const std::uint64_t bit = random_() % (8 * size), other = (bit + 1 + random_() % 7) % (8 * size);
  for (const std::uint64_t each : {bit, other})
    bytes[element * size + each / 8] ^= static_cast<unsigned char>(1U << (each % 8));
  std::ofstream(environment("ASSAY_FAULT_LOG", "/dev/null"), std::ios::app)
      << output.spec().name << ' ' << element << ' ' << bit << ' ' << other << std::endl;
}

void degrade(assay::Device& device, assay::Tensor& input) {
  std::vector<double> values = values_of(device, input);
  for (double& value : values) value = assay::round_to(assay::DataType::bf16, value);
  put_back(device, input, values);
}

}  // namespace faulty
