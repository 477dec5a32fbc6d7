#!/usr/bin/env bash
# Builds kube-proxy of the version $2: kube-proxy.exe to the folder $1, and beside it kube-proxy, which runs here and yet has the
# flags, defaults and validation of the other: Kubernetes' own files for Windows take the place of those for Linux.
#
# Not reached here: pkg/proxy/winkernel, which looks for the HNS network, for its source VIP and for what Windows can do.
# It is built for Windows only; testdata/kubernetes has a stand-in, with which kube-proxy runs here and says what it has read.
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "$1")
version=$2
. ./copy.sh
copy "k8s.io/kubernetes@$version" cmd pkg third_party
own_libraries "$version"
cd "$to"
named=(-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version")
GOOS=windows build "$out/kube-proxy.exe" ./cmd/kube-proxy "${named[@]}"

windows_only cmd/kube-proxy/app
rm -r pkg/proxy/winkernel pkg/windows/service
mkdir pkg/proxy/winkernel pkg/windows/service
cp "$standins/kubernetes/winkernel.go" pkg/proxy/winkernel
cp "$standins/kubernetes/service.go" pkg/windows/service
# It asks at run time which system it is on.
sed -i 's/runtime\.GOOS/"windows"/; /^\t"runtime"$/d' pkg/proxy/apis/config/validation/validation.go
build "$out/kube-proxy" ./cmd/kube-proxy "${named[@]}"
