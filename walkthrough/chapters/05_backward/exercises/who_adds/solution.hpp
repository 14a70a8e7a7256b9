#pragma once

enum class Write { store, add };

struct Plan {
  Write dQ, dK, dV;
};

/// A worker has one key tile j, and all row tiles stream past it.
constexpr Plan keys_outside = {Write::add, Write::store, Write::store};

/// A worker has one row tile i, and all key tiles stream past it.
constexpr Plan rows_outside = {Write::store, Write::add, Write::add};
