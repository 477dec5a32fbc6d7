package addons

import (
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestComplete: flags say what files leave out, and nothing else.
func TestComplete(t *testing.T) {
	silent := calico(func(p *Pool) { p.Network = bootstrapv1.Network{} })
	none := calico(with("None", "", ""))
	const object, instead = "MachineDeployment default/windows: ", "; leave the flag out, or change the object"
	for name, c := range map[string]struct {
		pool  Pool
		flags Claims
		want  Pool
		err   string
	}{
		"nothing":      {calico(), Claims{}, calico(), ""},
		"the same":     {calico(), Claims{"v1.36.3", "Overlay", "Calico", "DaemonSet", Cluster{}}, calico(), ""},
		"what is left": {silent, Claims{Mode: "Overlay", CNI: "Calico"}, calico(), ""},
		"a service": {
			silent, Claims{Mode: "Overlay", CNI: "Calico", KubeProxy: "Service"}, calico(with("Overlay", "Calico", "Service")), "",
		},
		"all of it": {
			Pool{},
			Claims{Version: "v1.36.3", Mode: "Overlay", CNI: "Calico"},
			calico(func(p *Pool) { p.Name = "" }),
			"",
		},
		"half of it": {
			silent,
			Claims{CNI: "Calico"},
			silent,
			object + "--mode is missing, without which --cni and --kube-proxy have no effect",
		},
		"another version": {
			calico(),
			Claims{Version: "v1.35.0"},
			calico(),
			object + "its version is v1.36.3, but --kubernetes-version is v1.35.0" + instead,
		},
		"another mode": {
			calico(),
			Claims{Mode: "L2Bridge"},
			calico(),
			object + "spec.network.mode is Overlay, but --mode is L2Bridge" + instead,
		},
		"another CNI": {
			calico(),
			Claims{CNI: "Flannel"},
			calico(),
			object + "spec.network.cni is Calico, but --cni is Flannel" + instead,
		},
		"a CNI in None": {
			none,
			Claims{CNI: "Calico"},
			none,
			object + "spec.network.cni is not set, but --cni is Calico" + instead,
		},
		"against a default": {
			calico(),
			Claims{KubeProxy: "Service"},
			calico(),
			object + "spec.network.kubeProxy.run is DaemonSet, but --kube-proxy is Service" + instead,
		},
	} {
		got, err := c.flags.Complete(c.pool)
		if expect.Same(t, name+": the refusal", c.err, textOf(err)); err == nil {
			expect.Same(t, name, c.want, got)
		}
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestCompleteCluster: the same for the Cluster.
func TestCompleteCluster(t *testing.T) {
	hollow := Cluster{Namespace: "default", Name: "prod"}
	flags := Cluster{Host: prod.Host, Port: prod.Port, Pods: prod.Pods, Services: prod.Services}
	const object, instead = "Cluster default/prod: ", "; leave the flag out, or change the object"
	for name, c := range map[string]struct {
		cluster, flags, want Cluster
		err                  string
	}{
		"nothing":      {prod, Cluster{}, prod, ""},
		"the same":     {prod, prod, prod, ""},
		"what is left": {hollow, flags, prod, ""},
		"all of it":    {Cluster{Namespace: "default"}, prod, prod, ""},
		"another name": {prod, Cluster{Name: "dev"}, prod, object + "its name is prod, but --cluster is dev" + instead},
		"another endpoint": {
			prod,
			Cluster{Host: "10.0.0.11", Port: 6443},
			prod,
			object + "spec.controlPlaneEndpoint is 10.0.0.10:6443, but --endpoint is 10.0.0.11:6443" + instead,
		},
		"other pods": {
			prod,
			Cluster{Pods: []string{"10.1.0.0/16"}},
			prod,
			object + "spec.clusterNetwork.pods is 10.244.0.0/16, but --pod-cidr is 10.1.0.0/16" + instead,
		},
		"other Services": {
			prod,
			Cluster{Services: []string{"10.1.0.0/16"}},
			prod,
			object + "spec.clusterNetwork.services is 10.96.0.0/12, but --service-cidr is 10.1.0.0/16" + instead,
		},
	} {
		got, err := Claims{Cluster: c.flags}.CompleteCluster(c.cluster)
		expect.Same(t, name, c.want, got)
		expect.Same(t, name+": the refusal", c.err, textOf(err))
	}
}
