#!/usr/bin/env bash
# Holds the scripts that nodes run against the vectors, and tests their functions: by PowerShell 7 with Pester 5 ($PWSH, or pwsh on
# PATH), without a network, in as many processes as there are processors (JOBS). Where there is no PowerShell, that is said and
# nothing fails. SLOWEST=1 lists what took longest.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/find.sh" "the tests of the scripts that nodes run"

begin=$SECONDS
pids=()
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
for ((job = 0; job < jobs; job++)); do
  "$PWSH" -NoProfile -NonInteractive -File "$here/run.ps1" "$work/queue" "$work/result.$job" >"$work/output.$job" 2>&1 &
  pids+=($!)
done
broken=0
for pid in "${pids[@]}"; do wait "$pid" || broken=1; done

cat "$work"/output.*
if [[ -n ${SLOWEST:-} ]]; then cat "$work"/result.*.slowest | sort -r | head -30; fi
passed=0 failed=$broken skipped=0 vectors=0
for ((job = 0; job < jobs; job++)); do
  read -r p f s v <"$work/result.$job" || { p=0 f=1 s=0 v=0; }
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) vectors=$((vectors + v))
done
echo "the scripts of nodes: $passed Its passed, $failed failed, $skipped skipped; $vectors vectors; $((SECONDS - begin)) s, $jobs at a time"
[[ $failed -eq 0 && $vectors -gt 0 ]]
