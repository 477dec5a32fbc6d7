package servers

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// kubeadmAddress is what kubeadm is told to advertise, as it refuses loopback. It is an address for documentation that is
// written into certificates and never contacted.
const kubeadmAddress = "192.0.2.2"

// nodePKI is where the certificates of a control plane lie as the cluster's own records have it.
const nodePKI = "/etc/kubernetes/pki"

//go:embed kubeadm.yaml.tmpl
var kubeadmTemplate string

var kubeadmConfig = template.Must(template.New("kubeadm").Parse(kubeadmTemplate))

// kubeadm runs phases of `kubeadm init` for a control plane whose processes we run ourselves.
type kubeadm struct {
	binary string
	dir    string
	values kubeadmValues
	// adopted says that the control plane is that of a bootstrap provider.
	adopted bool
	// ownsEtcd says that etcd has the certificates that kubeadm makes for it.
	ownsEtcd bool
}

// kubeadmValues fill kubeadm.yaml.tmpl.
type kubeadmValues struct {
	Address  string
	Loopback string
	Port     int
	Version  string
	PKI      string
	NodeName string
}

func newKubeadm(ctx context.Context, b Binaries, dir string, port int) (kubeadm, error) {
	out, err := run(command(ctx, b.Path("kubeadm"), "version", "--output=short"))
	if err != nil {
		return kubeadm{}, fmt.Errorf("ask kubeadm's version: %w", err)
	}
	k := kubeadm{binary: b.Path("kubeadm"), dir: dir, values: kubeadmValues{
		Address: kubeadmAddress, Loopback: loopback, Port: port, NodeName: ControlPlaneNode,
		Version: string(bytes.TrimSpace(out)),
	}}
	// Two files that differ in one path: certificates are made in the run folder, but what the cluster records about itself
	// must name the place every real control plane has them in.
	return k, errors.Join(k.writeConfig("kubeadm-files.yaml", k.pki()), k.writeConfig("kubeadm-cluster.yaml", nodePKI))
}

func (k kubeadm) pki() string { return filepath.Join(k.dir, "pki") }

func (k kubeadm) kubeconfig(name string) string { return filepath.Join(k.dir, name+".conf") }

func (k kubeadm) writeConfig(name, pki string) error {
	values := k.values
	values.PKI = pki
	var text bytes.Buffer
	if err := kubeadmConfig.Execute(&text, values); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, name), text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeFiles makes the certificates and kubeconfigs. All but the authority's own wait for the authority only.
func (k kubeadm) writeFiles(ctx context.Context) error {
	if err := k.certificates(ctx, "ca"); err != nil {
		return err
	}
	phases, ctx := errgroup.WithContext(ctx)
	phases.Go(func() error { return k.certificates(ctx, "apiserver", "apiserver-kubelet-client") })
	phases.Go(func() error { return k.certificates(ctx, "front-proxy-ca", "front-proxy-client", "sa") })
	if k.ownsEtcd {
		phases.Go(func() error { return k.certificates(ctx, "etcd-server") })
	}
	wanted := kubeconfigs
	if k.adopted {
		wanted = append(slices.Clip(wanted), "kubelet")
	}
	for _, name := range wanted {
		phases.Go(func() error { return k.writeKubeconfig(ctx, name) })
	}
	return phases.Wait()
}

var kubeconfigs = []string{"admin", "super-admin", "controller-manager", "scheduler"}

func (k kubeadm) certificates(ctx context.Context, names ...string) error {
	for _, name := range names {
		if k.adopted && slices.Contains(authorities, name) {
			continue // they came with the machine
		}
		if err := k.phase(ctx, "kubeadm-files.yaml", "certs", name); err != nil {
			return err
		}
	}
	return nil
}

// authorities are the certificates that all machines of a control plane have in common.
var authorities = []string{"ca", "front-proxy-ca", "sa"}

// writeKubeconfig makes one and points it at loopback instead of the advertised address. Those of admins have the address in
// front of the control plane where there is one.
func (k kubeadm) writeKubeconfig(ctx context.Context, name string) error {
	if err := k.phase(ctx, "kubeadm-files.yaml", "kubeconfig", name, "--kubeconfig-dir="+k.dir); err != nil {
		return err
	}
	if k.adopted && strings.HasSuffix(name, "admin") {
		return nil
	}
	config, err := clientcmd.LoadFromFile(k.kubeconfig(name))
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + address(k.values.Port)
	}
	if err := clientcmd.WriteToFile(*config, k.kubeconfig(name)); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// fillCluster writes into the running cluster what `kubeadm init` writes: its configuration, the kubelets', the rules and
// the token by which nodes join, and CoreDNS.
func (k kubeadm) fillCluster(ctx context.Context) error {
	phases, ctx := errgroup.WithContext(ctx)
	wanted := clusterPhases
	if k.adopted {
		wanted = initPhases
	}
	for _, phase := range wanted {
		phases.Go(func() error {
			return k.phase(ctx, "kubeadm-cluster.yaml", slices.Concat(phase, []string{"--kubeconfig=" + k.kubeconfig("super-admin")})...)
		})
	}
	return phases.Wait()
}

// clusterPhases do not depend on each other.
var clusterPhases = [][]string{
	{"upload-config", "kubeadm"}, {"upload-config", "kubelet"}, {"bootstrap-token"}, {"addon", "coredns"},
}

// initPhases are those that `kubeadm init` runs: with kube-proxy.
var initPhases = [][]string{
	{"upload-config", "kubeadm"}, {"upload-config", "kubelet"}, {"bootstrap-token"}, {"addon", "all"},
}

// phase runs one, again and again where the API server of a busy machine needs longer for a call than kubeadm's 10 s.
func (k kubeadm) phase(ctx context.Context, config string, args ...string) error {
	args = slices.Concat([]string{"init", "phase"}, args, []string{"--config=" + filepath.Join(k.dir, config)})
	patient, cancel := wait.Within(ctx, wait.Patience)
	defer cancel()
	return wait.Poll(patient, func(ctx context.Context) error {
		cmd := command(ctx, k.binary, args...)
		cmd.Dir = k.dir
		_, err := run(cmd)
		switch {
		case err == nil:
			return nil
		case strings.Contains(err.Error(), "deadline exceeded"):
			return fmt.Errorf("run kubeadm: %w", err)
		}
		return wait.Final(fmt.Errorf("run kubeadm: %w", err))
	})
}
