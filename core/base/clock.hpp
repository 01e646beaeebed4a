#pragma once

#include <string>

namespace assay {

/// The present time in UTC, as RFC 3339 writes it, with milliseconds.
std::string utc_now();

}  // namespace assay
