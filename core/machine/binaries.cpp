#include "core/machine/binaries.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Binary {
  fs::path file;         ///< "" of the program
  std::string build_id;  ///< "" if there is none
};

/// The build-id among the notes of a segment: records of a header, a name and a description, the
/// last two padded to the alignment of the segment.
std::string build_id_in(const char* notes, std::size_t size, std::size_t alignment) {
  const auto padded = [&](std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header{};
    std::memcpy(&header, notes, sizeof header);
    const std::size_t name = padded(sizeof header + header.n_namesz) - sizeof header,
                      whole = padded(sizeof header + name + header.n_descsz);
    if (whole > size) break;
    const char* const text = notes + sizeof header;
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(text, header.n_namesz) == std::string_view("GNU", 4)) {
      std::string digits;
      for (std::size_t i = 0; i < header.n_descsz; ++i)
        digits += fmt::format("{:02x}", static_cast<unsigned char>(text[name + i]));
      return digits;
    }
    notes += whole;
    size -= whole;
  }
  return "";
}

/// The callback of dl_iterate_phdr. It reads the notes in the loader's mapping, because the file
/// may have been replaced since.
int add_binary(dl_phdr_info* info, std::size_t, void* all) {
  Binary binary{info->dlpi_name == nullptr ? "" : info->dlpi_name, ""};
  for (int i = 0; i < info->dlpi_phnum && binary.build_id.empty(); ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      binary.build_id =
          build_id_in(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr),
                      segment.p_memsz, std::max<std::size_t>(segment.p_align, 4));
  }
  static_cast<std::vector<Binary>*>(all)->push_back(std::move(binary));
  return 0;
}

std::string identity(const Binary& binary, bool own) {
  const std::string content =
      own || binary.build_id.empty() ? hash_of_content(binary.file) : std::string();
  if (!content.empty()) return "content " + content;
  return binary.build_id.empty() ? "unknown" : "build-id " + binary.build_id;
}

}  // namespace

std::string hash_of_content(const fs::path& file) {
  std::error_code unknown;
  std::ifstream stream;
  if (fs::is_regular_file(file, unknown)) stream.open(file, std::ios::binary);
  if (!stream.is_open()) return "";
  // Each step is a bijection of the sum for a given word, and of the word for a given sum. So
  // contents of equal length that differ in one word never have equal hashes. Libraries of
  // accelerators have hundreds of megabytes, for which a cryptographic hash would take seconds.
  std::uint64_t sum = 0xcbf29ce484222325, size = 0;
  std::vector<char> block(1 << 20);
  do {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto got = static_cast<std::size_t>(stream.gcount());
    size += got;
    std::fill(block.begin() + static_cast<std::ptrdiff_t>(got), block.end(), '\0');
    for (std::size_t at = 0; at < got; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + at, sizeof word);
      sum = (sum ^ word) * 0x9e3779b97f4a7c15;
      sum ^= sum >> 32;
    }
  } while (stream);
  if (stream.bad()) return "";
  return fmt::format("{:016x}", (sum ^ size) * 0x9e3779b97f4a7c15);
}

nlohmann::json list_loaded_binaries() {
  std::vector<Binary> all;
  ::dl_iterate_phdr(&add_binary, &all);
  std::map<std::string, std::set<std::string>> identities;
  for (Binary& binary : all) {
    std::error_code unknown;
    const bool program = binary.file.empty();
    if (program) binary.file = fs::read_symlink("/proc/self/exe", unknown);
    const std::string name = binary.file.filename().string();
    // The kernel's own page, whose version is known, has no file.
    if (name.empty() || name.starts_with("linux-vdso") || name.starts_with("linux-gate")) continue;
    identities[name].insert(identity(binary, program || name.starts_with("libassay_")));
  }
  nlohmann::json binaries = nlohmann::json::object();
  for (const auto& [name, its] : identities) {
    binaries[name] = fmt::format("{}", fmt::join(its, ", "));
  }
  return binaries;
}

}  // namespace assay
