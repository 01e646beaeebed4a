#include "core/result/row_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

/// Axes that every id names at any value, where the benchmark has them.
constexpr std::array always_named{"direction", "precision",  "backend",   "algorithm",
                                  "cache",     "collective", "transport", "threads"};

/// Axes that the id leaves out at one value (Dimension::omit), so that only another value stands
/// there. An axis that is not listed is not judged: a benchmark may have axes of its own.
struct Omitted {
  const char *benchmark, *axis, *value;
};
constexpr std::array omitted{Omitted{"", "allocator", "system"},
                             Omitted{"", "device", "cpu"},
                             Omitted{"", "layout", "any"},
                             Omitted{"stream", "numa", "any"},
                             Omitted{"stream", "smt", "any"},
                             Omitted{"collectives", "op", "sum"},
                             Omitted{"collectives", "placement", "out_of_place"},
                             Omitted{"collectives", "buffers", "ordinary"},
                             Omitted{"collectives", "mode", "blocking"},
                             Omitted{"collectives", "root", "0"},
                             Omitted{"collectives", "inside", "same"},
                             Omitted{"collectives", "ranks_per_node", "0"},
                             Omitted{"collectives", "wire", "none"},
                             Omitted{"collectives", "replay", "none"},
                             Omitted{"collectives", "fusion", "0"},
                             Omitted{"collectives", "compute", "0"},
                             Omitted{"collectives", "progress", "library"},
                             Omitted{"resnet50", "emulate", "none"},
                             Omitted{"resnet50", "accumulate", "1"},
                             Omitted{"resnet50", "lag", "0"},
                             Omitted{"resnet50", "data", "synthetic"},
                             Omitted{"resnet50", "validation", "none"},
                             Omitted{"resnet50", "epochs", "0"},
                             Omitted{"resnet50", "target", "0.759"},
                             Omitted{"resnet50", "validate_every", "1"},
                             Omitted{"resnet50", "warmup", "0"},
                             Omitted{"resnet50", "schedule", "cosine"},
                             Omitted{"resnet50", "optimizer", "sgd"},
                             Omitted{"resnet50", "rate", "0.1"},
                             Omitted{"resnet50", "smoothing", "0"},
                             Omitted{"resnet50", "scaling", "linear"},
                             Omitted{"resnet50", "trial", "0"},
                             Omitted{"resnet50", "unreached", "incorrect"},
                             Omitted{"resnet50", "wire", "none"}};

bool is_digits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

class Identity {
 public:
  Identity(const json& row, const std::string& where)
      : row_(row),
        where_(where),
        id_(row.at("id").get<std::string>()),
        parts_(split(id_, '/')),
        descriptor_(row.at("problem").at("descriptor").get<std::string>()) {}

  void check() const {
    const std::string benchmark = row_.at("benchmark");
    if (!id_.starts_with(benchmark + "/")) return;
    for (const char* name : always_named)
      if (const auto text = parameter(name); text && !names(name, *text)) refuse_parameter(name);
    for (const Omitted& axis : omitted) {
      if (*axis.benchmark != '\0' && axis.benchmark != benchmark) continue;
      const auto text = parameter(axis.axis);
      if (text && *text != axis.value && !stands(std::string(axis.axis) + "=" + *text))
        refuse_parameter(axis.axis);
    }
    named_values();
    counts();
    problem();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(where_ + what); }
  [[noreturn]] void refuse_parameter(const std::string& name) const {
    refuse(fmt::format("/parameters/{}: found {}, expected a value of the id {}.", name,
                       row_.at("parameters").at(name).dump(), json(id_).dump()));
  }

