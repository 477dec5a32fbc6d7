#!/usr/bin/env bash
# Puts each fault of mutants.txt into a copy of the scripts that nodes run, and fails if the vectors and suites let one live. ROWS names
# rows, with commas between.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/find.sh" "the faults of the scripts that nodes run"

begin=$SECONDS
"$PWSH" -NoProfile -NonInteractive -File "$here/mutants.ps1" -Map "$work/map"
pids=()
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
for ((job = 0; job < jobs; job++)); do
  "$PWSH" -NoProfile -NonInteractive -File "$here/mutants.ps1" -Map "$work/map" -Queue "$work/queue" -Result "$work/result.$job" -Rows "${ROWS:-}" &
  pids+=($!)
done
broken=0
for pid in "${pids[@]}"; do wait "$pid" || broken=1; done

sort -u "$work"/result.*
rows=$(cat "$work"/result.* | grep -v '^ERROR' | awk '{print $1}' | sort -u | wc -l)
dead=$(cat "$work"/result.* | grep -c ' dead ' || true)
alive=$(cat "$work"/result.* | grep -c ' ALIVE ' || true)
wrong=$(cat "$work"/result.* | grep -c '^ERROR\|^BARE' || true)
echo "strictness: $rows rows, $((dead + alive)) mutants, $dead dead, $alive alive, $wrong without a mutant or a place; $((SECONDS - begin)) s"
[[ $broken -eq 0 && $alive -eq 0 && $wrong -eq 0 && $dead -gt 0 ]]
