package cni

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// Container is a container of a HostProcess pod, with what the kubelet gives it.
type Container struct {
	Machine *windows.Machine
	Name    string
	Args    []string
	Env     map[string]string
	// Mounts are the paths of the volumes in the container.
	Mounts []string
	// Client speaks to the cluster with the token of the pod's account.
	Client kubernetes.Interface
}

// scripts are what containers of DaemonSets start, by the last part of an argument. They end when their work is done, or with
// ctx. The manifests are in test/lab/pods.
var scripts = map[string]func(ctx context.Context, c *Container, started func()) error{
	"host-process-install.ps1": installCalico, "node-service.ps1": calicoService, "felix-service.ps1": felix,
	"start.ps1":                         startKubeProxy,
	"Install-WindowsCNI-Containerd.ps1": installAntrea, "Run-AntreaAgent-Containerd.ps1": antreaAgent,
	"lab-cni.ps1": labDaemon,
}

// Run runs the container until it ends or ctx does.
func (c *Container) Run(ctx context.Context, started func()) error {
	for _, arg := range c.Args {
		name := arg[strings.LastIndexAny(arg, `\/`)+1:]
		if script := scripts[name]; script != nil {
			return script(ctx, c, started)
		}
	}
	return fmt.Errorf("the lab has no script for the arguments %q of container %s", c.Args, c.Name)
}

