#pragma once
// One list of fields both reads and writes a struct:
//
//   void visit_fields(SameAs<Point> auto& point, auto& fields) {
//     fields.always("id", point.id, "median", point.median);  // several in a call
//     fields.nullable("reason", point.reason);
//     fields.optional("note", point.note);
//     fields.count("runs", point.runs);  // a double that is written as an integer
//     fields.rest(point.rest);
//   }
//
// read_fields() fills the struct from a JSON object, write_fields() makes the object of the struct.
// A value may be a struct that has such a list, or a list, a map or an optional of them; a number
// without value is null. Fields that no call names go to and from `rest`, if there is one, so that
// a file of a newer version loses nothing when it is copied.

#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/statistics.hpp"

namespace assay {

/// A type that is Struct or const Struct.
template <class T, class Struct>
concept SameAs = std::same_as<std::remove_const_t<T>, Struct>;

class FieldReader;
class FieldWriter;

namespace fields {

template <class T>
concept Visited = requires(T& value, FieldReader& reader) {
  visit_fields(value, reader);
};

/// The form of a value in JSON.
template <class T>
struct Form {
  static void read(const nlohmann::json& json, T& value);
  static nlohmann::json write(const T& value);
};
/// std::optional and Boxed: null if there is no value.
template <template <class> class Optional, class T>
requires requires(Optional<T> value) { value.has_value(); }
struct Form<Optional<T>> {
  static void read(const nlohmann::json& json, Optional<T>& value) {
    if (json.is_null())
      value.reset();
    else
      Form<T>::read(json, value.emplace());
  }
  static nlohmann::json write(const Optional<T>& value) {
    return value ? Form<T>::write(*value) : nlohmann::json();
  }
};
template <class T>
struct Form<std::vector<T>> {
  static void read(const nlohmann::json& json, std::vector<T>& values) {
    values.clear();
    values.reserve(json.size());
    for (const nlohmann::json& value : json) {
      T element{};
      Form<T>::read(value, element);
      values.push_back(std::move(element));
    }
  }
  static nlohmann::json write(const std::vector<T>& values) {
    nlohmann::json::array_t list;
    list.reserve(values.size());
    for (const T& value : values) list.push_back(Form<T>::write(value));
    return list;
  }
};
template <class T>
struct Form<std::map<std::string, T>> {
  static void read(const nlohmann::json& json, std::map<std::string, T>& values) {
    values.clear();
    for (const auto& [name, value] : json.items()) Form<T>::read(value, values[name]);
  }
  static nlohmann::json write(const std::map<std::string, T>& values) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, value] : values) object[name] = Form<T>::write(value);
    return object;
  }
};

template <>
struct Form<Interval> {
  static void read(const nlohmann::json& list, Interval& interval) {
    interval = {list.at(0).get<double>(), list.at(1).get<double>()};
  }
  static nlohmann::json write(const Interval& interval) { return {interval.low, interval.high}; }
};

/// True if a field carries no information: an empty text, list or object, false, an optional
/// without value.
template <class T>
bool is_nothing(const T& value) {
  if constexpr (std::is_same_v<T, nlohmann::json>)
    return value.is_null() || (value.is_structured() && value.empty());
  else if constexpr (std::is_same_v<T, bool>)
    return !value;
  else if constexpr (requires { value.has_value(); })
    return !value.has_value();
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else
    return false;
}

}  // namespace fields

/// Fills a struct. An absent or null field leaves its value as it is: files are checked by their
/// schemas before. json::exception for a value of another type.
class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& object) : object_(object) {}

  template <class T, class... More>
  void always(const char* name, T& value, More&&... more) {
    optional(name, value, more...);
  }
  template <class T, class... More>
  void nullable(const char* name, T& value, More&&... more) {
    optional(name, value, more...);
  }
  template <class T, class... More>
  void optional(const char* name, T& value, More&&... more) {
    known_.emplace_back(name);
    const auto field = object_.find(name);
    if (field != object_.end() && !field->is_null()) fields::Form<T>::read(*field, value);
    if constexpr (sizeof...(more) > 0) optional(more...);
  }
  void count(const char* name, double& value, auto&&... more) { optional(name, value, more...); }
  /// Call it after all other calls.
  void rest(nlohmann::json& rest) {
    rest = nlohmann::json::object();
    const std::set<std::string_view> known(known_.begin(), known_.end());
    for (const auto& [name, value] : object_.items())
      if (!known.contains(name)) rest[name] = value;
  }
  void rest(std::map<std::string, double>& numbers) {
    nlohmann::json others;
    rest(others);
    others.get_to(numbers);
  }

 private:
  const nlohmann::json& object_;
  std::vector<const char*> known_;
};

/// Makes the JSON object of a struct.
class FieldWriter {
 public:
  template <class T, class... More>
  void always(const char* name, const T& value, const More&... more) {
    object_[name] = fields::Form<T>::write(value);
    if constexpr (sizeof...(more) > 0) always(more...);
  }
  void count(const char* name, double value, const auto&... more) {
    object_[name] = static_cast<std::int64_t>(value);
    if constexpr (sizeof...(more) > 0) count(more...);
  }
  /// Written as null if the field is empty.
  template <class T, class... More>
  void nullable(const char* name, const T& value, const More&... more) {
    object_[name] = fields::is_nothing(value) ? nlohmann::json() : fields::Form<T>::write(value);
    if constexpr (sizeof...(more) > 0) nullable(more...);
  }
  /// Omitted if the field is empty.
  template <class T, class... More>
  void optional(const char* name, const T& value, const More&... more) {
    if (!fields::is_nothing(value)) object_[name] = fields::Form<T>::write(value);
    if constexpr (sizeof...(more) > 0) optional(more...);
  }
  /// Call it after all other calls: a field that one of them has written keeps its value.
  void rest(const nlohmann::json& rest) { object_.insert(rest.begin(), rest.end()); }

  nlohmann::json take() { return std::move(object_); }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

template <class T>
void read_fields(const nlohmann::json& object, T& value) {
  FieldReader reader(object);
  visit_fields(value, reader);
}

template <class T>
nlohmann::json write_fields(const T& value) {
  FieldWriter writer;
  visit_fields(value, writer);
  return writer.take();
}

template <class T>
void fields::Form<T>::read(const nlohmann::json& json, T& value) {
  if constexpr (Visited<T>)
    read_fields(json, value);
  else
    json.get_to(value);
}

template <class T>
nlohmann::json fields::Form<T>::write(const T& value) {
  if constexpr (Visited<T>)
    return write_fields(value);
  else
    return value;
}

}  // namespace assay
