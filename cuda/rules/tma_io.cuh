// Q, K and V by TMA: tensor maps, and rows of them into tiles. What lies outside of a tensor, on
// either side, comes as zeros. Tiles of keys may therefore begin before the first key, so that they
// end with the last one that a block's rows see: no key is loaded that none of them sees.
#pragma once

#include "cuda/isa/hopper.cuh"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/launcher.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// The inputs of a forward pass as tensor maps, [d, N, H, B]: innermost first.
struct TmaMaps {
  TensorMap Q_map, K_map, V_map;
};

template <class T>
struct TmaParameters : ForwardParameters<T>, TmaMaps {};

/// By a warp: the first n rows of a tile that wgmma reads become zeros.
template <class T, int rows, int columns>
FLASHBOOK_DEVICE void clear_rows(Tile<T, rows, columns, Swizzle128>& tile, int n) {
  constexpr int chunk = 16 / sizeof(T), chunks = columns / chunk;
#pragma unroll 1
  for (int e = threadIdx.x % 32; e < n * chunks; e += 32)
    store_vector(tile.at(e / chunks, e % chunks * chunk), uint4{0, 0, 0, 0});
  fence_proxy_async();
  sync_warp();
}

// [load_rows]
/// One thread starts to load the rows from `first` on of a head; `full` then awaits their bytes.
template <class T, int rows, int columns>
FLASHBOOK_DEVICE void load_rows(Tile<T, rows, columns, Swizzle128>& tile, const TensorMap& map,
                                int first, int head, int batch, Mbarrier& full) {
  mbarrier_arrive_expect_tx(full, rows * columns * sizeof(T));
#pragma unroll
  for (int column = 0; column < columns; column += 64)
    tma_load(tile.at(0, column), map, {column, first, head, batch}, full);
}
// [/load_rows]

/// The same in boxes of 1 / parts of the rows.
template <int parts, class T, int rows, int columns>
FLASHBOOK_DEVICE void load_rows_in_parts(Tile<T, rows, columns, Swizzle128>& tile,
                                         const TensorMap& map, int first, int head, int batch,
                                         Mbarrier& full) {
  mbarrier_arrive_expect_tx(full, rows * columns * sizeof(T));
#pragma unroll
  for (int row = 0; row < rows; row += rows / parts)
#pragma unroll
    for (int column = 0; column < columns; column += 64)
      tma_load(tile.at(row, column), map, {column, first + row, head, batch}, full);
}

/// The same for all blocks of a cluster, each of which calls it and loads one of the boxes; `full`
/// of each awaits the bytes of all.
template <int cluster, class T, int rows, int columns>
FLASHBOOK_DEVICE void load_rows_for_cluster(Tile<T, rows, columns, Swizzle128>& tile,
                                            const TensorMap& map, int first, int head, int batch,
                                            Mbarrier& full) {
  const int row = static_cast<int>(cluster_rank()) * (rows / cluster);
  mbarrier_arrive_expect_tx(full, rows * columns * sizeof(T));
#pragma unroll
  for (int column = 0; column < columns; column += 64)
    tma_load_multicast(tile.at(row, column), map, {column, first + row, head, batch}, full,
                       (1u << cluster) - 1);
}

// ---- the host's side

/// The map of an input in boxes of `rows` rows of 64 columns. Its strides are those that
/// tma_refusal lets pass; of a dimension of size 1 the stride is never used.
template <class T>
LaunchStatus make_rows_map(TensorMap& map, const Tensor<const T>& tensor, int64_t tokens,
                           int64_t heads, int64_t batch, int rows) {
  const auto stride = [](int64_t size, int64_t given) { return size > 1 ? given : 8; };
  return make_tensor_map(
      map, tensor.data,
      {4,
       {tensor.channels, tokens, heads, batch},
       {1, stride(tokens, tensor.token), stride(heads, tensor.head), stride(batch, tensor.batch)},
       {64, rows, 1, 1}});
}

struct TileSizes {
  int B_r, B_c;  ///< rows of Q, and of K and V, that one copy loads
};

/// Without keys nobody reads K's and V's maps, which then are Q's.
template <class T>
LaunchStatus make_maps(TmaMaps& maps, const ForwardParameters<T>& p, TileSizes tile) {
  const Sizes& s = p.sizes;
  LaunchStatus status = make_rows_map(maps.Q_map, p.Q, s.n_q(), s.heads_q, s.batch, tile.B_r);
  if (!status.ok()) return status;
  if (s.n_k() == 0) {
    maps.K_map = maps.V_map = maps.Q_map;
    return status;
  }
  status = make_rows_map(maps.K_map, p.K, s.n_k(), s.heads_kv, s.batch, tile.B_c);
  if (!status.ok()) return status;
  return make_rows_map(maps.V_map, p.V, s.n_k(), s.heads_kv, s.batch, tile.B_c);
}

template <class T>
LaunchStatus make_tma_parameters(TmaParameters<T>& p, const flashbook_problem& problem,
                                 const ForwardTensors& tensors, TileSizes tile) {
  static_cast<ForwardParameters<T>&>(p) = forward_parameters<T>(problem, tensors);
  return make_maps(p, p, tile);
}

/// Makes the parameters and starts a kernel of a block for each B_r rows of each head; nothing if
/// there are none.
template <class T>
LaunchStatus launch_tma_blocks(const char* name, const flashbook_problem& problem,
                               const ForwardTensors& tensors, TileSizes tile, int threads,
                               std::size_t shared_bytes, void* stream,
                               void (*kernel)(TmaParameters<T>)) {
  const Sizes sizes = sizes_of(problem);
  const int64_t blocks = head_tiles(sizes.n_q(), tile.B_r, sizes.heads_q, sizes.batch);
  if (blocks == 0) return {};
  TmaParameters<T> p = {};
  const LaunchStatus status = make_tma_parameters(p, problem, tensors, tile);
  if (!status.ok()) return status;
  return launch_blocks(name, blocks, threads, shared_bytes, stream, kernel, p);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
