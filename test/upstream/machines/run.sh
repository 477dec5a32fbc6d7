#!/usr/bin/env bash
# Lives the lives of machines by the scripts that nodes run, in a PowerShell 7 ($PWSH, or pwsh on PATH): all of them once, and again
# with a tenth (part) or all of the failures, throws and kills. SEED says which tenth; without one it is the day's. Where there is
# no PowerShell, that is said and nothing fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
go=${TMPDIR:-/tmp}
source "$here/../powershell/find.sh" "the lives of machines by the scripts that nodes run"
cd "$here"
TMPDIR=$go go test -vet=off -c -o "$work/machines.test" .
"$work/machines.test" -test.run '^TestMachines$' -test.timeout 5h -lives="${1:-part}" -seed="${SEED:-0}"
