#!/usr/bin/env bash
# Builds kube-proxy.exe, flanneld.exe and the programs of CNI, asks their own code what it makes of what we render, and compares
# the tables with that; `check.sh -write` writes them anew. What was built is kept below the user's cache and used again, so that
# only the first run takes long: 3 minutes a version of Kubernetes on two cores.
#
# kube-proxy is code for its minor version: one patch of each, all of whose modules can be had from the module proxy. Those of
# 1.33.6 and 1.33.12 can not: each lacks one.
set -euo pipefail
cd "$(dirname "$0")"
kubernetes=(v1.33.13 v1.34.3 v1.35.4 v1.36.3 v1.37.2)
flannel=v0.28.9
plugins=v1.10.0

. ./cache.sh

for version in "${kubernetes[@]}"; do
	make_once kubeproxy.sh kube-proxy "$version"
done
make_once flannel.sh flanneld "$flannel"
make_once plugins.sh plugins "$plugins"
go run ./ask "$@" ../../../bootstrap/testdata/golden tables "${folders[@]}"
