#include "kernels/rnn/weight_gradients.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/place.hpp"
#include "core/machine/environment.hpp"
#include "kernels/rnn/gemm.hpp"

namespace assay::recurrent {
namespace {

/// Most multiply-adds of the compared rows of one matrix, and most of their elements.
constexpr double most_work = 4e10, most_elements = 2e6;
/// Columns whose variances a thread adds up together.
constexpr std::int64_t columns_at_once = 64;
/// Terms whose operands a thread reads together: they are in few pages.
constexpr std::int64_t terms_at_once = 64;
/// Bytes of the states of batch rows that are computed together, at most.
constexpr double most_bytes = 8e9;
/// The part of the available memory that these states may take.
constexpr double part_of_memory = 0.25;

/// The operands of the gradients of gates [first, last): the states before each step, r*h, or the
/// inputs; and those gradients.
struct Part {
  const Field* operands;  ///< [k][row][width], or in order of time
  std::int64_t width;
  bool in_time;
  std::int64_t first, last;
  const Field* diff;  ///< [k][row][columns]: gates of Walk::diff(), or Walk::diff_aside()
  std::int64_t diff_columns;
};

/// The contribution of some rows of the batch to one gradient.
class Contribution {
 public:
  Contribution(const Recurrence& some, const RnnShape& shape, std::int64_t direction,
               double rounding)
      : some_(some),
        shape_(shape),
        rounding_(rounding),
        direction_(direction),
        rows_(static_cast<std::int64_t>(some.rows().size())),
        terms_(shape.steps * rows_) {}

  void add(const Part& part, WeightGradient& to) const {
    add_values(part, to);
    add_variances(part, to);
  }

 private:
  /// First operand of term i.
  std::int64_t operand(const Part& part, std::int64_t i) const {
    const std::int64_t k = i / rows_, at = part.in_time ? some_.time(k, direction_) : k;
    return (at * rows_ + i % rows_) * part.width;
  }

  void add_values(const Part& part, WeightGradient& to) const {
    const auto count = static_cast<std::int64_t>(to.rows.size());
    const std::int64_t all = shape_.gates() * shape_.hidden, first = part.first * shape_.hidden;
    Numbers a(place(count * terms_));
#pragma omp parallel for if (count * terms_ > worth_threads)
    for (std::int64_t from = 0; from < terms_; from += terms_at_once)
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t term = from; term < std::min(from + terms_at_once, terms_); ++term)
          a[place(i * terms_ + term)] =
              part.operands->value[place(operand(part, term) + to.rows[place(i)])];
    multiply(count, (part.last - part.first) * shape_.hidden, terms_, a.data(), terms_,
             part.diff->value.data() + (part.diff_columns == all ? first : 0), part.diff_columns,
             to.values.data() + first, all, true);
  }

  void add_variances(const Part& part, WeightGradient& to) const {
    const std::int64_t first = part.first * shape_.hidden, last = part.last * shape_.hidden,
                       all = shape_.gates() * shape_.hidden,
                       skipped = part.diff_columns == all ? 0 : first;
    std::vector<double> squares(place(terms_)), of_operands(place(terms_));
#pragma omp parallel if (terms_ * part.diff_columns > worth_threads)
    {
#pragma omp for
      for (std::int64_t i = 0; i < terms_; ++i) {
        const double* const x = part.operands->value.data() + operand(part, i);
        const double* const errors = part.operands->variance.data() + operand(part, i);
        double square = 0, variance = 0;
#pragma omp simd reduction(+ : square, variance)
        for (std::int64_t j = 0; j < part.width; ++j) {
          square += x[j] * x[j];
          variance += errors[j];
        }
        squares[place(i)] = square / static_cast<double>(part.width);
        of_operands[place(i)] = variance / static_cast<double>(part.width);
      }
#pragma omp for
      for (std::int64_t from = first; from < last; from += columns_at_once) {
        const std::int64_t count = std::min(columns_at_once, last - from);
        double sums[columns_at_once] = {};
        for (std::int64_t i = 0; i < terms_; ++i) {
          const std::int64_t at = i * part.diff_columns + from - skipped;
          const double* const dz = part.diff->value.data() + at;
          const double* const errors = part.diff->variance.data() + at;
          const double square = squares[place(i)],
                       of_values = of_operands[place(i)] + rounding_ * square;
#pragma omp simd
          for (std::int64_t c = 0; c < count; ++c)
            sums[c] += square * errors[c] + of_values * dz[c] * dz[c];
        }
        for (std::int64_t c = 0; c < count; ++c) to.variance[place(from + c)] += sums[c];
      }
    }
  }

