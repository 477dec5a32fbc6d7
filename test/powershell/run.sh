#!/usr/bin/env bash
# Holds the scripts that nodes run against the vectors, and tests their functions: by PowerShell 7 with Pester 5 ($PWSH, or
# pwsh on PATH), without a network. Where there is none, that is said and nothing fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pwsh=${PWSH:-$(command -v pwsh || true)}
if [[ -z $pwsh ]]; then
  echo "left out: vectors and function tests on PowerShell (no pwsh on PATH, and PWSH is not set)"
  exit 0
fi

export CAPWIN_TESTS=$here
exec "$pwsh" -NoProfile -NonInteractive -Command '
  Import-Module Pester -MinimumVersion 5.0 -ErrorAction Stop
  Invoke-Pester -Configuration @{ Run = @{ Path = $env:CAPWIN_TESTS; Exit = $true } }'
