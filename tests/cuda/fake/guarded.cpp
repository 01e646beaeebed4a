#include "tests/cuda/fake/guarded.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace fake {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20, least_region = std::size_t{128} << 20,
                      alignment = 512;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

struct Region {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::map<char*, std::size_t> taken{};

  /// The first free place, null if none is large enough.
  char* place_for(std::size_t wanted) const {
    char* at = begin;
    for (const auto& [next, size] : taken) {
      if (static_cast<std::size_t>(next - at) >= wanted) return at;
      at = next + size;
    }
    return static_cast<std::size_t>(begin + bytes - at) >= wanted ? at : nullptr;
  }
  void allow(bool access) const {
    if (mprotect(begin, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) std::abort();
  }
};

struct Memory {
  std::vector<Region> regions{};
  int opened = 0;
};

std::mutex mutex;
Memory& memory_of(int gpu) {
  static auto& all = *new std::map<int, Memory>;  // it is freed at the end of a process, too
  return all[gpu];
}

Region* add_region(Memory& memory, std::size_t wanted) {
  const std::size_t bytes = rounded_up(std::max(wanted, least_region), large_page);
  void* const at = mmap(nullptr, bytes + large_page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const begin =
      reinterpret_cast<char*>(rounded_up(reinterpret_cast<std::uintptr_t>(at), large_page));
  madvise(begin, bytes, MADV_HUGEPAGE);
  Region& made = memory.regions.emplace_back(Region{begin, bytes});
  made.allow(memory.opened > 0);
  return &made;
}

}  // namespace

char* take_guarded(int gpu, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  Memory& memory = memory_of(gpu);
  const std::size_t wanted = rounded_up(std::max<std::size_t>(1, bytes), alignment);
  const auto has_room = [wanted](const Region& region) {
    return region.place_for(wanted) != nullptr;
  };
  const auto free = std::find_if(memory.regions.begin(), memory.regions.end(), has_room);
  Region* const found = free != memory.regions.end() ? &*free : add_region(memory, wanted);
  if (found == nullptr) return nullptr;
  char* const at = found->place_for(wanted);
  found->taken[at] = wanted;
  return at;
}

void give_guarded(int gpu, char* at) {
  const std::lock_guard lock(mutex);
  for (Region& region : memory_of(gpu).regions)
    if (const auto found = region.taken.find(at); found != region.taken.end()) {
      const auto first = rounded_up(reinterpret_cast<std::uintptr_t>(at), large_page),
                 last = (reinterpret_cast<std::uintptr_t>(at) + found->second) / large_page *
                        large_page;
      if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
      region.taken.erase(found);
      return;
    }
}

void open_guarded(int gpu, bool open) {
  const std::lock_guard lock(mutex);
  Memory& memory = memory_of(gpu);
  if (open ? memory.opened++ > 0 : --memory.opened > 0) return;
  for (const Region& region : memory.regions) region.allow(open);
}

}  // namespace fake
