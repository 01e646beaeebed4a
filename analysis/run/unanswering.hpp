#pragma once
// Which hosts of a job cannot be reached any more.

#include <string>
#include <vector>

namespace assay {

/// Of the hosts of some ranks (by rank), those that neither take nor refuse a connection: "ranks 2,
/// 3 on NODE, which does not answer (No route to host)". "" where all answer. This host and names
/// without an address are not asked. Takes three seconds at most, and the time to look up names.
std::string unanswering_hosts(const std::vector<std::string>& rank_hosts);

}  // namespace assay
