#!/bin/sh
# keep_ptx.sh COMPILER ARGUMENTS…: compiles, and leaves beside the object what receipts need:
# OBJECT.ptx/*.ptx, the code generated for each architecture, and OBJECT.ptxas, what ptxas says of
# registers, shared memory and spills. Everything else the compiler says goes where it would go.
object=
previous=
for word; do
  [ "$previous" = -o ] && object=$word
  previous=$word
done
rm -rf "$object.ptx"
mkdir -p "$object.ptx" || exit 1
"$@" --keep --keep-dir "$object.ptx" -Xptxas -v 2>"$object.said"
status=$?
about='^ptxas info\|^ *[0-9]* bytes stack frame'
grep "$about" "$object.said" >"$object.ptxas"
grep -v "$about" "$object.said" >&2
find "$object.ptx" -type f ! -name '*.ptx' -exec rm -f {} +
rm -f "$object.said"
exit $status
