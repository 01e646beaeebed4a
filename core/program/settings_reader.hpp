#pragma once
// Reads the settings of a case into the struct of its benchmark (Benchmark::complete()).

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "core/measure/case.hpp"

namespace assay {

/// Each number that it reads gets its canonical text in the settings, so that equal numbers are one
/// id. InputError names the flag of a setting that is not a number within its limits.
class SettingsReader {
 public:
  explicit SettingsReader(Settings& settings) : settings_(settings) {}

  const std::string& text(const std::string& name) const { return settings_.at(name); }
  bool is(const std::string& name, const char* value) const { return settings_.at(name) == value; }
  template <class Number>
  void whole(const std::string& name, Number& value, std::uint64_t least, std::uint64_t most) {
    value = static_cast<Number>(read_whole(name, least, most));
  }
  void number(const std::string& name, double& value, double least, double most);
  /// `what` ("weight") is used in the message.
  void positive(const std::string& name, double& value, const std::string& what, double most);
  /// Replaces the value of a setting that has no effect on the case, and of its member.
  template <class Number>
  void set(const std::string& name, Number& member, std::type_identity_t<Number> value) {
    member = value;
    settings_[name] = fmt::format("{}", value);
  }

 private:
  std::uint64_t read_whole(const std::string& name, std::uint64_t least, std::uint64_t most);

  Settings& settings_;
};

}  // namespace assay
