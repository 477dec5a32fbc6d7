// Package frontdoor proves the whole: one command of clusterctl makes a cluster with Linux and Windows, in which a Windows pod
// runs. Real are Kubernetes, Cluster API with its kubeadm and Helm providers, clusterctl, kubeadm, vSphere's cloud provider, and
// ours. The clouds, the VMs, and the charts that cannot be had are played; testdata/charts/README.md and linuxvm say how.
package frontdoor