// needs says which variables the container was not given.
func (c *Container) needs(names ...string) error {
	for _, name := range names {
		if c.Env[name] == "" {
			return fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	return nil
}

// podRange is the pod CIDR of the container's node.
func (c *Container) podRange(ctx context.Context, node string) (netip.Prefix, error) {
	found, err := c.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return netip.Prefix{}, err
	}
	return podCIDR(found)
}

// forever is a container that does its work from now on.
func forever(ctx context.Context, started func()) error {
	started()
	<-ctx.Done()
	return nil
}

const (
	// calicoNode has the addresses that calico-node has for the pods of this node. Upstream has it in the API.
	calicoNode = `C:\var\lib\calico\nodename`
	calicoConf = Folder + `\10-calico.conf`
)

// installCalico is host-process-install.ps1 (projectcalico/calico 06522509, manifests/calico-windows-vxlan.yaml and
// node/windows-packaging/host-process-install.ps1): programs and configuration go where the settings say.
func installCalico(_ context.Context, c *Container, _ func()) error {
	err := c.needs("CALICO_NETWORKING_BACKEND", "K8S_SERVICE_CIDR", "CNI_BIN_DIR", "CNI_CONF_DIR", "NODENAME",
		"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
	for _, program := range []string{"calico", "calico-ipam"} {
		if err == nil {
			err = c.Machine.Put(c.Env["CNI_BIN_DIR"]+`\`+program+".exe", []byte("calico"))
		}
	}
	return err
}

// calicoService is node-service.ps1: the networks, then the name of the node by which the plug-in knows that it may work, and
// the configuration. With VXLAN the address of the endpoint Calico_ep is kube-proxy's source VIP.
func calicoService(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("CALICO_NETWORKING_BACKEND", "NODENAME"); err != nil {
		return err
	}
	kind := map[string]string{"vxlan": "Overlay", "windows-bgp": "L2Bridge"}[c.Env["CALICO_NETWORKING_BACKEND"]]
	if kind == "" {
		return fmt.Errorf("CALICO_NETWORKING_BACKEND %q needs no network of ours", c.Env["CALICO_NETWORKING_BACKEND"])
	}
	prefix, err := c.podRange(ctx, c.Env["NODENAME"])
	if err != nil {
		return err
	}
	m := c.Machine
	if err := calicoNetworks(m, kind); err != nil {
		return err
	}
	if there, err := hasEndpoint(m, "Calico_ep"); kind == "Overlay" && !there {
		vip := prefix.Addr().Next().Next().String()
		err = errors.Join(err, m.Put(leases("Calico")+`\`+vip, []byte("Calico_ep")),
			makeEndpoint(m, "Calico_ep", map[string]any{"IPAddress": vip, "VirtualNetwork": "Calico"}))
		if err != nil {
			return err
		}
	}
	err = errors.Join(m.Put(calicoNode, []byte(prefix.String())),
		m.Put(calicoConf, []byte(`{"cniVersion":"0.3.1","name":"Calico","type":"calico","ipam":{"type":"calico-ipam"}}`)))
	if err != nil {
		return err
	}
	return forever(ctx, started)
}

func felix(ctx context.Context, _ *Container, started func()) error { return forever(ctx, started) }

// startKubeProxy is start.ps1 (kubernetes-sigs/sig-windows-tools 10e8dc73, hostprocess/calico/kube-proxy/start.ps1): it waits for
// the network Calico, in a VXLAN also for its endpoint, and has its settings as flags.
func startKubeProxy(ctx context.Context, c *Container, started func()) error {
	if len(c.Mounts) == 0 || c.Mounts[0] != "/var/lib/kube-proxy" {
		return fmt.Errorf("Get-Content : Cannot find path kubeconfig.conf: the mounts are %v", c.Mounts)
	}
	m, kind := c.Machine, ""
	err := until(ctx, m, func() (good bool, err error) {
		if kind, err = networkType(m, "Calico"); kind == "Overlay" {
			return hasEndpoint(m, "Calico_ep")
		}
		return kind != "", err
	})
	if err != nil {
		return err
	}
	if err := forgetServices(m); err != nil {
		return err
	}
	started()
	return proxy(ctx, m, c.Client, "Calico")
}

const (
	// antreaPipe is where antrea-agent listens for its plug-in (antrea-io/antrea fc70f2bb, pkg/cni/client_windows.go).
	antreaPipe = "C:varrunantreacni.sock"
	// antreaRange has the pod CIDR of the node, which upstream's agent keeps to itself.
	antreaRange = `C:\var\run\antrea\range`
	antreaConf  = Folder + `\10-antrea.conflist`
)

// installAntrea is Install-WindowsCNI-Containerd.ps1 (antrea-io/antrea 1eb9e128, build/yamls/windows/containerd).
func installAntrea(_ context.Context, c *Container, _ func()) error {
	return errors.Join(
		c.Machine.Put(Programs+`\antrea.exe`, []byte("antrea-cni")),
		c.Machine.Put(antreaConf, []byte(`{"cniVersion":"0.3.0","name":"antrea",`+
			`"plugins":[{"type":"antrea","ipam":{"type":"host-local"}}]}`)))
}

// antreaAgent is Run-AntreaAgent-Containerd.ps1: the agent, which does Services itself.
func antreaAgent(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("NODE_NAME", "POD_NAMESPACE"); err != nil {
		return err
	}
	prefix, err := c.podRange(ctx, c.Env["NODE_NAME"])
	if err != nil {
		return err
	}
	m := c.Machine
	if err := errors.Join(antreaNetwork(m), m.Put(antreaRange, []byte(prefix.String()))); err != nil {
		return err
	}
	m.OpenPipe(antreaPipe)
	defer m.ClosePipe(antreaPipe)
	started()
	return proxy(ctx, m, c.Client, "antrea-hnsnetwork")
}

// labDaemon is a CNI whose DaemonSet only writes a configuration and a program.
func labDaemon(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("NODE_NAME"); err != nil {
		return err
	}
	prefix, err := c.podRange(ctx, c.Env["NODE_NAME"])
	if err == nil {
		err = errors.Join(c.Machine.Put(Programs+`\lab.exe`, []byte("lab")),
			c.Machine.Put(Folder+`\`+LabConf, fmt.Appendf(nil, `{"cniVersion":"0.3.0","name":"lab","type":"lab","subnet":%q}`, prefix)))
	}
	if err != nil {
		return err
	}
	return forever(ctx, started)
}

// LabConf is the configuration of a cluster whose CNI is not known. containerd takes the first file by name, which must not be
// one that another CNI has left in the image.
const LabConf = "05-lab.conf"
