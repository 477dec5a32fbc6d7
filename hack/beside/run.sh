#!/usr/bin/env bash
# Runs a target of make, and others beside it, one after another and with less of the processors, because these are few:
#
#   run.sh TARGET OTHER...
#
# What TARGET prints appears as it comes. What each other prints is one piece, in the order above, after TARGET has ended. All run to
# their end; the last line names those that failed. A signal ends all of them, with all that they have started.
set -uo pipefail
set -m # a process group for each, which has what it starts as well
make=${MAKE:-make} target=$1
shift

work=$(mktemp -d) || exit
groups=()
# finish ends what still runs: by a request, and by force five seconds later.
finish() {
  exec 2>/dev/null # where the shell reports each end
  signal TERM
  for ((i = 0; i < 50; i++)); do signal 0 && sleep 0.1 || break; done
  signal KILL
  rm -rf "$work"
}
# signal fails if nothing runs.
signal() {
  local some=1
  for group in "${groups[@]}"; do kill -"$1" -- -"$group" && some=0; done
  return "$some"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 129' HUP
trap 'exit 143' TERM

others() {
  for other; do
    nice -n 10 "$make" --no-print-directory "$other" >"$work/$other" 2>&1
    echo $? >"$work/$other.code"
  done
}

# In the background, what reads a terminal stands still.
"$make" --no-print-directory "$target" </dev/null &
groups+=($!)
others "$@" </dev/null &
groups+=($!)

failed=()
wait "${groups[0]}" || failed+=("$target")
wait "${groups[1]}"
for other; do
  echo "== make $other"
  cat "$work/$other"
  [[ $(<"$work/$other.code") == 0 ]] || failed+=("$other")
done
[[ ${#failed[@]} -eq 0 ]] || { echo "failed: ${failed[*]}" >&2; exit 1; }
