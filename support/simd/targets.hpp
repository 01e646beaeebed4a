// Included before Highway: no include guard, it is read for every instruction set.
// SSSE3 has nothing over SSE4 here, and a processor with SSSE3 alone has the baseline.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_SSSE3
