#!/usr/bin/env bash
# Builds the program of this folder so that it speaks for a kubelet.exe, of the version $2 or else that of go.mod, and puts it
# at $1: Kubernetes' own files for Windows take the place of those for Linux in a copy of its sources. Nothing of them is
# written anew.
set -euo pipefail
cd "$(dirname "$0")"
out=$1
built=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
version=${2:-$built}
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

from=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
to=$work/kubernetes
mkdir "$to"
cp "$from"/go.mod "$from"/go.sum "$to"
cp -r "$from"/cmd "$from"/pkg "$from"/third_party "$to"
chmod -R u+w "$to"

swap() { # folder, file for Windows, file for Linux
	sed '/^\/\/go:build /d' "$to/$1/$2" >"$to/$1/exe.$2.go"
	rm "$to/$1/$2" "$to/$1/$3"
	mv "$to/$1/exe.$2.go" "$to/$1/${2%_*}_exe.go"
}
swap cmd/kubelet/app/options osflags_windows.go osflags_others.go
swap cmd/kubelet/app/options globalflags_other.go globalflags_linux.go
swap pkg/kubelet/apis/config/validation validation_windows.go validation_linux.go

# The libraries of Kubernetes 1.x are of version 0.x.
sed "s/${built/v1/v0}/${version/v1/v0}/g; s/$built/$version/g" go.mod >"$work/go.mod" && cp go.sum "$work/go.sum"
go mod edit -modfile "$work/go.mod" -replace "k8s.io/kubernetes=$to" 2>/dev/null || go mod edit -replace "k8s.io/kubernetes=$to" "$work/go.mod"
CGO_ENABLED=0 go build -mod=mod -modfile "$work/go.mod" -o "$out" .
