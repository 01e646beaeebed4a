#pragma once
// The element-wise functions of recurrent cells, compiled once for each instruction set. Arrays
// have whole blocks of 16 units; a bias has one block, which all rows share.

#include <cstddef>

#include "kernels/rnn/problem.hpp"

namespace assay::native {

/// One forward step of `count` values (a multiple of 16).
struct RnnStep {
  float* gates[4];         ///< sums of products; become the gates
  const float* bias[4];    ///< 16 values each
  const float *h, *c;      ///< states before
  float* aside;            ///< gru: becomes r*h; gru_lbr: U_o h, to which its bias is added
  float *next_h, *next_c;  ///< states after
  std::ptrdiff_t count;
};

/// One backward step.
struct RnnBackStep {
  const float* gates[4];
  const float *h, *c, *next_c, *aside;
  const float *diff_out, *diff_h;  ///< of this step's h: from above, and from the next step
  float* diff_c;                   ///< of c after; becomes that of c before
  float* diff[4];                  ///< of the sums of products
  float *diff_aside, *arriving;    ///< of U_o h + b'_o; of h before, without products
  const float* product;            ///< gru: gradient of r*h
  std::ptrdiff_t count;
};

struct RnnTable {
  void (*forward)(RnnCell cell, const RnnStep& step);
  /// The rest of gru's step after the product with r*h; `forward` ends with r*h.
  void (*finish)(const RnnStep& step);
  void (*backward)(RnnCell cell, const RnnBackStep& step);
  /// The rest of gru's step after the product of the gradient of its third gate.
  void (*finish_backward)(const RnnBackStep& step);
};

/// The table of the best instruction set of this processor.
const RnnTable& rnn_table();

}  // namespace assay::native
