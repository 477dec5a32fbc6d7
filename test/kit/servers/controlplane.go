package servers

import (
	"fmt"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
)

// leisurely is the environment of servers that are not ours: they collect garbage less often. This saves a third of the
// processor time of an API server, and costs 450 MB of memory. One with 5,000 machines would take 10 GB so.
var leisurely = []string{"GOGC=400", "GOMEMLIMIT=4GiB"}

// etcdServer returns an etcd with one member and the URL its clients use. It does not wait for its disk: its data is not
// meant to outlive us.
func etcdServer(b Binaries, dir string, clientPort, peerPort int) (server, string) {
	client, peer := "http://"+address(clientPort), "http://"+address(peerPort)
	ready := answersOK(healthClient, client+"/readyz")
	return server{name: "etcd", path: b.Path("etcd"), ready: ready, env: leisurely, args: []string{
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}}, client
}

// apiServerArgs are what both kinds of cluster have in common.
func apiServerArgs(port int, etcdURL string) []string {
	return []string{
		"--etcd-servers=" + etcdURL,
		"--secure-port=" + strconv.Itoa(port),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		// Loopback is not allowed as an endpoint of the kubernetes Service.
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	}
}

// apiServer is ready when an admin sees it ready: by then it has made the default roles and namespaces. To end, it would wait
// for those who watch, for longer than our grace.
func apiServer(b Binaries, admin *rest.Config, args []string) (server, error) {
	client, err := rest.HTTPClientFor(admin)
	if err != nil {
		return server{}, fmt.Errorf("make client of %s: %w", admin.Host, err)
	}
	ready := answersOK(client, admin.Host+"/readyz")
	return server{
		name: "kube-apiserver", path: b.Path("kube-apiserver"), args: args, env: leisurely, ready: ready, disposable: true,
	}, nil
}

const kubeControllerManager = "kube-controller-manager"

// controllerManager may ask as often as it likes: its default of 20 requests a second makes it start slowly.
func controllerManager(b Binaries, kubeconfig string, port int, args ...string) server {
	return component(b, kubeControllerManager, kubeconfig, port, append(args, "--kube-api-qps=500", "--kube-api-burst=500")...)
}

func scheduler(b Binaries, kubeconfig string, port int, args ...string) server {
	return component(b, "kube-scheduler", kubeconfig, port, args...)
}

// component is a client of the API server with the flags that all of Kubernetes' own share.
func component(b Binaries, name, kubeconfig string, port int, args ...string) server {
	health := "https://" + address(port) + "/healthz"
	return server{name: name, path: b.Path(name), ready: answersOK(healthClient, health), env: leisurely, args: append([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
	}, args...)}
}
