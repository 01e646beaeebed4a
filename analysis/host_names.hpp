#pragma once
// Names of hosts, with and without their domains.

#include <string>

namespace assay {

/// A host's name without its domain: equal for names of one host.
std::string short_name(const std::string& host);
/// True if two names are of one host: equal, or one is the other without its domain.
bool same_host(const std::string& a, const std::string& b);

}  // namespace assay
