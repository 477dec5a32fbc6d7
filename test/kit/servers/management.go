package servers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// startLimit bounds a start on a busy machine when the caller's context has no earlier deadline.
const startLimit = 3 * time.Minute

// ManagementOptions say where a management cluster comes from and where it lives.
type ManagementOptions struct {
	Binaries Binaries
	// Dir is the run folder: logs, certificates and etcd's data. It may go once the cluster is stopped.
	Dir string
	// OwnersGuarded runs the admission plugin OwnerReferencesPermissionEnforcement, as some platforms do: who names an owner
	// must have rights on it, and who gives one to what has none must have the right to delete that.
	OwnersGuarded bool
	// ControllersLater leaves the controllers out until StartControllers. They know the kinds that are there when they start; of
	// later ones they learn only every half minute.
	ControllersLater bool
	// Memory is what the API server may take before it collects garbage more often, as in "2GiB"; as for all servers when empty.
	Memory string
	// Manager is our manager's program, which whoever starts managers has built by then; empty has StartManagers build it.
	Manager string
}

// Management is a running management cluster.
type Management struct {
	// Config logs in as cluster admin.
	Config *rest.Config
	// KubeconfigFile does the same for programs.
	KubeconfigFile string
	// CoreMetrics is where Cluster API's core manager shows its metrics to everyone.
	CoreMetrics string
	// Environment has variables of our managers beside those of their Deployments.
	Environment []string

	ownersGuarded bool
	memory        string
	guest         *guest
	binaries      Binaries
	auditLog      string
	servers       *group
	program       string
}

// StartManagement starts etcd, an API server and the two controllers Cluster API cannot do without. The context bounds the
// start only; the cluster runs until Stop.
func StartManagement(ctx context.Context, opts ManagementOptions) (*Management, error) {
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	servers, err := newGroup(opts.Dir)
	if err != nil {
		return nil, err
	}
	m := &Management{
		binaries: opts.Binaries, ownersGuarded: opts.OwnersGuarded, memory: opts.Memory, servers: servers, program: opts.Manager,
		KubeconfigFile: filepath.Join(opts.Dir, "kubeconfig"), auditLog: filepath.Join(opts.Dir, auditLogFile),
	}
	err = m.start(ctx)
	if err == nil && !opts.ControllersLater {
		err = m.StartControllers(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start management cluster: %w", err), m.Stop())
	}
	return m, nil
}

// Stop ends everything that runs in the cluster, Cluster API's managers included. It may be called twice.
func (m *Management) Stop() error { return m.servers.stop() }

func (m *Management) start(ctx context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	apiPort := ports[2]
	if err := m.writeCredentials(apiPort); err != nil {
		return err
	}
	etcd, etcdURL := etcdServer(m.binaries, m.servers.dir, ports[0], ports[1])
	if err := m.servers.start(ctx, etcd); err != nil {
		return err
	}
	apiServer, err := m.apiServer(apiPort, etcdURL)
	if err != nil {
		return err
	}
	return m.servers.start(ctx, apiServer)
}

// writeCredentials makes the authority of the cluster, what its API server needs and the admin's kubeconfig.
func (m *Management) writeCredentials(apiPort int) error {
	ca, err := newAuthority("management-ca")
	if err != nil {
		return err
	}
	serving, err := ca.serving()
	if err != nil {
		return err
	}
	admin, err := ca.client("admin", "system:masters")
	if err != nil {
		return err
	}
	// The API server signs service account tokens with this one.
	accounts, err := ca.client("service-accounts")
	if err != nil {
		return err
	}
	err = errors.Join(
		pair{certificate: ca.pem}.write(m.servers.dir, "ca"),
		serving.write(m.servers.dir, "apiserver"),
		accounts.write(m.servers.dir, "sa"),
	)
	if err != nil {
		return err
	}
	return m.writeKubeconfig("https://"+address(apiPort), ca.pem, admin)
}

func (m *Management) writeKubeconfig(server string, ca []byte, admin pair) error {
	const name = "management"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.certificate, ClientKeyData: admin.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, m.KubeconfigFile); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	var err error
	m.Config, err = restConfig(m.KubeconfigFile)
	return err
}

// restConfig reads a kubeconfig for use against loopback, where a client that limits itself helps no server.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

func (m *Management) apiServer(port int, etcdURL string) (server, error) {
	file := func(name string) string { return filepath.Join(m.servers.dir, name) }
	if err := m.writeAuditPolicy(); err != nil {
		return server{}, err
	}
	args := append(apiServerArgs(port, etcdURL),
		"--authorization-mode=RBAC",
		"--audit-policy-file="+file(auditPolicyFile),
		"--audit-log-path="+m.auditLog,
		"--client-ca-file="+file("ca.crt"),
		"--tls-cert-file="+file("apiserver.crt"),
		"--tls-private-key-file="+file("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+file("sa.crt"),
		"--service-account-signing-key-file="+file("sa.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		// No pod runs here, and no controller makes the accounts that pods would need.
		"--disable-admission-plugins=ServiceAccount",
	)
	if m.ownersGuarded {
		args = append(args, "--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
	}
	s, err := apiServer(m.binaries, m.Config, args)
	if m.memory != "" {
		s.env = append(slices.Clone(s.env), "GOMEMLIMIT="+m.memory)
	}
	return s, err
}

// StartControllers starts the two that Cluster API relies on: without garbage collection what a Cluster owns outlives it and
// `clusterctl move` omits objects; without the namespace controller a deleted namespace never goes.
func (m *Management) StartControllers(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	return m.servers.start(ctx, controllerManager(m.binaries, m.KubeconfigFile, ports[0],
		"--controllers=garbage-collector-controller,namespace-controller"))
}
