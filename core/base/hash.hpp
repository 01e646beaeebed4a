#pragma once
// The one content hash: suites, hardware and software are compared by it.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// SHA-1 UUID of the canonical JSON text of `content`; `kind` ("suite") keeps unlike things apart.
std::string content_hash(const std::string& kind, const nlohmann::json& content);

}  // namespace assay