  const Recurrence& some_;
  const RnnShape& shape_;
  double rounding_;  ///< variance of a whole sum over its squared norm
  std::int64_t direction_, rows_, terms_;
};

void add_bias(double rounding, const Field& diff, std::int64_t columns, std::int64_t first,
              WeightGradient& to) {
  const auto count = static_cast<std::int64_t>(diff.value.size());
#pragma omp parallel for if (count > worth_threads)
  for (std::int64_t from = 0; from < columns; from += columns_at_once)
    for (std::int64_t i = 0; i < count; i += columns)
      for (std::int64_t c = from; c < std::min(columns, from + columns_at_once); ++c) {
        const UncertainNumber dz = diff[i + c];
        to.values[place(first + c)] += dz.value;
        to.variance[place(first + c)] += dz.variance + rounding * dz.value * dz.value;
      }
}

/// Adds the contribution of some rows of the batch to one layer and direction. `rounding`: variance
/// of a sum over its squared norm.
void add_rows(const RnnProblem& problem, const Recurrence& some, std::int64_t l, std::int64_t d,
              std::size_t at, double rounding, WeightGradients& all) {
  const RnnShape& s = problem.shape();
  const Walk& walk = some.walk(l, d);
  const std::int64_t H = s.hidden, G = s.gates();
  const bool gru = s.cell == RnnCell::gru, lbr = s.cell == RnnCell::gru_lbr;
  const Contribution contribution(some, s, d, rounding);
  contribution.add({&walk.h, H, false, 0, G == 3 ? 2 : G, &walk.diff(), G * H}, all.iter[at]);
  if (gru) contribution.add({&walk.aside, H, false, 2, 3, &walk.diff(), G * H}, all.iter[at]);
  if (lbr) contribution.add({&walk.h, H, false, 2, 3, &walk.diff_aside(), H}, all.iter[at]);
  if (problem.find_place(l) >= 0)
    contribution.add({&some.read_by(l), problem.count_inputs(l), true, 0, G, &walk.diff(), G * H},
                     all.layer[at]);
  add_bias(rounding, walk.diff(), G * H, 0, all.bias[at]);
  if (lbr) add_bias(rounding, walk.diff_aside(), H, G * H, all.bias[at]);
}

}  // namespace

std::vector<std::int64_t> choose_compared_rows(const RnnProblem& problem, std::int64_t rows) {
  const RnnShape& s = problem.shape();
  const double columns = static_cast<double>(s.gates() * s.hidden),
               work = columns * static_cast<double>(s.steps * s.batch);
  const auto most =
      static_cast<std::int64_t>(std::max(8.0, std::min(most_work / work, most_elements / columns)));
  std::vector<std::int64_t> chosen(place(std::min(rows, most)));
  std::iota(chosen.begin(), chosen.end(), std::int64_t{0});
  if (rows <= most) return chosen;
  for (std::int64_t& row : chosen) row = row * (rows - 1) / (most - 1);
  return chosen;
}

std::int64_t rows_in_memory(const RnnProblem& problem) {
  const RnnShape& s = problem.shape();
  // Gates, two kinds of states, and the gradients from above; in a stack of layers also those to
  // the layer below.
  const std::int64_t of_walks = s.layers * s.directions * (s.gates() + 3) * s.hidden,
                     below = s.layers > 1 ? s.directions * s.hidden : 0;
  const double row_bytes = sizeof(UncertainNumber) * static_cast<double>(s.steps) *
                           static_cast<double>(of_walks + below + problem.count_inputs(0));
  const double memory =
      std::min(most_bytes, part_of_memory * static_cast<double>(memory_available()));
  return static_cast<std::int64_t>(
      std::clamp(memory / row_bytes, 1.0, static_cast<double>(s.batch)));
}

WeightGradients weight_gradients(const RnnProblem& problem, const Parameters& parameters,
                                 const Inputs& inputs, const Products& products,
                                 std::int64_t rows_at_once, const Recurrence* done) {
  const RnnShape& s = problem.shape();
  const std::int64_t both = s.layers * s.directions, columns = s.gates() * s.hidden;
  WeightGradients all;
  all.layer.resize(place(both));
  all.iter.resize(place(both));
  all.bias.resize(place(both));
  for (std::int64_t i = 0; i < both; ++i) {
    const std::int64_t l = i / s.directions;
    const auto prepare = [&](WeightGradient& gradient, std::int64_t rows) {
      gradient.rows = choose_compared_rows(problem, rows);
      gradient.values.assign(gradient.rows.size() * place(columns), 0);
      gradient.variance.assign(place(columns), 0);
    };
    prepare(all.iter[place(i)], s.hidden);
    if (problem.find_place(l) >= 0) prepare(all.layer[place(i)], problem.count_inputs(l));
    all.bias[place(i)].values.assign(place(s.biases() * s.hidden), 0);
    all.bias[place(i)].variance.assign(place(s.biases() * s.hidden), 0);
  }
  // Rows whose gradients of the results are all zero contribute nothing.
  const Values& above = inputs.find("diff_dst_layer")->second;
  std::vector<std::int64_t> contributing;
  for (std::int64_t row = 0; row < s.batch; ++row)
    if (above.keeps(row)) contributing.push_back(row);
  const auto count = static_cast<std::int64_t>(contributing.size());
  const double rounding = products.variance(static_cast<double>(s.steps * count));
  const auto add = [&](const Recurrence& recurrence) {
    for (std::int64_t i = 0; i < both; ++i)
      add_rows(problem, recurrence, i / s.directions, i % s.directions, place(i), rounding, all);
  };
  if (done != nullptr && done->rows() == contributing) {
    add(*done);
    return all;
  }
  const std::int64_t parts = (count + rows_at_once - 1) / rows_at_once,
                     each = (count + parts - 1) / parts;
  const auto rows_from = [&](std::int64_t first) {
    const auto begin = contributing.begin();
    return std::vector(begin + first, begin + std::min(first + each, count));
  };
  Recurrence some(problem, parameters, inputs, products, rows_from(0));
  for (std::int64_t first = 0; first < count; first += each) {
    some.select(rows_from(first));
    some.forward(false);
    some.backward(false);
    add(some);
  }
  return all;
}

}  // namespace assay::recurrent
