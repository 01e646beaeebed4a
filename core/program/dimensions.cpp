#include "assay/known_backends.hpp"
#include "core/machine/environment.hpp"
#include "core/program/benchmark.hpp"

namespace assay::dimension {

Dimension backend(const std::string& operation, std::vector<std::string> defaults) {
  Dimension made{"backend", "backend that executes the problem (see `assay list backends`)",
                 {},        std::move(defaults),
                 "",        "",
                 true};
  for (const KnownBackend& known : known_backends)
    if (known.operation == operation) made.values.emplace_back(known.backend);
  return made;
}

Dimension precision(std::vector<std::string> values, std::vector<std::string> defaults) {
  return {"precision", "storage of the tensors", std::move(values), std::move(defaults), "", ""};
}

Dimension algorithm(std::vector<std::string> values) {
  return {"algorithm",
          "algorithm; `auto` lets the library choose, backends may accept further names",
          std::move(values),
          {"auto"},
          "",
          ""};
}

Dimension problem(std::vector<std::string> defaults) {
  return {"problem", "a descriptor, a list, or LIST/NAME; fields after @ override (resnet50@mb32)",
          {},        std::move(defaults),
          "",        ""};
}

Dimension cache() {
  return {"cache",
          "data of an iteration in cache, or rotated through memory",
          {"hot", "cold"},
          {"hot"},
          "",
          ""};
}

Dimension threads() {
  Dimension made{"threads", "threads of a rank; all: 1, 2, 4 … and as many as there are processors",
                 {},        {std::to_string(processors())},
                 "t",       ""};
  for (int count = 1; count < processors(); count *= 2) made.every.push_back(std::to_string(count));
  made.every.push_back(std::to_string(processors()));
  return made;
}

Dimension layout(std::vector<std::string> values) {
  return {"layout", "tensor layout; any is the backend's choice", std::move(values), {"any"}, "",
          "any"};
}

Dimension device() { return {"device", "device to run on", {"cpu", "gpu"}, {"cpu"}, "", "cpu"}; }

}  // namespace assay::dimension
