package guest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// logRunner is kube-log-runner.exe: it runs another program and keeps what that writes.
func (p *power) logRunner(ctx context.Context, call *windows.Call) int {
	logFile, command, err := logRunnerFlags(call.Argv[1:], p.guest.version())
	if err != nil {
		return call.Fail("%v", err)
	}
	wrapped := *call
	wrapped.Argv = command
	if logFile != "" {
		log := appender{call.Machine, logFile}
		wrapped.Stdout, wrapped.Stderr = log, log
	}
	program, err := call.Machine.Find(&wrapped)
	if err != nil {
		return call.Fail("%v", err)
	}
	return program(ctx, &wrapped)
}

// kubelet is kubelet.exe.
func (p *power) kubelet(ctx context.Context, call *windows.Call) int {
	if len(call.Argv) == 2 && call.Argv[1] == "--version" {
		call.Print("Kubernetes %s", p.guest.version())
		return 0
	}
	flags, err := readKubeletFlags(call.Argv[1:], p.guest.version())
	if err != nil {
		return call.Fail("E0101 command failed: %v", err)
	}
	if call.Service != "" && !flags.service {
		return call.Fail("E0101 the service did not respond to the start or control request in a timely fashion (1053): " +
			"no --windows-service")
	}
	text, err := call.Machine.ReadFile(flags.config)
	if err != nil {
		return call.Fail("E0101 command failed: failed to load kubelet config file, path: %s, error: %v", flags.config, err)
	}
	config, err := readKubeletConfig(text, p.guest.version())
	if err != nil {
		return call.Fail("E0101 command failed: failed to validate kubelet configuration, error: %v, path: %s", err, flags.config)
	}
	if p.guest.Faults.KubeletSick {
		<-ctx.Done()
		return 0
	}
	call.Running()
	name := cmp.Or(flags.hostname, strings.ToLower(call.Machine.ComputerName()))
	n := &node{power: p, call: call, flags: flags, config: config, name: name}
	err = n.run(ctx)
	if ctx.Err() == nil {
		return call.Fail("E0101 command failed: failed to run Kubelet: %v", err)
	}
	return 0
}

// run ends with ctx, or with what keeps the kubelet from running. With rotation, as kubeadm has it, kubelet.conf is there
// first, then the kubelet is well, and then it gets its certificate.
func (n *node) run(ctx context.Context) error {
	first, then := n.pointToCertificate, n.bootstrap
	if !n.config.RotateCertificates {
		first, then = n.bootstrap, func(context.Context) error { return nil }
	}
	if err := first(ctx); err != nil {
		return err
	}
	if err := n.findsAll(); err != nil {
		return err
	}
	n.call.Machine.OpenPipe(healthz)
	defer n.call.Machine.ClosePipe(healthz)
	n.call.Machine.OpenPipe(kubeletPort)
	defer n.call.Machine.ClosePipe(kubeletPort)
	if err := then(ctx); err != nil {
		return err
	}
	client, err := n.client(n.flags.kubeconfig)
	if err != nil {
		return err
	}
	return n.live(ctx, client)
}

// findsAll: what a kubelet must find when it starts.
func (n *node) findsAll() error {
	m, flags := n.call.Machine, n.flags
	if ca := n.config.Authentication.X509.ClientCAFile; ca != "" && !m.FileExists(ca) {
		return fmt.Errorf("unable to load client CA file %s: the system cannot find the file specified", ca)
	}
	if endpoint := n.config.ContainerRuntimeEndpoint; !runtimeAnswers(m, endpoint) {
		return fmt.Errorf("validate service connection: validate CRI v1 runtime API for endpoint %q: rpc error: code = Unavailable",
			endpoint)
	}
	if flags.providers+flags.providersDir != "" && (!m.FileExists(flags.providers) || !m.DirectoryExists(flags.providersDir)) {
		return fmt.Errorf("failed to register CRI auth plugins: no configuration %q or no folder %q", flags.providers,
			flags.providersDir)
	}
	return nil
}

func (n *node) client(path string) (kubernetes.Interface, error) {
	return n.power.client(path, "kubelet.exe")
}

