#!/usr/bin/env bash
# Passes on what go test prints, line by line as it comes, and ends with the ten packages that took longest, and how long all did.
set -euo pipefail
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
tee "$seen"
ten=$(awk -F '\t' '$1 ~ /^(ok  |FAIL)$/ && $3 ~ /^[0-9.]+s/ {printf "%7.1f s  %s\n", $3, $2}' "$seen" | sort -rn | sed -n 1,10p)
[[ -z $ten ]] || echo "the packages that took longest, of $((SECONDS / 60)) min $((SECONDS % 60)) s in all:"$'\n'"$ten"
