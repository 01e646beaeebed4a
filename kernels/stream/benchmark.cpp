#include "kernels/stream/benchmark.hpp"

#include <set>
#include <utility>

#include "core/machine/placement.hpp"
#include "kernels/stream/problem.hpp"

namespace assay {

std::string StreamBenchmark::description() const {
  return "what the machine can do at most: memory and cache bandwidth, latency, peak arithmetic";
}

std::vector<Dimension> StreamBenchmark::dimensions() const {
  Dimension algorithm = dimension::algorithm({"auto", "regular", "nontemporal"});
  algorithm.help = "stores of copy, scale, add, triad; auto is regular";
  const auto place = [](const char* name, const char* help, std::vector<std::string> every) {
    Dimension made;
    made.name = name;
    made.help = help;
    made.defaults = {"any"};
    made.omit = "any";
    made.every = std::move(every);
    return made;
  };
  // A sweep also fills each part of the machine.
  Dimension threads = dimension::threads();
  std::set<int> counts;
  for (const std::string& count : threads.every) counts.insert(std::stoi(count));
  for (const int count : full_teams())
    if (count > 0 && count <= *counts.rbegin()) counts.insert(count);
  threads.every.clear();
  for (const int count : counts) threads.every.push_back(std::to_string(count));
  return {
      dimension::precision(precision_names(), {"fp64"}),
      dimension::backend("stream", {"native"}),
      algorithm,
      dimension::problem({"stream"}),
      dimension::cache(),
      std::move(threads),
      place("numa", "NUMA node that threads and memory are bound to, any, or all", numa_nodes()),
      place("smt", "hardware threads of a core, each bound to one of the threads, any, or all",
            smt_levels()),
      dimension::device()};
}

std::string StreamBenchmark::canonical(const std::string& descriptor) const {
  return to_descriptor(parse_stream(descriptor));
}

std::unique_ptr<Problem> StreamBenchmark::problem(const Settings& settings) const {
  return std::make_unique<StreamProblem>(parse_stream(settings.at("problem")),
                                         precision(settings.at("precision")),
                                         std::stoi(settings.at("threads")));
}

std::unique_ptr<Oracle> StreamBenchmark::oracle(const Problem& problem) const {
  return stream_oracle(problem_cast<StreamProblem>(problem));
}

}  // namespace assay
