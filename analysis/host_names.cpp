#include "analysis/host_names.hpp"

namespace assay {

std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

bool same_host(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const bool whole = a.find('.') != std::string::npos && b.find('.') != std::string::npos;
  return !whole && short_name(a) == short_name(b);
}

}  // namespace assay
