#include "core/result/quick_json.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#ifdef ASSAY_SIMDJSON
#include <simdjson.h>
#endif

namespace assay {

using nlohmann::json;

#ifdef ASSAY_SIMDJSON

namespace {

namespace dom = simdjson::dom;

/// False if a key is given twice; the slow parser reports that.
bool convert(const dom::element& element, json& into);

bool convert_object(const dom::object& object, json& into) {
  into = json(json::value_t::object);
  json::object_t& members = into.get_ref<json::object_t&>();
  for (const auto& [key, value] : object) {
    const std::size_t before = members.size();
    // Our own files have sorted keys.
    const auto place = members.emplace_hint(members.end(), std::string(key), nullptr);
    if (members.size() == before || !convert(value, place->second)) return false;
  }
  return true;
}

bool convert_list(const dom::array& list, json& into) {
  into = json(json::value_t::array);
  json::array_t& items = into.get_ref<json::array_t&>();
  items.reserve(list.size());
  for (const dom::element& item : list)
    if (!convert(item, items.emplace_back())) return false;
  return true;
}

/// nlohmann stores integers without a sign as unsigned.
json integer(std::int64_t value) {
  if (value < 0) return value;
  return static_cast<std::uint64_t>(value);
}

bool convert(const dom::element& element, json& into) {
  switch (element.type()) {
    case dom::element_type::OBJECT:
      return convert_object(dom::object(element), into);
    case dom::element_type::ARRAY:
      return convert_list(dom::array(element), into);
    case dom::element_type::STRING:
      into = std::string(std::string_view(element));
      return true;
    case dom::element_type::INT64:
      into = integer(std::int64_t(element));
      return true;
    case dom::element_type::UINT64:
      into = std::uint64_t(element);
      return true;
    case dom::element_type::DOUBLE:
      into = double(element);
      return true;
    case dom::element_type::BOOL:
      into = bool(element);
      return true;
    case dom::element_type::NULL_VALUE:
      into = nullptr;
      return true;
  }
  return false;
}

}  // namespace

std::optional<json> quick_json(std::string_view text) {
  // Reused, because allocating its buffers takes longer than parsing a row.
  thread_local dom::parser parser;
  dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  std::optional<json> value(std::in_place);
  if (!convert(root, *value)) value.reset();
  return value;
}

#else

std::optional<json> quick_json(std::string_view) { return std::nullopt; }

#endif

}  // namespace assay
