#!/usr/bin/env bash
# Builds flanneld of the version $2: flanneld.exe to the folder $1, and what runs here with flannel's files for Windows in place
# of those for Linux: flanneld, which is asked for its flags, and netconf, which asks its backends; see testdata/flannel.
# With Linux' own files it can not be built: a library of backend/tencentvpc is not to be had from the module proxy.
#
# Not reached here: what flanneld asks of the API server and of HNS. testdata/hcsshim has a stand-in for the latter.
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "$1")
version=$2
. ./copy.sh
copy "github.com/flannel-io/flannel@$version"
cd "$to"
named=(-ldflags "-s -w -X github.com/flannel-io/flannel/pkg/version.Version=$version")
GOOS=windows build "$out/flanneld.exe" . "${named[@]}"
stand_in hcsshim
for file in pkg/backend/*/*_windows.go; do
	windows_only "$(dirname "$file")"
done
for one in backend ip routing powershell; do
	windows_only "pkg/$one"
done
mkdir cmd/netconf
cp "$standins/flannel/main.go" cmd/netconf
build "$out/netconf" ./cmd/netconf
build "$out/flanneld" . "${named[@]}"
