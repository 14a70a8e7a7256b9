// What a block computes: a tile of rows of one head, of a batch entry or of a packed member.
#pragma once

#include "cuda/rules/blocks.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// The sequences of a problem. Packed, member b has the queries q(b) to q(b + 1) - 1 and likewise
/// keys; the tokens behind the last are slack, and here a member of their own without a key.
struct Members {
  bool packed, bottom_right;
  int count;
  gmem<const int64_t> q, k;  ///< [count + 1] if packed

  /// Where a member begins; as many tokens as a problem has fit an int.
  FLASHBOOK_DEVICE int first_q(int member) const { return static_cast<int>(int64_t(q(member))); }
  FLASHBOOK_DEVICE int first_k(int member) const { return static_cast<int>(int64_t(k(member))); }
};

/// Rows and keys count from the member's first.
struct Work {
  int first, head;
  int member;            ///< or batch entry; of slack as many as there are
  int q_token, k_token;  ///< the member's first; 0 if not packed
  int n_q, n_k, diagonal;

  FLASHBOOK_DEVICE bool is_nothing() const { return first >= n_q; }
  FLASHBOOK_DEVICE bool is_slack(const Members& members) const {
    return members.packed && member == members.count;
  }
  FLASHBOOK_DEVICE int batch(const Members& members) const { return members.packed ? 0 : member; }
  FLASHBOOK_DEVICE Visible visible(const Sizes& sizes) const {
    return {n_q, n_k, diagonal, sizes.visible.left, sizes.visible.right};
  }
};

/// Tiles of a head that hold `size` of its n rows each, or none: those of member b begin with
/// number q(b) / size + b, so that a block finds its member and nobody counts the tiles.
FLASHBOOK_HOST_DEVICE int64_t tiles_of_head(int n, const Members& members, int size) {
  return members.packed ? int64_t{n} / size + members.count + 1 : tiles(n, size);
}

/// The last member whose first tile is not behind `tile`.
FLASHBOOK_DEVICE int member_of(int tile, const Members& members, int size) {
  int member = 0, end = members.count + 1;
  while (end - member > 1) {
    const int middle = member + (end - member) / 2;
    if (members.first_q(middle) / size + middle <= tile)
      member = middle;
    else
      end = middle;
  }
  return member;
}

/// The rows and keys of a member, and no tile yet.
FLASHBOOK_DEVICE Work work_of_member(int member, const Sizes& sizes, const Members& members) {
  Work work = {};
  work.member = member;
  work.q_token = members.first_q(member);
  if (member == members.count) {
    work.n_q = sizes.n_q() - work.q_token;
    return work;
  }
  work.k_token = members.first_k(member);
  work.n_q = members.first_q(member + 1) - work.q_token;
  work.n_k = members.first_k(member + 1) - work.k_token;
  work.diagonal = members.bottom_right ? work.n_k - work.n_q : 0;
  return work;
}

/// Tile number `tile` of a head's tiles of `size` rows, `head` of all batch entries' heads.
FLASHBOOK_DEVICE Work work_at(int tile, int head, const Sizes& sizes, const Members& members,
                              int size) {
  Work work = {};
  if (members.packed) {
    const int member = member_of(tile, members, size);
    tile -= members.first_q(member) / size + member;
    work = work_of_member(member, sizes, members);
  } else {
    work.member = head / sizes.heads_q;
    work.n_q = sizes.n_q();
    work.n_k = sizes.n_k();
    work.diagonal = sizes.visible.diagonal;
  }
  work.head = head % sizes.heads_q;
  work.first = tile * size;
  return work;
}

/// What block `block` does. Where keys right of the diagonal are hidden, tiles of a head come from
/// its last rows on (longest_first).
FLASHBOOK_DEVICE Work work_of(unsigned block, const Sizes& sizes, const Members& members,
                              int size) {
  const auto of_head = static_cast<unsigned>(tiles_of_head(sizes.n_q(), members, size));
  Work work = work_at(static_cast<int>(block % of_head), static_cast<int>(block / of_head), sizes,
                      members, size);
  const int last = (tiles(work.n_q, size) - 1) * size;
  if (sizes.visible.right < most_tokens && work.first <= last) work.first = last - work.first;
  return work;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
