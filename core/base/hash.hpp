#pragma once
// The content hash that identifies suites, hardware and software.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// The name-based SHA-1 UUID (RFC 4122, version 5) of the canonical JSON text of `content`.
/// Contents of different `kind` ("suite") have different hashes.
std::string content_hash(const std::string& kind, const nlohmann::json& content);

}  // namespace assay
