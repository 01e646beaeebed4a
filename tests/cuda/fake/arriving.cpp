#include "tests/cuda/fake/arriving.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace fake {
namespace {

std::map<char*, std::size_t, std::greater<>> locked;  ///< bytes

struct Copied {
  char* at;
  std::vector<char> bytes;
};
std::vector<Copied> under_way;  ///< to memory of the host
std::vector<Copied> read;       ///< page-locked memory that a real GPU may not have read yet

void deliver() {
  for (const Copied& copied : std::exchange(under_way, {}))
    std::memcpy(copied.at, copied.bytes.data(), copied.bytes.size());
}

void expect_unchanged() {
  for (const Copied& copied : std::exchange(read, {}))
    if (std::memcmp(copied.at, copied.bytes.data(), copied.bytes.size()) != 0) {
      std::fputs("fake GPU: page-locked memory was written before the GPU had read it\n", stderr);
      std::abort();
    }
}

}  // namespace

void page_locked(void* data, std::size_t bytes) { locked[static_cast<char*>(data)] = bytes; }

bool is_page_locked(const void* data) {
  auto* const at = static_cast<char*>(const_cast<void*>(data));
  const auto below = locked.lower_bound(at);
  return below != locked.end() && at < below->first + below->second;
}

void freed(void* data) {
  arrive();
  locked.erase(static_cast<char*>(data));
}

void copy(void* to, const void* from, std::size_t bytes, bool to_host) {
  const auto* const source = static_cast<const char*>(from);
  if (to_host && is_page_locked(to)) {
    expect_unchanged();  // the GPU may write what it has read before
    under_way.push_back({static_cast<char*>(to), {source, source + bytes}});
    std::memset(to, 0xff, bytes);
    return;
  }
  if (!to_host && is_page_locked(source)) {
    deliver();  // what the GPU itself has copied there before
    read.push_back({const_cast<char*>(source), {source, source + bytes}});
  }
  std::memcpy(to, from, bytes);
}

void arrive() {
  deliver();
  expect_unchanged();
}

}  // namespace fake
