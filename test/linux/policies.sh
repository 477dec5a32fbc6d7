#!/usr/bin/env bash
# Asks our admission policies on API servers of the oldest Kubernetes that we support, which has no mutating ones, and of the newest.
# Only the first run takes long: it builds the servers of each version, 6 minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")"
ready=$(go run ../servers/cmd/fetch)
. ../programs/cache.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in v1.30.14 v1.37.2; do
	servers=$work/$version
	mkdir "$servers"
	ln -s "$ready"/* "$servers"
	make_once apiserver.sh control-plane "$version"
	ln -sf "${folders[-1]}"/* "$servers"
	go test -vet=off -count=1 -run '^TestPoliciesOfVersion$' -v . -args -policies.servers="$servers" -policies.version="$version"
done
