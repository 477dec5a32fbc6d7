// Package servers runs the real servers that our tests and the lab talk to, as plain processes on loopback: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler, kubeadm, Cluster API's managers, its providers of addresses and of
// charts, and vSphere's cloud controller manager. No container engine, no cluster and no root is needed.
//
//   - [Ensure] builds (or downloads) the programs once and keeps them in the user's cache.
//   - [StartManagement] starts a management cluster, [InstallCAPI] puts Cluster API on it, [InstallCAPV] and [InstallCAPZ] the
//     kinds of other providers, [StartIPAM] and [StartCAAPH] two more managers.
//   - [StartWorkload] starts a cluster as `kubeadm init` would leave it, with a Linux control plane node.
//   - [JoinAsCluster] shows such a workload cluster to Cluster API as a Cluster.
//
// Every process dies with the process that started it (on Linux even when that one is killed), and Stop ends them in order.
package servers
