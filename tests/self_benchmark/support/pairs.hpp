#pragma once
// The common part of every ratio in C++: --pairs N, the alternation, the output that
// scripts/self-benchmark reads.

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace assay::self_benchmark {

inline int pairs_from(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--pairs") return std::stoi(argv[i + 1]);
  }
  return 30;
}

/// The value of a word NAME=VALUE, which a line `each:` has; "" if there is none.
inline std::string each_value(int argc, char** argv, const std::string& name) {
  for (const std::string_view word : std::span(argv, static_cast<std::size_t>(argc)))
    if (word.starts_with(name + "=")) return std::string(word.substr(name.size() + 1));
  return "";
}

/// Measures both sides in turn, the first of a pair swapped pair by pair, so that neither drift nor
/// what the other side leaves in the caches favours one.
inline nlohmann::json alternate(int pairs, const std::function<double()>& a,
                                const std::function<double()>& b) {
  nlohmann::json all = nlohmann::json::array();
  for (int pair = 0; pair < pairs; ++pair) {
    const bool swapped = pair % 2 != 0;
    const double first = swapped ? b() : a();
    const double second = swapped ? a() : b();
    all.push_back(swapped ? nlohmann::json{second, first} : nlohmann::json{first, second});
  }
  return all;
}

/// Runs `body`, which returns {"pairs": …, "unit": …, "note": …} or {"skip": reason}, and prints
/// it.
inline int print(const std::function<nlohmann::json()>& body) {
  try {
    std::cout << body() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 7;
  }
}

}  // namespace assay::self_benchmark
