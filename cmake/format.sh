#!/bin/sh
# format.sh COMMAND…: runs the clang-format command on every source file of the repository.
cd "$(dirname "$0")/.." || exit 2
find . \( -name '.?*' -o -name 'build*' -o -name 'install*' -o -path ./my \) -prune \
  -o -type f -regex '.*\.\(c\|h\|cpp\|hpp\|cu\|cuh\)' -print0 | xargs -0 "$@"
