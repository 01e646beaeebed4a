#pragma once
// Reading and writing of JSON files. Errors in files name the file, the JSON pointer, the value
// that was found, and the expected one.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Parses a file. InputError "<file>: … (line, column). …" if it cannot be read or parsed; NaN and
/// infinity are not JSON.
nlohmann::json read_json(const std::filesystem::path& file);

/// Parses a text as read_json does. InputError or json::exception, without a place in a file.
nlohmann::json parse_json(std::string_view text);

/// Major and minor number of a schema's name: {1, 2} of "assay-result/1.2", {1, 0} of
/// "assay-result/1". {0, 0} for other texts.
using SchemaVersion = std::pair<unsigned long, unsigned long>;
SchemaVersion schema_version(const std::string& name);

/// True if a document is a result of a later minor version of the schema, to which fields were
/// added. These are accepted at every place, and kept in copies; a file of this or of an earlier
/// version has a misspelt field there.
bool may_have_new_fields(const nlohmann::json& document, const std::string& schema_name);

/// True if `value` is valid by a definition ("row") of a schema ("result"). `new_fields`: its
/// document may have them.
bool satisfies(const nlohmann::json& value, const std::string& schema_name,
               const std::string& definition, bool new_fields = false);

/// The violations of a schema: "<shown_as> at /rows/3/status: found \"okay\", expected one of ok,
/// …. Did you mean 'ok'?". Empty if the document is valid.
std::vector<std::string> find_schema_errors(const nlohmann::json& document,
                                            const std::string& schema_name,
                                            const std::string& shown_as);

/// Checks a document before it is written, so that no program writes what it would refuse to read:
/// std::runtime_error if it violates results-schema/<kind>.schema.json.
void check_own(const nlohmann::json& document, const std::string& kind);

/// Reads a file (read_json()) and checks it against results-schema/<schema_name>.schema.json.
/// InputError with up to 5 violations.
nlohmann::json read_checked(const std::filesystem::path& file, const std::string& schema_name);

/// Replaces a file, completely or not at all (whole_file.hpp). Throws std::logic_error, with the
/// JSON pointer, for NaN and infinity, and InputError if the file cannot be written; the old file
/// is then not changed.
void write_json(const std::filesystem::path& file, const nlohmann::json& document);
/// The same for other text (Markdown, XML, HTML).
void write_text(const std::filesystem::path& file, const std::string& text);

/// InputError if the file could not be written (its folder is not writable, or cannot be created).
/// Call it before anything is timed.
void check_writable(const std::filesystem::path& file);

/// Names (without .json) of the JSON files in a folder, sorted; empty if the folder does not exist.
std::vector<std::string> list_json_names(const std::filesystem::path& folder);

}  // namespace assay
