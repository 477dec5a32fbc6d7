#!/usr/bin/env bash
# Asks the real kubelets, that of go.mod and the newest of ./versions. Fails when ./versions are not what the sources say, when
# one that is built says something else, when the table in bootstrap is not made of them, or when a kubelet refuses a
# configuration that we render or takes one that we refuse.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go build -o "$work/sources" ./sources
for file in versions/v1.*.json; do
	version=$(basename "$file" .json)
	"$work/sources" "${version#v}" >"$work/$version.json"
	diff -u "$file" "$work/$version.json"
done
go run ./table versions/*.json | diff -u ../../bootstrap/kubelet_table.go -
newest=$(printf '%s\n' versions/*.json | sort | tail -n 1)
for version in "$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" "$(basename "$newest" .json)"; do
	./windows.sh "$work/kubelet" "$version"
	"$work/kubelet" dump | diff -u "versions/$version.json" -
	"$work/kubelet" takes testdata/configurations/*.json >/dev/null
	"$work/kubelet" refuses testdata/refused/*.json >/dev/null
done