// client is how a program speaks to the cluster of a kubeconfig.
func (p *power) client(path, program string) (kubernetes.Interface, error) {
	return p.dial(path, program, 10*time.Second)
}

// watcher is a client that may ask for as long as it likes.
func (p *power) watcher(path, program string) (kubernetes.Interface, error) {
	return p.dial(path, program, 0)
}

func (p *power) dial(path, program string, limit time.Duration) (kubernetes.Interface, error) {
	found, err := embedCertificate(p.machine, path)
	if err != nil {
		return nil, fmt.Errorf("unable to load kubeconfig: %w", err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*found, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("unable to load kubeconfig: %w", err)
	}
	if program == "kubelet.exe" {
		config.QPS, config.Burst = 50, 100 // kubeAPIQPS and kubeAPIBurst
	}
	return connectFor(p.machine, config, p.guest.Faults.dialer(program), limit)
}

// readKubeconfig reads one from the disk of the machine.
func readKubeconfig(m *windows.Machine, path string) (*clientcmdapi.Config, error) {
	text, err := m.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return clientcmd.Load(text)
}

// embedCertificate reads a kubeconfig with the certificate that it names, which lies on the disk of the machine.
func embedCertificate(m *windows.Machine, path string) (*clientcmdapi.Config, error) {
	found, err := readKubeconfig(m, path)
	if err != nil {
		return nil, err
	}
	for _, user := range found.AuthInfos {
		if user.ClientCertificate == "" {
			continue
		}
		both, err := m.ReadFile(user.ClientCertificate)
		if err != nil {
			return nil, err
		}
		user.ClientCertificate, user.ClientKey, user.ClientCertificateData, user.ClientKeyData = "", "", both, both
	}
	return found, nil
}

// bootstrap gets a certificate with the token, once: what is there is used again.
func (n *node) bootstrap(ctx context.Context) error {
	if hasClient(n.call.Machine, n.flags.kubeconfig) {
		return nil
	}
	client, err := n.client(n.flags.bootstrap)
	if err != nil {
		return fmt.Errorf("unable to load bootstrap kubeconfig: %w", err)
	}
	certificate, key, err := nodes.ClientCertificate.Request(ctx, client, n.name)
	for err != nil { // a real one asks in the background, and is healthy meanwhile
		n.call.Fail("E0101 failed while requesting a signed certificate from the control plane: %v", err)
		if err := n.call.Machine.Clock.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
		certificate, key, err = nodes.ClientCertificate.Request(ctx, client, n.name)
	}
	if err := n.call.Machine.Put(n.pemFile(), append(certificate, key...)); err != nil {
		return err
	}
	return n.pointToCertificate(ctx)
}

// pointToCertificate writes kubelet.conf, which says nothing of whether there is a certificate.
func (n *node) pointToCertificate(context.Context) error {
	if hasClient(n.call.Machine, n.flags.kubeconfig) {
		return nil
	}
	text, err := n.kubeconfig(n.pemFile())
	if err != nil {
		return fmt.Errorf("unable to load bootstrap kubeconfig: %w", err)
	}
	return n.call.Machine.Put(n.flags.kubeconfig, text)
}

func (n *node) pemFile() string {
	return strings.ReplaceAll(n.flags.certDir, "/", `\`) + `\kubelet-client-current.pem`
}

// hasClient: the kubeconfig is there, and the certificate that it points to.
func hasClient(m *windows.Machine, path string) bool {
	found, err := readKubeconfig(m, path)
	if err != nil {
		return false
	}
	for _, user := range found.AuthInfos {
		if !m.FileExists(user.ClientCertificate) {
			return false
		}
	}
	return true
}

// kubeconfig is that of the bootstrap with the certificate instead of the token.
func (n *node) kubeconfig(pemFile string) ([]byte, error) {
	found, err := readKubeconfig(n.call.Machine, n.flags.bootstrap)
	if err != nil {
		return nil, err
	}
	ca, err := authority(found)
	if err != nil {
		return nil, err
	}
	server := ""
	for _, cluster := range found.Clusters {
		server = cluster.Server
	}
	user := &clientcmdapi.AuthInfo{ClientCertificate: pemFile, ClientKey: pemFile}
	return clientcmd.Write(*kubeconfig(server, ca, user, "default-auth"))
}
