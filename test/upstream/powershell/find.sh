# Sourced, with what needs it: finds a PowerShell 7 with Pester 5, $PWSH or pwsh on PATH, and exports it as PWSH. Without one, it says
# what is left out, and the script ends well; where PWSH is none, a sentence says so, and it fails. $work is a folder with a queue in
# it, which goes at the end.
PWSH=${PWSH:-$(command -v pwsh || true)}
export PWSH POWERSHELL_TELEMETRY_OPTOUT=1 POWERSHELL_UPDATECHECK=Off NO_COLOR=1
# Measured: without profiles of its own and without a thread for garbage .NET needs a third less time for these many small runs.
export DOTNET_TieredPGO=0 DOTNET_gcConcurrent=0

fail() { echo "$1" >&2; exit 1; }

if [[ -z $PWSH ]]; then
  echo "LEFT OUT: $1, because there is no PowerShell 7 (no pwsh on PATH, and PWSH is not set): install it with Pester 5, as CONTRIBUTING.md says, or set PWSH"
  exit 0
fi

# What it answers proves that it is one, and which.
ask='$pester = Get-Module -ListAvailable Pester | ForEach-Object { $_.Version.Major } | Sort-Object | Select-Object -Last 1
  "PowerShell $($PSVersionTable.PSVersion.Major) $([int]$pester)"'
answer=$("$PWSH" -NoProfile -NonInteractive -Command "$ask" 2>/dev/null | head -c 200 | tr -d '\r' || true)
[[ $answer =~ ^PowerShell\ ([0-9]+)\ ([0-9]+)$ ]] || fail "$PWSH is not a PowerShell; set PWSH to PowerShell 7"
[[ ${BASH_REMATCH[1]} -ge 7 ]] || fail "$PWSH is PowerShell ${BASH_REMATCH[1]}, and these tests need 7; set PWSH to it"
[[ ${BASH_REMATCH[2]} -ge 5 ]] || fail "$PWSH has no Pester 5; run there: Install-Module Pester -MinimumVersion 5.0 -Scope CurrentUser"

# Scripts flush each file that they write. In memory, where there is room for it, that takes no time.
work=$(mktemp -d -p "$([[ $(df --output=avail -B1M /dev/shm 2>/dev/null | tail -1) -ge 500 ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
trap 'rm -rf "$work"' EXIT
mkdir "$work/queue"
export TMPDIR=$work
