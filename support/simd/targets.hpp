// Include this before Highway. It has no include guard, because it is read once for every
// instruction set.
// SSSE3 is disabled: it gains nothing next to SSE4, and a processor with SSSE3 only uses the
// baseline.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_SSSE3
