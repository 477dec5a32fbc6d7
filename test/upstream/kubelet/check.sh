#!/usr/bin/env bash
# Asks the real kubelets, that of go.mod and the oldest and the newest of ./versions. Fails when ./versions are not what the
# sources say, when one that is built says something else, when a table is not made of them, or when a kubelet
# refuses a configuration that we render or takes one that we refuse.
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
go run ./table versions/*.json | diff -u ../../../bootstrap/kubelet/table.go -
go run ./table -lab versions/*.json | diff -u ../../sim/guest/kubelet.txt -

# The kubelet warns of each gate that it will drop, in each file.
without_warnings() { sed '/feature_gate.go/d' >&2; }

ask() { # version, configurations that it must take
	local version=$1
	shift
	./windows.sh "$work/kubelet" "$version"
	"$work/kubelet" dump | diff -u "versions/$version.json" -
	"$work/kubelet" takes "$@" 2> >(without_warnings)
	echo "kubelet $version takes the $# configurations that it must"
}
all=$(printf '%s\n' versions/*.json | sort)
# The oldest takes those of its version: what is enforced has another form in them.
oldest=$(basename "$(head -n 1 <<<"$all")" .json)
ask "$oldest" testdata/configurations/*-"$(cut -d. -f1,2 <<<"${oldest#v}")".json
newest=$(basename "$(tail -n 1 <<<"$all")" .json)
for version in "$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" "$newest"; do
	ask "$version" testdata/configurations/*.json
	"$work/kubelet" refuses testdata/refused/*.json 2> >(without_warnings)
	echo "kubelet $version refuses what it must"
done
