#!/usr/bin/env bash
# Runs targets of make one after another, whatever comes of them, and ends with the time that each took, with what they left out, and
# with those that failed.
set -uo pipefail
make=${MAKE:-make}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
trap 'exit 130' INT

times=() left=() failed=()
for target; do
  begin=$SECONDS
  echo "== make $target"
  "$make" --no-print-directory "$target" 2>&1 | tee "$out" || failed+=("$target")
  times+=("$(printf '%6d s  %s' $((SECONDS - begin)) "$target")")
  while IFS= read -r line; do left+=("make $target: $line"); done < <(grep '^LEFT OUT: ' "$out")
done
printf '%s\n' "the time of each:" "${times[@]}" "${left[@]}"
[[ ${#failed[@]} -eq 0 ]] || { echo "failed: ${failed[*]}" >&2; exit 1; }
