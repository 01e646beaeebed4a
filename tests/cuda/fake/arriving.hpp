#pragma once
// Copies between the fake GPU and page-locked memory of the host. Until the host has waited for any
// of its work, it finds 0xff where the GPU writes, as a host may find anything that reads too
// early, and it must not change what the GPU reads.

#include <cstddef>

namespace fake {

void page_locked(void* data, std::size_t bytes);
bool is_page_locked(const void* data);
void freed(void* data);
/// `to_host`: from the GPU to the host.
void copy(void* to, const void* from, std::size_t bytes, bool to_host);
/// The host has waited: all that was copied is there. Aborts where it has changed what was read.
void arrive();

}  // namespace fake