  /// As the id would write it.
  std::optional<std::string> parameter(const std::string& name) const {
    const json value = row_.at("parameters").value(name, json());
    if (value.is_null()) return std::nullopt;
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  /// A value may hold slashes.
  bool stands(const std::string& text) const {
    return (id_ + "/").find("/" + text + "/") != std::string::npos;
  }
  bool names(const std::string& name, const std::string& text) const {
    return stands(text) || stands(name + "=" + text) || stands(name.substr(0, 1) + text);
  }

  /// "/placement=in_place"
  void named_values() const {
    for (const std::string& part : parts_) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos) continue;
      const std::string name = part.substr(0, equals);
      const auto text = parameter(name);
      if (text && !stands(name + "=" + *text)) refuse_parameter(name);
    }
  }

  /// "/r8/n2": of benchmarks whose cases are of several ranks.
  void counts() const {
    for (const std::string& part : parts_)
      for (const char* name : {"ranks", "nodes"})
        if (part != descriptor_ && part.front() == *name && is_digits(part.substr(1)))
          if (const auto text = parameter(name); text && part.substr(1) != *text)
            refuse_parameter(name);
  }

  void expect(const char* name, const json& expected, const char* origin) const {
    const json& found = row_.at("problem").at(name);
    if (found != expected)
      refuse(fmt::format("/problem/{}: found {}, expected {} ({}).", name, found.dump(),
                         expected.dump(), origin));
  }

  void problem() const {
    const json& problem = row_.at("problem");
    if (!stands(descriptor_))
      refuse(
          fmt::format("/problem/descriptor: found {}, expected the problem of the id "
                      "{}.",
                      json(descriptor_).dump(), json(id_).dump()));
    extents();
    if (problem.contains("ranks") && parameter("ranks"))
      expect("ranks", row_.at("parameters").at("ranks"), "/parameters/ranks");
    // A descriptor of digits alone is a size in bytes.
    if (is_digits(descriptor_) && problem.contains("bytes"))
      expect("bytes", json::parse(descriptor_), "the descriptor");
  }

  /// "mb16ic64": mb is 16, ic is 64, where the problem has members of these names.
  void extents() const {
    for (std::size_t at = 0; at < descriptor_.size();) {
      const auto run = [&](auto belongs) {
        const std::size_t from = at;
        while (at < descriptor_.size() && belongs(static_cast<unsigned char>(descriptor_[at])))
          ++at;
        return descriptor_.substr(from, at - from);
      };
      const std::string name = run([](unsigned char c) { return std::islower(c) != 0; });
      const std::string digits = run([](unsigned char c) { return std::isdigit(c) != 0; });
      if (name.empty() && digits.empty()) ++at;
      // Longer ones are no count that a double holds.
      if (name.empty() || digits.empty() || digits.size() > 15) continue;
      if (row_.at("problem").contains(name))
        expect(name.c_str(), std::stoll(digits), "the descriptor");
    }
  }

  const json& row_;
  const std::string& where_;
  std::string id_;
  std::vector<std::string> parts_;
  std::string descriptor_;
};

}  // namespace

void check_identity(const json& row, const std::string& where) { Identity(row, where).check(); }

void check_allocator(const json& row, const json& environment, const std::string& where) {
  const json asked = row.at("parameters").value("allocator", json("system"));
  static const json::json_pointer place("/software/libraries/allocator/name");
  // Files of older versions do not tell it, and have no such rows.
  if (asked == "system" && !environment.contains(place)) return;
  const json found = environment.contains(place) ? environment.at(place) : json();
  if (asked != found)
    throw InputError(
        fmt::format("{}/parameters/allocator: found {}, expected {} (what the process of the row "
                    "had loaded, as its environment says).",
                    where, asked.dump(), found.dump()));
}

void check_equal_parameters(const json& row, const json& first, const std::string& where) {
  for (const auto& [name, value] : row.at("parameters").items()) {
    const json expected = first.at("parameters").value(name, value);
    if (value != expected)
      throw InputError(
          fmt::format("{}/parameters/{}: found {}, expected {} (another row of its id has that).",
                      where, name, value.dump(), expected.dump()));
  }
}

}  // namespace assay
