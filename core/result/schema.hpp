#pragma once
// Reading JSON that others wrote: syntax, schema and version, with an error that names file,
// pointer, found and expected.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Parses a file. InputError: "<file>: … (line, column). …" for what cannot be read or parsed (NaN
/// and infinity included).
nlohmann::json read_json(const std::filesystem::path& file);

/// Parses a text as read_json does. InputError or json::exception, without a place in a file.
nlohmann::json parse_json(std::string_view text);

/// Whether `value` is valid as `definition` of a schema ("result", "row").
bool satisfies(const nlohmann::json& value, const std::string& schema_name,
               const std::string& definition);
/// The same by valijson alone, which is slow: what the quick check (quick_schema.hpp) must agree
/// with.
bool satisfies_slowly(const nlohmann::json& value, const std::string& schema_name,
                      const std::string& definition);

/// One violation: "<file> at /rows/3/status: found \"okay\", expected one of ok, …. Did you mean
/// 'ok'?"
std::vector<std::string> schema_errors(const nlohmann::json& document,
                                       const std::string& schema_name, const std::string& shown_as);

/// read_json, then the schema results-schema/<schema_name>.schema.json; throws InputError with the
/// first violations (up to 5).
nlohmann::json read_checked(const std::filesystem::path& file, const std::string& schema_name);

/// Writes beside, syncs, renames. Refuses NaN and infinity (std::logic_error with the pointer).
/// InputError for an unwritable place or a full disk; the old file then stands.
void write_json(const std::filesystem::path& file, const nlohmann::json& document);
/// The same for text that is no JSON (Markdown, XML, HTML).
void write_text(const std::filesystem::path& file, const std::string& text);

/// InputError unless the file could be written (its folder exists or can be made, is writable):
/// asked before anything is timed.
void check_writable(const std::filesystem::path& file);

/// Names (without .json) of the JSON files in a folder, sorted; none where there is no such folder.
std::vector<std::string> json_names(const std::filesystem::path& folder);

}  // namespace assay
