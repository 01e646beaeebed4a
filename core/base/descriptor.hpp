#pragma once
// Parsing of problem descriptors ("m64n64k64"), for all kinds of problems.

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace assay {

/// Throws the error of an invalid descriptor: InputError "gemm problem 'm0n1k1': m is 0 …".
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

/// Reads the whole number at the beginning of [at, end) and moves `at` behind it. Throws if there
/// is not a number, or if the number is less than `least` or does not fit 64 bits.
std::int64_t read_count(const char*& at, const char* end, const std::string& field,
                        std::int64_t least, const DescriptorComplaint& complain);

/// The values of the fields of a descriptor: "n262144d250" gives {"n": 262144, "d": 250}. '_' may
/// separate fields. A value must be at least 1; that of a field in `may_be_zero` may be 0. Throws
/// for a field that is not in `known`, for one that is given twice, and if one of `required` is
/// missing.
std::map<std::string, std::int64_t> read_counts(const std::string& text,
                                                const std::vector<std::string>& known,
                                                const std::vector<std::string>& required,
                                                const DescriptorComplaint& complain,
                                                const std::vector<std::string>& may_be_zero = {});

/// The product of `factors` (names of fields with their values). `what` names it in the message.
/// Throws, with the first field at which the product exceeds 64 bits.
std::int64_t product(std::initializer_list<std::pair<const char*, std::int64_t>> factors,
                     const char* what, const DescriptorComplaint& complain);

}  // namespace assay
