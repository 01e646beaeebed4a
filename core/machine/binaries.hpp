#pragma once
// The binaries that this process has loaded. Two builds of a library may have the same version
// text: only their contents distinguish them.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// Identities of the program and of every loaded library, by file name ("libdnnl.so.3"): the
/// build-id that the linker has written, or a hash of the content where there is none. Assay's own
/// files (this program, libassay_*) have the hash of their content: they may have been edited or
/// damaged after linking. Binaries of one name are listed together.
nlohmann::json list_loaded_binaries();

/// A 64-bit hash of a file's content, as 16 hexadecimal digits; "" if it cannot be read. It
/// distinguishes builds; it does not protect against forgery.
std::string hash_of_content(const std::filesystem::path& file);

}  // namespace assay
