// Sums that dot products are added to. This file is included in a namespace inside the region of
// one instruction set, because a template compiled outside of the region could not use that set.
//
// A Kernel has lanes(), load(from) and store(x, to) of a vector of sums, first(x) and, if a pair of
// updates takes two instructions, second(x).

template <class Kernel, class... X>
HWY_INLINE void update(const Kernel& kernel, typename Kernel::Sum* y, std::int64_t pairs, X... x) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    ((x = kernel.first(x)), ...);
    if constexpr (Kernel::steps == 2) ((x = kernel.second(x)), ...);
  }
  ((kernel.store(x, y), y += Kernel::lanes()), ...);
}

template <class Kernel, std::size_t... I>
HWY_INLINE void block(const Kernel& kernel, const typename Kernel::Sum* x, typename Kernel::Sum* y,
                      std::int64_t pairs, std::index_sequence<I...>) {
  update(kernel, y, pairs, kernel.load(x + static_cast<std::int64_t>(I) * Kernel::lanes())...);
}

template <class Kernel>
void run(const void* x, void* y, std::int64_t updates) {
  const Kernel kernel;
  for (std::int64_t i = 0; i < stream_values; i += chains * Kernel::lanes())
    block(kernel, static_cast<const typename Kernel::Sum*>(x) + i,
          static_cast<typename Kernel::Sum*>(y) + i, updates / 2,
          std::make_index_sequence<static_cast<std::size_t>(chains)>());
}
