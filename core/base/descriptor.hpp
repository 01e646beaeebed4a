#pragma once
// What readers of problem descriptors ("m64n64k64") share.

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace assay {

/// Refuses a descriptor: InputError "gemm problem 'm0n1k1': m is 0 …".
class DescriptorComplaint {
 public:
  DescriptorComplaint(std::string benchmark, std::string descriptor)
      : benchmark_(std::move(benchmark)), descriptor_(std::move(descriptor)) {}
  template <class... Arguments>
  [[noreturn]] void operator()(fmt::format_string<Arguments...> text,
                               Arguments&&... arguments) const {
    throw InputError(fmt::format("{} problem '{}': {}", benchmark_, descriptor_,
                                 fmt::format(text, std::forward<Arguments>(arguments)...)));
  }

 private:
  std::string benchmark_, descriptor_;
};

/// The whole number at the beginning of [at, end), which then begins behind it. Refused: negative,
/// none, over 64 bits, below `least`.
std::int64_t read_count(const char*& at, const char* end, const std::string& field,
                        std::int64_t least, const DescriptorComplaint& complain);

/// `text`, "n262144d250", as numbers by the names of their fields, each at least 1, or 0 for those
/// of `may_be_zero`; '_' may separate them. Refused: unknown fields, the same one twice, one of
/// `required` that is missing.
std::map<std::string, std::int64_t> read_counts(const std::string& text,
                                                const std::vector<std::string>& known,
                                                const std::vector<std::string>& required,
                                                const DescriptorComplaint& complain,
                                                const std::vector<std::string>& may_be_zero = {});

/// factor * … where that fits 64 bits; else the field at which it does not is named.
std::int64_t product(std::initializer_list<std::pair<const char*, std::int64_t>> factors,
                     const char* what, const DescriptorComplaint& complain);

}  // namespace assay
