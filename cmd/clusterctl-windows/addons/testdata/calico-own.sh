# What Calico's operator needs before it makes its DaemonSet for Windows.
# Run this against the cluster of the pool, not against the management cluster.
# Addresses of a Windows node's block are its own.
kubectl patch ipamconfigs.v1.crd.projectcalico.org default --type merge --patch '{"spec":{"strictAffinity":true}}'
