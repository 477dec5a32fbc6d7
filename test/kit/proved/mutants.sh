#!/usr/bin/env bash
# Puts each fault of mutants.txt into what decides whose a VM is, and fails if the tests beside it let one live. ROWS names rows, with
# commas between. The tree stays as it is: Go compiles the fault over it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

row='' in='' find='' put='' by='' run=''
dead=0 alive=0 wrong=0
try() {
  [[ -n $row ]] || return 0
  if [[ -n ${ROWS:-} && ",$ROWS," != *",$row,"* ]]; then return 0; fi
  if [[ $(grep -cF -- "$find" "$in") -ne 1 ]]; then
    echo "$row ERROR: $in does not have once: $find"
    wrong=$((wrong + 1))
    return 0
  fi
  FIND=$find PUT=$put perl -pe 's/\Q$ENV{FIND}\E/$ENV{PUT}/' "$in" >"$work/fault.go"
  printf '{"Replace": {"%s": "%s"}}' "$PWD/$in" "$work/fault.go" >"$work/overlay.json"
  # What does not compile is no fault that a test could see.
  # shellcheck disable=SC2086
  if ! go build -overlay "$work/overlay.json" "./$(dirname "$in")" 2>"$work/out"; then
    echo "$row ERROR: does not compile: $(head -3 "$work/out" | tr '\n' ' ')"
    wrong=$((wrong + 1))
  elif go test -vet=off -count=1 -timeout 10m -overlay "$work/overlay.json" $by ${run:+-run "$run"} >"$work/out" 2>&1; then
    echo "$row ALIVE"
    alive=$((alive + 1))
  else
    echo "$row dead by $(grep -m1 -oE -- '--- FAIL: [A-Za-z]+' "$work/out" | cut -c11- || true)"
    dead=$((dead + 1))
  fi
}
while IFS= read -r line || [[ -n $line ]]; do
  case $line in
    'row '*) try; row=${line#row } ;;
    'in '*) try; row='' run='' in=${line#in } ;;
    'find '*) find=${line#find } ;;
    'put '*) put=${line#put } ;;
    'by '*) by=${line#by } ;;
    'run '*) run=${line#run } ;;
  esac
done <test/kit/proved/mutants.txt
try
echo "proof: $((dead + alive)) mutants, $dead dead, $alive alive, $wrong without a place"
[[ $alive -eq 0 && $wrong -eq 0 && $dead -gt 0 ]]
