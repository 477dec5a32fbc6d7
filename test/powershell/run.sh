#!/usr/bin/env bash
# Holds the scripts that nodes run against the vectors, and tests their functions: by PowerShell 7 with Pester 5 ($PWSH, or pwsh on
# PATH), without a network, in as many processes as there are processors (JOBS). Where there is no PowerShell, that is said and
# nothing fails. SLOWEST=1 lists what took longest.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

PWSH=${PWSH:-$(command -v pwsh || true)}
if [[ -z $PWSH ]]; then
  echo "LEFT OUT: the tests of the scripts that nodes run, because there is no PowerShell 7 (no pwsh on PATH, and PWSH is not set)"
  exit 0
fi
export PWSH POWERSHELL_TELEMETRY_OPTOUT=1 POWERSHELL_UPDATECHECK=Off NO_COLOR=1

fail() { echo "$1" >&2; exit 1; }

# What it answers proves that it is one, and which.
ask='$pester = Get-Module -ListAvailable Pester | ForEach-Object { $_.Version.Major } | Sort-Object | Select-Object -Last 1
  "PowerShell $($PSVersionTable.PSVersion.Major) $([int]$pester)"'
answer=$("$PWSH" -NoProfile -NonInteractive -Command "$ask" 2>/dev/null | head -c 200 | tr -d '\r' || true)
[[ $answer =~ ^PowerShell\ ([0-9]+)\ ([0-9]+)$ ]] || fail "$PWSH is not a PowerShell; set PWSH to PowerShell 7"
[[ ${BASH_REMATCH[1]} -ge 7 ]] || fail "$PWSH is PowerShell ${BASH_REMATCH[1]}, and these tests need 7; set PWSH to it"
[[ ${BASH_REMATCH[2]} -ge 5 ]] || fail "$PWSH has no Pester 5; run there: Install-Module Pester -MinimumVersion 5.0 -Scope CurrentUser"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/queue"
export TMPDIR=$work

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
if [[ -n ${SLOWEST:-} ]]; then sort -r "$work"/result.*.slowest | head -30; fi
passed=0 failed=$broken skipped=0 vectors=0
for ((job = 0; job < jobs; job++)); do
  read -r p f s v <"$work/result.$job" || { p=0 f=1 s=0 v=0; }
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) vectors=$((vectors + v))
done
echo "the scripts of nodes: $passed Its passed, $failed failed, $skipped skipped; $vectors vectors; $((SECONDS - begin)) s, $jobs at a time"
[[ $failed -eq 0 && $vectors -gt 0 ]]
