#include "kernels/native/conv_winograd_plan.hpp"

namespace assay::native {
namespace {

/// Bytes of the transformed inputs and products of one block of tiles.
constexpr std::ptrdiff_t block_bytes = 320 << 10;

/// Floats of a plan with `owners` threads that have their own memory.
std::ptrdiff_t total(const WinogradPlan& plan, std::ptrdiff_t owners) {
  return plan.resident + owners * plan.each();
}

std::ptrdiff_t choose_channels(const WinogradSizes& s) {
  return s.weights.row_blocks() * channel_block;
}

WinogradPlan size_plan(const WinogradSizes& s, bool by_tiles, std::ptrdiff_t tiles,
                       std::ptrdiff_t blocks) {
  const std::ptrdiff_t channels = choose_channels(s), inputs = s.frequencies * tiles * channels,
                       groups = count_blocks(s.tiles, tiles);
  WinogradPlan plan;
  plan.by_tiles = by_tiles;
  plan.tiles = tiles;
  plan.blocks = blocks;
  plan.parts = by_tiles ? groups : s.weights.panels();
  plan.resident = count_blocks((by_tiles ? s.frequencies * s.weights.group() : groups * inputs) *
                                   static_cast<std::ptrdiff_t>(size_of(s.stored)),
                               sizeof(float));
  plan.per_thread = by_tiles ? inputs : s.frequencies * blocks * s.weights.block();
  plan.products = s.frequencies * tiles * s.weights.width;
  // One frequency of a panel, or of a block of tiles.
  if (s.stored != DataType::fp32) plan.fp32_copy = by_tiles ? s.weights.panel() : tiles * channels;
  return plan;
}

/// The fastest plan of its kind, or the first smaller one that needs at most `limit` floats.
WinogradPlan fit_plan(const WinogradSizes& s, bool by_tiles, std::ptrdiff_t limit) {
  const auto too_large = [&](const WinogradPlan& plan) {
    return total(plan, std::min(s.threads, plan.parts)) > limit;  // a thread without a part needs
                                                                  // no memory
  };
  // A block of tiles is a whole number of register blocks, and each thread gets at least one block.
  const std::ptrdiff_t each = s.frequencies * (choose_channels(s) + s.weights.width) * 4;
  std::ptrdiff_t tiles = std::max<std::ptrdiff_t>(1, block_bytes / (each * s.rows)) * s.rows;
  if (by_tiles) tiles = std::min(tiles, pad(count_blocks(s.tiles, s.threads), s.rows));
  tiles = count_blocks(s.tiles, count_blocks(s.tiles, std::min(s.tiles, tiles)));
  WinogradPlan plan = size_plan(s, by_tiles, tiles, s.weights.row_blocks());
  while (too_large(plan) && plan.tiles > s.rows)
    plan = size_plan(s, by_tiles, count_blocks(plan.tiles, 2), plan.blocks);
  while (too_large(plan) && !by_tiles && plan.blocks > 1)
    plan = size_plan(s, by_tiles, plan.tiles, count_blocks(plan.blocks, 2));
  return plan;
}

}  // namespace

WinogradPlan plan_winograd(const WinogradSizes& sizes, std::ptrdiff_t limit) {
  const WinogradPlan tiles = fit_plan(sizes, true, limit), weights = fit_plan(sizes, false, limit);
  const WinogradPlan& smaller = tiles.resident <= weights.resident ? tiles : weights;
  if (total(smaller, 1) <= limit) return smaller;
  return total(tiles, 1) <= total(weights, 1) ? tiles : weights;
}

}  // namespace assay::native
