#!/usr/bin/env bash
# Tries with a node's certificate what our roles open and what they must leave closed, and has the real kube-proxy of the same
# version read with them: on control planes of the oldest Kubernetes that we support, of the pinned one and of the newest. Only the
# first run takes long: it builds kube-apiserver and kube-proxy of each version, 10 minutes a version on two cores.
set -euo pipefail
cd "$(dirname "$0")"
pinned=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\)$|\1|p' ../../repo/tools/go.mod)
ready=$(go run ./cmd/fetch)
. ../../upstream/programs/cache.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in v1.30.14 "$pinned" v1.37.2; do
	servers=$work/$version
	mkdir "$servers"
	ln -s "$ready"/* "$servers"
	if [ "$version" != "$pinned" ]; then
		make_once apiserver.sh control-plane "$version"
		ln -sf "${folders[-1]}"/* "$servers"
	fi
	make_once kubeproxy.sh kube-proxy "$version"
	go test -vet=off -count=1 -run '^TestNodeRights$' -v . -args -servers="$servers" -version="$version" \
		-kube-proxy="${folders[-1]}/kube-proxy"
done
