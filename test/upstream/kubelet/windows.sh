#!/usr/bin/env bash
# Builds the program of this folder so that it speaks for a kubelet.exe, of the version $2 or else that of go.mod, and puts it
# at $1: Kubernetes' own files for Windows take the place of those for Linux in a copy of its sources. Nothing of them is
# written anew. It is built as a command of that copy, with the libraries that this version of Kubernetes names itself.
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath "$1")
version=${2:-$(go list -m -f '{{.Version}}' k8s.io/kubernetes)}
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

from=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
to=$work/kubernetes
mkdir "$to"
cp "$from"/go.mod "$from"/go.sum "$to"
cp -r "$from"/cmd "$from"/pkg "$from"/third_party "$to"
chmod -R u+w "$to"

swap() { # folder, file for Windows, file for Linux
	sed '/^\/\/go:build /d; /^\/\/ +build /d' "$to/$1/$2" >"$to/$1/exe.$2.go"
	rm "$to/$1/$2" "$to/$1/$3"
	mv "$to/$1/exe.$2.go" "$to/$1/${2%_*}_exe.go"
}
validation=pkg/kubelet/apis/config/validation
# Before 1.31 what is not for Windows is for all others.
[ -e "$to/$validation/validation_linux.go" ] || mv "$to/$validation/validation_others.go" "$to/$validation/validation_linux.go"
swap cmd/kubelet/app/options osflags_windows.go osflags_others.go
swap cmd/kubelet/app/options globalflags_other.go globalflags_linux.go
swap $validation validation_windows.go validation_linux.go

mkdir "$to/cmd/asked"
cp main.go "$to/cmd/asked"
# Before 1.34 the loader takes no context.
if grep -q 'Load() (' "$to/pkg/kubelet/kubeletconfig/configfiles/configfiles.go"; then
	sed -i '/^\t"context"$/d; s/Load(context.Background())/Load()/' "$to/cmd/asked/main.go"
fi
# The libraries of Kubernetes 1.x are of version 0.x.
sed -i "s|=> \./staging/src/\(k8s.io/.*\)|=> \1 v0${version#v1}|" "$to/go.mod"
cd "$to"
# What is not the kubelet's: some versions of these never came to the module proxy or into the checksum database.
for other in kube-proxy sample-apiserver sample-cli-plugin sample-controller; do
	go mod edit -droprequire="k8s.io/$other" -dropreplace="k8s.io/$other"
done
CGO_ENABLED=0 go build -mod=mod -o "$out" ./cmd/asked
