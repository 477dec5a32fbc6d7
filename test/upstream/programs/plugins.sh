#!/usr/bin/env bash
# Builds win-bridge, win-overlay and host-local of containernetworking/plugins, of the version $2, for Windows and, with the
# stand-in for HNS of testdata/hcsshim, so that they run here. They come to the folder $1: NAME.exe and NAME.
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "$1")
version=$2
. ./copy.sh
copy "github.com/containernetworking/plugins@$version"
cd "$to"
windows=(./plugins/main/windows/win-bridge ./plugins/main/windows/win-overlay)
for one in "${windows[@]}" ./plugins/ipam/host-local; do
	GOOS=windows build "$out/$(basename "$one").exe" "$one"
done
stand_in hcsshim
for one in "${windows[@]}" ./pkg/hns; do
	windows_only "$one"
done
for one in "${windows[@]}" ./plugins/ipam/host-local; do
	build "$out/$(basename "$one")" "$one"
done
