#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

/// A position in memory, of arithmetic on sizes and strides that may be negative in between. The
/// caller has shown that `at` is not.
inline std::size_t place(std::int64_t at) { return static_cast<std::size_t>(at); }

}  // namespace assay
