# Cross compiling on Debian. Headers without an architecture come from the host; the few arm64 libraries from .deps/aarch64,
# where scripts/bootstrap --full has unpacked them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(sysroot "${CMAKE_CURRENT_LIST_DIR}/../.deps/aarch64" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${sysroot}")
set(ENV{PKG_CONFIG_LIBDIR} "${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=${sysroot}/usr/lib/aarch64-linux-gnu")
