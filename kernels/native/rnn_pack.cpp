// Packs weights for the products of a recurrent network.

#include <algorithm>

#include "kernels/native/rnn_network.hpp"

namespace assay::native {

void RnnNetwork::pack_forward() {
#pragma omp parallel num_threads(threads_)
  for (const RnnWalk& walk : plan_.walks) {
    const auto pack = [&](const char* name, std::ptrdiff_t weight, std::ptrdiff_t rows,
                          std::ptrdiff_t lines, std::ptrdiff_t layer, const RnnGroups& groups,
                          std::ptrdiff_t to) {
      const Share mine = share(groups.count());
      const std::ptrdiff_t size = groups.columns() * lines * channel_block;
      constexpr std::ptrdiff_t at_once = 16;  // a row of their weights is adjacent cache lines
      for (std::ptrdiff_t group = mine.first; group < mine.last; group += at_once)
        pack_groups(plan_, tensor(name), weight, rows, lines, layer, groups, group,
                    std::min(group + at_once, mine.last), packed_ + to + group * size);
    };
    const std::ptrdiff_t recurrent = recurrent_weight(walk), H = plan_.s.hidden;
    pack("weights_iter", recurrent, H, plan_.unit_lines, 0, plan_.groups(0, plan_.first_gates()),
         walk.recurrent);
    if (plan_.first_gates() < plan_.s.gates())
      pack("weights_iter", recurrent, H, plan_.unit_lines, 0, plan_.groups(2, 1),
           walk.recurrent + plan_.last_recurrent());
    if (const std::ptrdiff_t input = input_weight(walk); input >= 0)
      pack("weights_layer", input, plan_.problem.count_inputs(walk.layer),
           plan_.input_blocks(walk.layer), walk.layer, plan_.groups(0, plan_.s.gates()),
           walk.inputs);
  }
}

void RnnNetwork::pack_backward() {
#pragma omp parallel num_threads(threads_)
  for (const RnnWalk& walk : plan_.walks) {
    const auto pack = [&](const float* weights, std::ptrdiff_t rows, std::ptrdiff_t layer,
                          const RnnGroups& groups, std::ptrdiff_t to) {
      const Share mine = share(groups.count());
      const std::ptrdiff_t size = groups.columns() * plan_.s.gates() * plan_.units;
      for (std::ptrdiff_t group = mine.first; group < mine.last; ++group)
        pack_transposed(plan_, weights, rows, layer, groups, group, packed_ + to + group * size);
    };
    pack(tensor("weights_iter") + recurrent_weight(walk), plan_.s.hidden, 0,
         plan_.transpose(plan_.unit_blocks), walk.recurrent);
    if (const std::ptrdiff_t input = input_weight(walk); input >= 0)
      pack(tensor("weights_layer") + input, plan_.problem.count_inputs(walk.layer), walk.layer,
           plan_.transpose(plan_.input_blocks(walk.layer)), walk.inputs);
  }
}

}  // namespace assay::native
