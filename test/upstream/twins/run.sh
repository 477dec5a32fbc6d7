#!/usr/bin/env bash
# Has TWINS plans of the seed SEED, from number FIRST on, and the plans of the folder cases, carried out by the scripts that nodes run,
# in a PowerShell 7 ($PWSH, or pwsh on PATH), and by the lab. Where there is no PowerShell, that is said and nothing fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
go=${TMPDIR:-/tmp}
source "$here/../powershell/find.sh" "plans by both interpreters"
cd "$here"
export TWINS=${TWINS:-5000} SEED=${SEED:-$(date -u +%Y%m%d)} FIRST=${FIRST:-0}
TMPDIR=$go go test -vet=off -c -o "$work/twins.test" .
"$work/twins.test" -test.run '^(TestCases|TestTwins)$' -test.v -test.timeout 3h
