#include "kernels/native/conv_parts.hpp"

#include <fmt/format.h>

#include "kernels/conv/inside.hpp"

namespace assay::native {

namespace {

/// With few channels, most of a block of 16 would be padding, which costs memory traffic.
bool has_few_channels(const TensorSpec& activations) { return activations.dims[1] <= few_channels; }

}  // namespace

Activations lay_out_activations(TensorSpec& spec, std::int64_t groups, bool blocked) {
  Activations a;
  const std::int64_t n = spec.dims[0], all = spec.dims[1];
  a.type = spec.type;
  a.blocked = blocked && !has_few_channels(spec);
  a.channels = all / groups;
  a.height = spec.dims[2];
  a.width = spec.dims[3];
  Layout layout;
  if (a.blocked) {
    // Groups must not share a block of 16, so only groups of whole blocks, or a single group, have
    // this layout.
    const std::ptrdiff_t blocks = count_blocks(all, channel_block);
    a.pixel = channel_block;
    a.row = a.width * a.pixel;
    a.block = a.height * a.row;
    a.group = blocks / groups * a.block;
    a.image = blocks * a.block;
    layout.splits = {{1, a.image, 0}, {channel_block, a.block, 1}, {1, a.row, 0}, {1, a.pixel, 0}};
  } else {
    a.pixel = all;
    a.row = a.width * a.pixel;
    a.block = channel_block;
    a.group = a.channels;
    a.image = a.height * a.row;
    layout.splits = {{1, a.image, 0}, {1, 1, 0}, {1, a.row, 0}, {1, a.pixel, 0}};
  }
  layout.elements = n * a.image;
  spec.bytes = static_cast<std::size_t>(layout.elements) * size_of(spec.type);
  spec.layout = std::make_shared<const Layout>(std::move(layout));
  return a;
}

void lay_out_weights(TensorSpec& spec, const Panels& panels, bool rows_are_ic) {
  const std::int64_t g = spec.dims[0], kw = spec.dims[4];
  const std::ptrdiff_t tap = channel_block * panels.width;
  const Split row{channel_block, panels.block(), panels.width},
      column{panels.width, panels.panel(), 1};
  Layout layout;
  layout.splits = {{1, panels.group(), 0},
                   rows_are_ic ? column : row,
                   rows_are_ic ? row : column,
                   {1, kw * tap, 0},
                   {1, tap, 0}};
  layout.elements = g * panels.group();
  spec.bytes = static_cast<std::size_t>(layout.elements) * size_of(spec.type);
  spec.layout = std::make_shared<const Layout>(std::move(layout));
}

std::ptrdiff_t workspace_limit(const ConvProblem& problem) {
  std::ptrdiff_t floats = 0;
  for (const TensorSpec& spec : problem.tensors()) floats += 2 * spec.elements();
  return floats;
}

void multiply(const GemmTable& table, const GemmKernel (*kernels)[2], std::ptrdiff_t a_row,
              const float* a, const float* b, const Segment* segments, std::ptrdiff_t count,
              std::ptrdiff_t rows, std::ptrdiff_t column_blocks, const Destination& c, bool add) {
  // Blocks of rows of equal size, so that no small one remains at the end.
  const std::ptrdiff_t parts = count_blocks(rows, table.rows),
                       columns = column_blocks * channel_block;
  for (std::ptrdiff_t column = 0; column < columns; column += 2 * table.lanes) {
    const bool two = columns - column >= 2 * table.lanes;
    const std::ptrdiff_t second = table.lanes == channel_block ? c.block : table.lanes;
    float* const to = c.to + column / channel_block * c.block + column % channel_block;
    for (std::ptrdiff_t part = 0; part < parts; ++part) {
      const std::ptrdiff_t first = rows * part / parts, last = rows * (part + 1) / parts;
      kernels[last - first - 1][two ? 1 : 0](a + first * a_row, b + column, segments, count,
                                             to + first * c.row, c.row, second, add);
    }
  }
}

void widen_shared(const GemmTable& table, DataType type, const void* from, float* to,
                  std::ptrdiff_t count) {
#pragma omp for schedule(static)
  for (std::ptrdiff_t i = 0; i < count / channel_block; ++i)
    table.load(type, element(from, type, i * channel_block), 0, 1, channel_block,
               to + i * channel_block, 0);
}

Execution describe(const Request& request, const std::string& algorithm,
                   std::size_t workspace_bytes, const WorkQueue& queue,
                   const std::string& weights_layout) {
  Execution out;
  out.algorithm = algorithm;
  out.implementation = fmt::format("{}:{}", algorithm, gemm_table().target);
  out.storage = std::string(name(request.problem.precision()));
  out.compute = out.accumulate = std::string(name(DataType::fp32));
  for (const TensorSpec& spec : request.problem.tensors())
    out.layout += fmt::format("{}{}={}", out.layout.empty() ? "" : " ", spec.name,
                              spec.dims.size() == 5                        ? weights_layout
                              : request.blocked && !has_few_channels(spec) ? "nChw16c"
                                                                           : "nhwc");
  out.workspace_bytes = workspace_bytes;
  out.numbers["working_threads"] = queue.owners();
  out.algorithmic_flops = flops_inside(request.problem);
  out.evidence = "library";
  return out;
}

}  // namespace assay::native
