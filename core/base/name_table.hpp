#pragma once
// The names of the values of an enumeration.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

/// True if the enumeration type of `value` has an enumerator with this value. C++20 cannot tell,
/// but the function's name does, in g++ and clang: "Kind::copy" for an enumerator, "(Kind)7" for
/// other values.
template <auto value>
constexpr bool is_enumerator() {
  static_assert(std::is_enum_v<decltype(value)>);
  const std::string_view function = __PRETTY_FUNCTION__;
  const char behind = function[function.rfind(')') + 1];
  return behind != '-' && (behind < '0' || behind > '9');
}

/// One name for each enumerator; enumerators have the values 0, 1, …. A table with a missing or an
/// additional name does not compile.
template <class Enum>
class NameTable {
 public:
  /// `what` ("direction") names the enumeration in the message of an unknown name.
  template <std::size_t count>
  explicit NameTable(const char* const (&names)[count], std::string what = "")
      : names_(names, names + count), what_(std::move(what)) {
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

  /// The value of a name. Throws InputError with the nearest name.
  Enum at(std::string_view name) const {
    if (const auto value = find(name)) return *value;
    throw InputError(explain_unknown_name(what_, name, names_));
  }

 private:
  std::vector<std::string> names_;
  std::string what_;
};

/// An enumeration that has `const NameTable<Enum>& get_name_table(Enum)` beside it.
template <class Enum>
concept Named = requires(Enum value) {
  get_name_table(value).names();
};

template <Named Enum>
const std::string& name(Enum value) {
  return get_name_table(value)[value];
}
/// In the order of the enumerators.
template <Named Enum>
const std::vector<std::string>& list_names() {
  return get_name_table(Enum{}).names();
}
/// InputError for an unknown name.
template <Named Enum>
Enum parse_name(std::string_view name) {
  return get_name_table(Enum{}).at(name);
}

}  // namespace assay
