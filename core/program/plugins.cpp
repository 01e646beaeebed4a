#include "core/program/plugins.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <fstream>

#include "core/api/backend_entry.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/base/trial.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr const char* file_prefix = "libassay_";
constexpr const char* file_suffix = ".so";

/// "onednn" from "libassay_onednn.so"; "" for anything else (libassay_core.so is not a plugin).
std::string plugin_name(const fs::path& file) {
  std::string name = file.filename().string();
  if (!name.starts_with(file_prefix) || !name.ends_with(file_suffix)) return "";
  name = name.substr(std::string(file_prefix).size());
  name.resize(name.size() - std::string(file_suffix).size());
  return name == "core" ? "" : name;
}

/// True if a library ends before its own table of sections, which linkers write last (an
/// interrupted copy, a full disk). The loader maps such a file without a check, and then dies by
/// SIGBUS.
bool incomplete(const fs::path& file) {
  ElfW(Ehdr) header{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!stream || std::string_view(reinterpret_cast<const char*>(header.e_ident), SELFMAG) != ELFMAG)
    return false;  // dlopen reports it
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(file, unknown);
  return !unknown && size < header.e_shoff + std::uintmax_t{header.e_shnum} * header.e_shentsize;
}

std::vector<fs::path> list_folders(const fs::path& executables) {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("ASSAY_PLUGIN_PATH"))
    for (const std::string& folder : split(path, ':'))
      if (!folder.empty()) folders.emplace_back(folder);
  folders.push_back(executables.parent_path() / "lib" / "assay");
  return folders;
}

}  // namespace

struct Plugins::Opened {
  std::unique_ptr<Backend> backend;
  std::string reason;
};

Plugins::Plugins() : Plugins(list_folders(executable_folder())) {}

Plugins::Plugins(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      const std::string name = plugin_name(entry.path());
      if (!name.empty()) files_.emplace(name, entry.path());
    }
  }
}

Plugins Plugins::of_programs(const fs::path& executables) {
  return Plugins(list_folders(executables));
}

Plugins::Plugins(Plugins&&) noexcept = default;
Plugins::~Plugins() = default;

std::vector<std::string> Plugins::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

Result<Backend*> Plugins::open(const std::string& name) {
  const auto file = files_.find(name);
  if (file == files_.end())
    return Unsupported{name + ": unavailable: no plugin " + file_prefix + name + file_suffix +
                       " (it was not built, or ASSAY_PLUGIN_PATH does not lead to it)"};
  std::unique_ptr<Opened>& opened = opened_[name];
  if (!opened) {
    opened = std::make_unique<Opened>();
    std::string& reason = opened->reason;
    // RTLD_NOW: a missing symbol is reported here, not by a crash in the middle of a run.
    // RTLD_LOCAL: two backends may bring two versions of one library.
    std::error_code unknown;
    if (!fs::is_regular_file(file->second, unknown)) {
      // Opening a pipe would wait for ever.
      reason = file->second.string() + " is not a regular file. Install it again";
      return Unsupported{name + ": unavailable: " + reason};
    }
    const bool cut = incomplete(file->second);
    if (reason = cut ? "" : why_not_loadable(fs::absolute(file->second)); !reason.empty())
      return Unsupported{name + ": unavailable: " + reason};
    void* library =
        cut ? nullptr : dlopen(fs::absolute(file->second).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (cut) {
      reason = file->second.string() +
               " is incomplete (the file ends before its own section table). Install it again";
    } else if (library == nullptr) {
      const char* error = dlerror();
      reason = error == nullptr ? "cannot be opened" : error;
    } else if (void* symbol = dlsym(library, "assay_backend_entry"); symbol == nullptr) {
      reason = file->second.string() + " is not an Assay plugin (it has no assay_backend_entry)";
    } else {
      const BackendEntry* entry = reinterpret_cast<const BackendEntry* (*)()>(symbol)();
      if (entry == nullptr || entry->interface_version == nullptr || entry->create == nullptr) {
        reason = file->second.string() + " is not an Assay plugin (its entry is empty)";
      } else if (std::string(entry->interface_version) != interface_version) {
        reason = std::string("built for interface ") + entry->interface_version + ", this is " +
                 interface_version + ". Rebuild it with this version of Assay";
      } else {
        try {
          opened->backend.reset(entry->create(reason));
        } catch (const std::exception& error) {
          reason = error.what();
        } catch (...) {
          reason = "its start failed with an error of an unknown kind";
        }
        if (!opened->backend && reason.empty()) reason = "gave no reason";
        if (opened->backend && opened->backend->name() != name) {
          // Its rows would have the name of another backend.
          reason = file->second.string() + " calls itself '" + opened->backend->name() +
                   "'. Give the file its backend's name";
          opened->backend.reset();
        }
      }
    }
  }
  if (opened->backend) return opened->backend.get();
  return Unsupported{name + ": unavailable: " + opened->reason};
}

PluginStatus Plugins::status(const std::string& name) {
  PluginStatus status{name, {}, false, ""};
  if (const auto file = files_.find(name); file != files_.end()) status.file = file->second;
  const Result<Backend*> opened = open(name);
  status.available = std::holds_alternative<Backend*>(opened);
  // The status has the plugin's name, so the reason need not repeat it.
  if (!status.available)
    status.reason = std::get<Unsupported>(opened).reason.substr((name + ": unavailable: ").size());
  return status;
}

}  // namespace assay
