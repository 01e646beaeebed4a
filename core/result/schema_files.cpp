// The files of schema.hpp, apart from valijson, which takes 18 s to compile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/result/quick_json.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int deepest = 256;  // levels of nesting: later stages recurse

/// "line 3, column 7" of a byte, both from 1.
std::string place(const std::string& text, std::size_t byte) {
  const std::size_t at = std::min(byte, text.size());
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  return fmt::format("line {}, column {}", line + 1,
                     start == std::string::npos ? at + 1 : at - start);
}

/// nlohmann's message without its prefix: "[json.exception.parse_error.101] parse error at line 1,
/// column 6: …".
std::string join_words(const std::string& what) {
  std::string words = what.substr(what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2);
  if (words.starts_with("parse error") && words.find(": ") != std::string::npos)
    words = words.substr(words.find(": ") + 2);
  return words;
}

/// Makes the document (json::sax_parse) and refuses what json::parse would accept in silence: a key
/// given twice (the last would win) and absurd nesting. Twice as fast as json::parse with a
/// callback that counts keys.
class DocumentMaker {
 public:
  json take() { return std::move(document_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t& value) { return put(std::move(value)); }
  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    const auto [place, fresh] = open_.back()->get_ref<json::object_t&>().try_emplace(name);
    if (!fresh) throw InputError(fmt::format("the key \"{}\" appears twice in one object", name));
    member_ = &place->second;
    return true;
  }
  template <class Error>
  bool parse_error(std::size_t, const std::string&, const Error& error) {
    throw error;
  }

 private:
  /// The place of the next value. A growing list moves its elements, but only closed ones.
  json& place() {
    if (open_.empty()) return document_;
    return open_.back()->is_object() ? *member_ : open_.back()->emplace_back();
  }
  template <class Value>
  bool put(Value&& value) {
    place() = std::forward<Value>(value);
    return true;
  }
  bool open(json::value_t kind) {
    if (open_.size() >= static_cast<std::size_t>(deepest))
      throw InputError(fmt::format("nested deeper than {} levels", deepest));
    json& opened = place();
    opened = json(kind);
    open_.push_back(&opened);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  json document_;
  std::vector<json*> open_;
  json* member_ = nullptr;
};

void check_finite(const json& value, const std::string& pointer) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    throw std::logic_error(fmt::format(
        "{} is not finite ({}), and JSON has no such number. A wrong number is never written.",
        pointer.empty() ? "/" : pointer, value.get<double>()));
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) check_finite(inner, pointer + "/" + key);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      check_finite(value[i], pointer + "/" + std::to_string(i));
}

/// One line a top-level member, and one for each object of a top-level list, so that two files can
/// be compared by line.
std::string format_schema_file(const json& document) {
  // Texts may come from drivers and file names. Bytes that are not UTF-8 are replaced, so that the
  // file is not lost.
  const auto dump = [](const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  if (!document.is_object()) return dump(document) + "\n";
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += (text.size() == 1 ? "\n" : ",\n") + dump(key) + ": ";
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      text += dump(value);
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i)
      text += (i == 0 ? "[\n" : ",\n") + dump(value[i]);
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace

json parse_json(std::string_view text) {
  if (std::optional<json> document = quick_json(text)) return std::move(*document);
  DocumentMaker maker;
  json::sax_parse(text, &maker);
  return maker.take();
}

json read_json(const fs::path& file) {
  const std::string text = read_text_file(file);
  const auto wrong = [&](std::size_t byte, const std::string& what) {
    return InputError(
        fmt::format("{}: is not valid JSON at {} ({}). Correct the file, or make it again.",
                    file.string(), place(text, byte), what));
  };
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }))
    throw InputError(fmt::format("{}: is empty (line 1, column 1). A JSON document was expected.",
                                 file.string()));
  // The parser takes a NUL for the end of its input, and would ignore the rest.
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
    throw wrong(nul, "it holds a NUL byte");
  try {
    return parse_json(text);
  } catch (const json::parse_error& error) {
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    if (error.byte > text.size())
      throw wrong(text.size(), "it ends in the middle: the file is truncated");
    std::string words = join_words(error.what());
    if (words.find("ill-formed UTF-8") != std::string::npos)
      words = "text that is not UTF-8; " + words;
    // Names that C and Python write for such numbers; the longest first.
    const std::size_t token =
        text.find_first_not_of('-', text.find_last_of(" \t\n\r:,[{", byte) + 1);
    for (const char* name : {"NaN", "nan", "Infinity", "Inf", "inf"})
      if (token != std::string::npos && words.find("not a JSON number") == std::string::npos &&
          text.compare(token, std::char_traits<char>::length(name), name) == 0)
        words = fmt::format("{} is not a JSON number; null means unknown", name);
    throw wrong(byte, words);
  } catch (const json::out_of_range&
               error) {  // "number overflow parsing '1e999'": the token is all we are told
    const std::string what = error.what();
    const std::size_t from = what.find('\'');
    const std::string token =
        from == std::string::npos ? "" : what.substr(from + 1, what.rfind('\'') - from - 1);
    throw wrong(token.empty() ? 0 : text.find(token), join_words(what));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: is refused ({}). Correct the file, or make it again.",
                                 file.string(), error.what()));
  }
}

void write_json(const fs::path& file, const json& document) {
  check_finite(document, "");
  write_text(file, format_schema_file(document));
}

std::vector<std::string> list_json_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace assay
