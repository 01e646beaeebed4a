#pragma once
// Copies from the fake GPU to page-locked memory of the host: until the host has waited for any of
// its work, it finds 0xff there, as a host may find anything that reads too early.

#include <cstddef>

namespace fake {

void page_locked(void* data, std::size_t bytes);
void freed(void* data);
/// `to_host`: from the GPU to the host.
void copy(void* to, const void* from, std::size_t bytes, bool to_host);
/// All that was copied is there.
void arrive();

}  // namespace fake
