#include "tests/cuda/fake/arriving.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <vector>

namespace fake {
namespace {

std::map<char*, std::size_t, std::greater<>> locked;  ///< bytes

struct Copied {
  char* to;
  std::vector<char> bytes;
};
std::vector<Copied> under_way;

bool is_locked(const char* at) {
  const auto below = locked.lower_bound(const_cast<char*>(at));
  return below != locked.end() && at < below->first + below->second;
}

}  // namespace

void page_locked(void* data, std::size_t bytes) { locked[static_cast<char*>(data)] = bytes; }

void freed(void* data) {
  arrive();
  locked.erase(static_cast<char*>(data));
}

void copy(void* to, const void* from, std::size_t bytes, bool to_host) {
  const auto* const source = static_cast<const char*>(from);
  if (to_host && is_locked(static_cast<char*>(to))) {
    under_way.push_back({static_cast<char*>(to), {source, source + bytes}});
    std::memset(to, 0xff, bytes);
    return;
  }
  if (is_locked(source)) arrive();  // what the GPU itself has copied there before
  std::memcpy(to, from, bytes);
}

void arrive() {
  for (const Copied& copied : under_way)
    std::memcpy(copied.to, copied.bytes.data(), copied.bytes.size());
  under_way.clear();
}

}  // namespace fake
