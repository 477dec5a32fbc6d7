#!/usr/bin/env bash
# Asks our admission policies for Linux and for sizes on API servers of the oldest Kubernetes that we support, of one more that has
# no mutating ones, of the pinned one, and of the newest; and has Flux write beside them by its own code. Only the first run takes
# long: it builds the servers of each version, 6 minutes on two cores. VERSIONS has them.
set -euo pipefail
cd "$(dirname "$0")"
pinned=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\)$|\1|p' ../../repo/tools/go.mod)
ready=$(go run ../../kit/servers/cmd/fetch)
. ../../upstream/programs/cache.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in ${VERSIONS:-v1.30.14 v1.34.4 "$pinned" v1.37.2}; do
	servers=$work/$version
	mkdir "$servers"
	ln -s "$ready"/* "$servers"
	if [ "$version" != "$pinned" ]; then
		make_once apiserver.sh control-plane "$version"
		ln -sf "${folders[-1]}"/* "$servers"
	fi
	go test -vet=off -count=1 -run '^TestPoliciesOfVersion$' -v . -args -policies.servers="$servers" -policies.version="$version"
	CAPWIN_SERVERS=$servers go test -vet=off -count=1 -run '^Test(Sizes|StoredLargeObjects)$' -v ../admission
	(cd ../../upstream/gitops && go test -vet=off -count=1 -run '^TestFlux$' -v . -args -servers="$servers")
done
