#!/usr/bin/env bash
# Asks the real kubelet. Fails when the versions of ./versions are not what the sources say, when the one that is built says
# something else, when the table in bootstrap is not made of them, or when the kubelet refuses a configuration that we render
# or takes one that we refuse.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

./windows.sh "$work/kubelet"
go build -o "$work/sources" ./sources
for file in versions/v1.*.json; do
	version=$(basename "$file" .json)
	"$work/sources" "${version#v}" >"$work/$version.json"
	diff -u "$file" "$work/$version.json"
done
"$work/kubelet" dump | diff -u "versions/$(go list -m -f '{{.Version}}' k8s.io/kubernetes).json" -
go run ./table versions/*.json | diff -u ../../bootstrap/kubelet_table.go -
"$work/kubelet" takes testdata/configurations/*.json >/dev/null
"$work/kubelet" refuses testdata/refused/*.json >/dev/null
