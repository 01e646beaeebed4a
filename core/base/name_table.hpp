#pragma once
// The names of an enumeration's values, kept once.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

/// Whether the type of `value` has an enumerator of this value. The language cannot say so, but g++
/// and clang write it into a function's name: "Kind::copy" for an enumerator, "(Kind)7" for none.
template <auto value>
constexpr bool is_enumerator() {
  static_assert(std::is_enum_v<decltype(value)>);
  const std::string_view function = __PRETTY_FUNCTION__;
  const char behind = function[function.rfind(')') + 1];
  return behind != '-' && (behind < '0' || behind > '9');
}

/// One name for each enumerator, in their order from 0 on. A name too few or too many does not
/// compile, so neither does an enumerator that is added without one.
template <class Enum>
class NameTable {
 public:
  template <std::size_t count>
  explicit NameTable(const char* const (&names)[count]) : names_(names, names + count) {
    static_assert(is_enumerator<static_cast<Enum>(count - 1)>(), "more names than enumerators");
    static_assert(!is_enumerator<static_cast<Enum>(count)>(), "an enumerator has no name");
  }

  const std::vector<std::string>& names() const { return names_; }
  const std::string& operator[](Enum value) const {
    return names_.at(static_cast<std::size_t>(value));
  }

  std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return static_cast<Enum>(i);
    return std::nullopt;
  }

  /// `what` ("direction") is for the message. InputError with the nearest name.
  Enum at(std::string_view what, std::string_view name) const {
    if (const auto value = find(name)) return *value;
    throw InputError(unknown_name(what, name, names_));
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace assay
