package cni

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Container is a container of a HostProcess pod, with what the kubelet gives it.
type Container struct {
	Machine *windows.Machine
	Name    string
	Command []string
	Env     map[string]string
	// Mounts are what is behind the paths of volumes in the container.
	Mounts map[string]Mount
	// HostIP is the address that the metadata service of its cloud tells the VM.
	HostIP string
	// Account speaks to the cluster with the token of the pod's account.
	Account func() (kubernetes.Interface, error)
	Log     io.Writer
}

// Mount is a folder of the host, or the files of a ConfigMap or a Secret.
type Mount struct {
	Host  string
	Files map[string]string
}

// starts are what containers of DaemonSets do, by the end of their command. They end when their work is done, or with ctx. The
// manifests are in test/sim/pods.
var starts = map[string]func(ctx context.Context, c *Container, started func()) error{
	"uninstall-calico.ps1": uninstallCalico, "opt/cni/bin/install.exe": installCalico,
	"node-service.ps1": calicoService, "felix-service.ps1": felix, "confd-service.ps1": confd,
	"kube-proxy/start.ps1": startKubeProxy, "scripts/start.ps1": cloudNodeManager,
	"Install-WindowsCNI.ps1": installAntrea, "Run-AntreaAgent.ps1": antreaAgent,
	"flanneld.ps1": podFlanneld, "plugins.ps1": pluginsScript, "lab-cni.ps1": labDaemon,
}

// Run runs the container until it ends or ctx does.
func (c *Container) Run(ctx context.Context, started func()) error {
	line := strings.Join(c.Command, " ")
	for end, start := range starts {
		if strings.HasSuffix(line, "/"+end) || line == end {
			return start(ctx, c, started)
		}
	}
	return fmt.Errorf("the lab has no program for the command %q of container %s", line, c.Name)
}

// Probe runs a program that asks whether a container of a DaemonSet is ready, which those here are once they have started.
func Probe(command []string) error {
	line := strings.Join(command, " ")
	if strings.HasSuffix(line, "/CalicoWindows/calico-node.exe -felix-ready") {
		return nil
	}
	return fmt.Errorf("the lab has no program for the probe %q", line)
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
	client, err := c.Account()
	if err != nil {
		return netip.Prefix{}, err
	}
	found, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return netip.Prefix{}, err
	}
	return podCIDR(found)
}

// follow has tell write where the pods of the Linux nodes are.
func (c *Container) follow(ctx context.Context, tell func([]peer) error) error {
	client, err := c.Account()
	if err != nil {
		return err
	}
	return follow(ctx, c.Machine, client, linuxPeers, tell)
}

// forever is a container that does its work from now on.
func forever(ctx context.Context, started func()) error {
	started()
	<-ctx.Done()
	return nil
}

const (
	proxyFolder = "/var/lib/kube-proxy"
	// tokenFile is where each pod has the token of its account.
	tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// startKubeProxy is start.ps1 (kubernetes-sigs/sig-windows-tools 401ee6f, hostprocess/calico/kube-proxy/start.ps1): it waits for
// the network Calico, in a VXLAN also for its endpoint, removes the policies that are there, and starts its kube-proxy.exe.
func startKubeProxy(ctx context.Context, c *Container, started func()) error {
	m, kind := c.Machine, ""
	err := until(ctx, m, func() (good bool, err error) {
		if kind, err = networkType(m, networkOfCalico); kind == "Overlay" {
			return hasEndpoint(m, networkOfCalico+"_ep")
		}
		return kind != "", err
	})
	if err == nil {
		err = forgetServices(m)
	}
	if err != nil {
		return err
	}
	argv := []string{
		"kube-proxy.exe", "--hostname-override=" + c.Env["NODENAME"], "--v=4", "--proxy-mode=kernelspace",
		"--kubeconfig=" + proxyFolder + "/kubeconfig.conf", "--enable-dsr=true", "--feature-gates=WinDSR=true,WinOverlay=true",
	}
	if kind == "Overlay" {
		endpoint, err := find(m, endpoints, "Name", networkOfCalico+"_ep")
		if err != nil {
			return err
		}
		argv = append(argv, "--source-vip="+endpoint.text("IPAddress"))
	}
	call := &windows.Call{
		Machine: m, Argv: argv, Env: map[string]string{"KUBE_NETWORK": networkOfCalico}, Stdout: c.Log, Stderr: c.Log,
	}
	p, err := readKubeProxy(call, "")
	if err != nil {
		return err
	}
	started()
	return p.run(ctx, c.connect)
}

// connect is by a kubeconfig of a mounted ConfigMap, which names the file with the account's token.
func (c *Container) connect(path, _ string) (kubernetes.Interface, error) {
	folder, name := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
	text, mounted := c.Mounts[folder].Files[name]
	if !mounted {
		//nolint:staticcheck,revive // because PowerShell says it so
		return nil, fmt.Errorf("Get-Content : Cannot find path '%s' because it does not exist.", path)
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, err
	}
	login := config.Contexts[config.CurrentContext]
	if login == nil || config.Clusters[login.Cluster] == nil || config.AuthInfos[login.AuthInfo] == nil {
		return nil, fmt.Errorf("invalid configuration: the context %q of %s is not there", config.CurrentContext, path)
	}
	if server := config.Clusters[login.Cluster].Server; !strings.HasPrefix(server, "https://") {
		return nil, fmt.Errorf("invalid configuration: the server of %s is %q", path, server)
	}
	if file := config.AuthInfos[login.AuthInfo].TokenFile; file != tokenFile {
		return nil, fmt.Errorf("Unauthorized: the pod has no token in %q", file) //nolint:staticcheck // the API server says it so
	}
	return c.Account()
}

// pluginsScript is an image of a user with the plug-ins of flanneld.
func pluginsScript(ctx context.Context, c *Container, started func()) error {
	err := errors.Join(installed(c.Machine, "flannel"), installed(c.Machine, "win-overlay"), installed(c.Machine, "host-local"))
	if err != nil {
		return err
	}
	return forever(ctx, started)
}

// podFlanneld is an image of a user with flanneld.exe, as flannel.run: External wants one: there is none upstream.
func podFlanneld(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("NODE_NAME", "HOST_IP", "NET_CONF"); err != nil {
		return err
	}
	const conf = `C:\lab\net-conf.json`
	if err := c.Machine.Put(conf, []byte(c.Env["NET_CONF"])); err != nil {
		return err
	}
	call := &windows.Call{
		Machine: c.Machine, Env: c.Env, Stdout: c.Log, Stderr: c.Log, Argv: []string{
			"flanneld.exe", "--kube-subnet-mgr", "--ip-masq", "--net-config-path=" + conf, "--subnet-file=" + Subnet,
			"--iface=" + c.Env["HOST_IP"],
		},
	}
	daemon, err := StartFlanneld(ctx, call, func(string, string) (kubernetes.Interface, error) { return c.Account() })
	if err != nil {
		return err
	}
	started()
	return daemon.Follow(ctx)
}

// labDaemon is a CNI whose DaemonSet only writes a configuration and a program.
func labDaemon(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("NODE_NAME"); err != nil {
		return err
	}
	prefix, err := c.podRange(ctx, c.Env["NODE_NAME"])
	if err == nil {
		err = errors.Join(installed(c.Machine, "lab"),
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
