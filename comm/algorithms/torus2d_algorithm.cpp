// torus2d (Mikami et al. 2018, arXiv:1811.05233): ranks form a grid. Reduce-scatter along my row,
// allreduce along my column, allgather along my row, each around a ring: 2 (columns - 1) + 2 (rows
// - 1) messages instead of a ring's 2 (ranks - 1).
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/parts.hpp"
#include "comm/algorithms/scheduled.hpp"

namespace assay {

namespace {

/// The largest divisor of `ranks` up to its root: the grid nearest to a square.
int choose_rows(int ranks) {
  int rows = 1;
  for (int divisor = 2; divisor * divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) rows = divisor;
  return rows;
}

void write(int rows, const Call& call, ScheduleBuilder& builder) {
  const int columns = builder.size() / rows, rank = builder.rank();
  const int first_of_row = rank - rank % columns;
  const Group row = every(first_of_row, 1, first_of_row + columns, rank);
  const Group column = every(rank % columns, columns, builder.size(), rank);
  const Part into = builder.whole_receive();
  const Part own = piece(into, columns, row.me), least = piece(own, rows, column.me);
  ring_reduce_scatter(builder, row, builder.whole_send(), into);
  ring_reduce_scatter(builder, column, own, own);
  if (call.op == ReduceOp::average) builder.scale(least);
  ring_allgather(builder, column, least, own);
  ring_allgather(builder, row, own, into);
}

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("torus2d", options); !reason.empty())
    return Unsupported{std::move(reason)};
  const int rows = choose_rows(transport.size());
  if (rows == 1)
    return Unsupported{"torus2d needs a grid of at least 2 x 2 ranks (" +
                       std::to_string(transport.size()) + " have no divisor)"};
  return make_scheduled(
      transport,
      {"torus2d", {Collective::allreduce}, [rows](const Call& call, ScheduleBuilder& builder) {
         write(rows, call, builder);
       }});
}

}  // namespace

AlgorithmEntry torus2d_algorithm() {
  return {"torus2d",
          "rings along the rows and columns of the grid nearest to a square; needs 2 x 2 ranks",
          &make};
}

}  // namespace assay
