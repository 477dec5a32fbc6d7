#!/usr/bin/env bash
# Runs the tests of packages again and again beside busy loops: what asserts a time of the computer's clock, or takes an order for
# granted, is red then. Stories are left out. All results are in one file, so that a run which was ended goes on where it stopped:
#
#   PACKAGES  folders, with spaces between; without, all whose tests start a process or wait
#   TIMES     how often each is run (50)
#   LOOPS     how many loops take the processors (8)
#   JOBS      how many runs are under way at once (1): more are done in an hour, and each is slower still
#   RESULTS   the file (out/stress/results.txt); what a red run has printed is beside it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
times=${TIMES:-50} loops=${LOOPS:-8} jobs=${JOBS:-1} results=$(realpath -m "${RESULTS:-out/stress/results.txt}")
mkdir -p "$(dirname "$results")"

tree="tree $(git stash create 2>/dev/null | xargs -r -I{} git rev-parse '{}^{tree}' || true)"
[[ $tree != 'tree ' ]] || tree="tree $(git rev-parse 'HEAD^{tree}')"
if [[ -s $results && $(head -1 "$results") != "$tree" ]]; then
  echo "$results is of another tree: remove it, or name another file with RESULTS" >&2
  exit 2
fi
[[ -s $results ]] || echo "$tree" >"$results"

# waiting are the packages whose tests use what waits or starts processes.
waiting() {
  grep -lE 'test/(kit/(wait|servers|world|build)|sim/vcenter)"|"os/exec"' -r --include='*_test.go' . |
    grep -vE '^./test/(upstream/(alerts|cloudbaseinit|containerd|gitops|kubelet|programs)|repo/tools)/' | xargs -n 1 dirname | sort -u
}

work=$(mktemp -d) busy=()
finish() {
  for pid in "${busy[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

# program is the file of a package's tests.
program() { echo "$work/$(tr / - <<<"${1#./}").test"; }

# once runs the program of a package in its folder, as go test does: a shell in the background has its programs ignore interrupts,
# which a test of ours sends.
once() {
  local began=$SECONDS out
  out=$(mktemp -p "$work")
  if (cd "$1" && STORIES=none env --default-signal=INT "$(program "$1")" -test.timeout=60m) >"$out" 2>&1; then
    echo "ok $1 $((SECONDS - began))s" >>"$results"
  else
    echo "RED $1 $((SECONDS - began))s" >>"$results"
    cp "$out" "$(dirname "$results")/$(tr / - <<<"${1#./}")-$(date +%s).txt"
  fi
  rm "$out"
}
export work results
export -f program once

# left are the runs that are not done: each package once, then each again, so that a run which was ended has tried all of them.
left() {
  local package done
  for package in ${PACKAGES:-$(waiting)}; do
    package=./${package#./}
    done=$(grep -cE "^(ok|RED) $package " "$results" || true)
    for ((; done < times; done++)); do echo "$done $package"; done
  done | sort -s -n -k 1,1 | cut -d ' ' -f 2
}

runs=$(left)
for package in $(sort -u <<<"$runs"); do go test -c -vet=off -o "$(program "$package")" "$package"; done
for ((i = 0; i < loops; i++)); do
  while :; do :; done &
  busy+=($!)
done
xargs -r -P "$jobs" -I{} bash -c 'once {}' <<<"$runs"

awk '/^(ok|RED) / {n[$2]++; sum[$2] += $3; if ($1 == "RED") red[$2]++}
  END {for (p in n) {printf "%s: %d runs, %d red, %.0f s each\n", p, n[p], red[p], sum[p] / n[p]; all += n[p]; reds += red[p]}
  printf "%d runs, %d red\n", all, reds; exit (reds > 0)}' "$results" | sort
exit "${PIPESTATUS[0]}"
