#include "models/network/network_family.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

NamedNetwork find_named_network(const std::string& descriptor) {
  // Accepts "mlp:w64", and "mlpw64", which results from "mlp@w64". One name may begin with another
  // one, so the longest match counts.
  const NetworkFamily* longest = nullptr;
  std::vector<std::string> names;
  for (const NetworkFamily& family : network_families()) {
    names.push_back(family.name);
    if (descriptor.starts_with(family.name) &&
        (longest == nullptr || family.name.size() > longest->name.size()))
      longest = &family;
  }
  if (longest == nullptr)
    throw InputError(
        explain_unknown_name("network", descriptor.substr(0, descriptor.find(':')), names));
  const std::string rest = descriptor.substr(longest->name.size());
  return {longest, rest.starts_with(':') ? rest.substr(1) : rest};
}

}  // namespace assay
