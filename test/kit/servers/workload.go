package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// The networks of a workload cluster; both are kubeadm's and flannel's customary ones.
const (
	podNetwork     = "10.244.0.0/16"
	serviceNetwork = "10.96.0.0/12"
)

// WorkloadOptions say where a workload cluster comes from and where it lives.
type WorkloadOptions struct {
	Binaries Binaries
	// Dir is the run folder: logs, certificates and etcd's data. It may go once the cluster is stopped.
	Dir string
	// WithoutNode leaves the cluster without its Linux node until RegisterControlPlaneNode.
	WithoutNode bool
	// Profiles are names under which the scheduler may be asked beside its own; see ProfileLabel.
	Profiles []string
	// Egress is the Unix socket of an HTTP proxy by which the API server reaches kubelets; empty dials their addresses.
	Egress string
	// Audited has the API server write down what those ask for who log in with KubeconfigFile; see Asked.
	Audited bool
	// WithoutMutatingPolicies stands for Kubernetes before 1.36, whose API servers have no MutatingAdmissionPolicies.
	WithoutMutatingPolicies bool
	// Init is what a bootstrap provider made for the first machine of the control plane; a cluster of our own when nil.
	Init *Init
}

// Workload is a running workload cluster as `kubeadm init` leaves it, except that kube-proxy is not deployed, and that no
// kubelet stands behind its Linux node: pods are scheduled to it and stay Pending.
type Workload struct {
	// Config logs in as cluster admin.
	Config *rest.Config
	// KubeconfigFile and Kubeconfig do the same for programs.
	KubeconfigFile string
	Kubeconfig     []byte
	// CA is the certificate (PEM) that signed the API server's.
	CA []byte
	// Host and Port are where the API server listens.
	Host string
	Port int
	// Version of Kubernetes, such as "v1.36.3".
	Version string

	binaries Binaries
	options  WorkloadOptions
	init     *Init
	networks networks
	servers  *group
	kubeadm  kubeadm
	client   kubernetes.Interface
	// stopLease ends the renewal of the Linux node's lease, once there is one.
	stopLease func()
}

// StartWorkload starts a workload cluster. The context bounds the start only; the cluster runs until Stop.
func StartWorkload(ctx context.Context, opts WorkloadOptions) (*Workload, error) {
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	servers, err := newGroup(opts.Dir)
	if err != nil {
		return nil, err
	}
	w := &Workload{
		Host: loopback, binaries: opts.Binaries, options: opts, servers: servers, init: opts.Init,
		networks: networks{Pods: podNetwork, Services: serviceNetwork},
	}
	err = w.start(ctx)
	if err == nil && !opts.WithoutNode {
		err = w.RegisterControlPlaneNode(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start workload cluster: %w", err), w.Stop())
	}
	return w, nil
}

// String keeps the admin's kubeconfig out of logs.
func (*Workload) String() string { return "[hidden]" }

// GoString keeps the admin's kubeconfig out of logs.
func (*Workload) GoString() string { return "[hidden]" }

// MarshalLog keeps the admin's kubeconfig out of logs.
func (*Workload) MarshalLog() any { return "[hidden]" }

// Stop ends the cluster. It may be called twice.
func (w *Workload) Stop() error {
	if w.stopLease != nil {
		w.stopLease()
	}
	return w.servers.stop()
}

func (w *Workload) start(ctx context.Context) error {
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	w.Port = ports[2]
	etcdURL, err := w.startFoundation(ctx, ports[0], ports[1])
	if err != nil {
		return err
	}
	proxied, err := w.egressArgs()
	if err != nil {
		return err
	}
	audited, err := w.auditArgs()
	if err != nil {
		return err
	}
	args := slices.Concat(apiServerArgs(w.Port, etcdURL), w.apiServerArgs(), proxied, audited, w.init.arguments("apiServer"))
	apiServer, err := apiServer(w.binaries, w.Config, args)
	if err != nil {
		return err
	}
	if err := w.servers.start(ctx, apiServer); err != nil {
		return err
	}
	if err := w.init.serve(w.Port); err != nil {
		return err
	}
	controllerArgs := append(w.controllerArgs(), w.init.arguments("controllerManager")...)
	controllers := controllerManager(w.binaries, w.kubeadm.kubeconfig("controller-manager"), ports[3], controllerArgs...)
	scheduler, err := w.scheduler(ports[4])
	if err != nil {
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return w.servers.start(ctx, controllers, scheduler) })
	parts.Go(func() error { return w.kubeadm.fillCluster(ctx) })
	parts.Go(func() error { return w.bindAdmins(ctx) })
	return parts.Wait()
}

// startFoundation has etcd start while kubeadm makes keys, unless it is to be started with those.
func (w *Workload) startFoundation(ctx context.Context, clientPort, peerPort int) (etcdURL string, err error) {
	if w.init != nil && w.init.Etcd != nil {
		if err := w.writeFiles(ctx); err != nil {
			return "", err
		}
		return w.init.Etcd(ctx, w.kubeadm.pki())
	}
	etcd, etcdURL := etcdServer(w.binaries, w.servers.dir, clientPort, peerPort)
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return w.servers.start(ctx, etcd) })
	parts.Go(func() error { return w.writeFiles(ctx) })
	return etcdURL, parts.Wait()
}

// writeFiles has kubeadm make certificates and kubeconfigs, and reads back what others need of them.
func (w *Workload) writeFiles(ctx context.Context) error {
	var err error
	if w.kubeadm, err = newKubeadm(ctx, w.binaries, w.servers.dir, w.Port); err != nil {
		return err
	}
	if w.init != nil {
		w.kubeadm.ownsEtcd = w.init.Etcd != nil
		if w.networks, err = w.kubeadm.adopt(w.init); err != nil {
			return err
		}
	}
	if err = w.kubeadm.writeFiles(ctx); err != nil {
		return err
	}
	w.Version = w.kubeadm.values.Version
	// super-admin is what Cluster API's own kubeconfigs are: it does not depend on RBAC being in place.
	w.KubeconfigFile = w.kubeadm.kubeconfig("super-admin")
	if w.Kubeconfig, err = os.ReadFile(w.KubeconfigFile); err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if w.CA, err = os.ReadFile(w.pki("ca.crt")); err != nil {
		return fmt.Errorf("read cluster authority: %w", err)
	}
	if w.Config, err = restConfig(w.KubeconfigFile); err != nil {
		return err
	}
	w.Config.Host = "https://" + address(w.Port) // also where the kubeconfig names an address in front of it
	if w.client, err = kubernetes.NewForConfig(w.Config); err != nil {
		return fmt.Errorf("make client of workload cluster: %w", err)
	}
	return nil
}

func (w *Workload) pki(name string) string { return filepath.Join(w.kubeadm.pki(), name) }

// apiServerArgs are those of the static pod that kubeadm writes.
func (w *Workload) apiServerArgs() []string {
	args := []string{
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth=true",
		"--client-ca-file=" + w.pki("ca.crt"),
		"--tls-cert-file=" + w.pki("apiserver.crt"),
		"--tls-private-key-file=" + w.pki("apiserver.key"),
		"--kubelet-client-certificate=" + w.pki("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + w.pki("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
		"--proxy-client-cert-file=" + w.pki("front-proxy-client.crt"),
		"--proxy-client-key-file=" + w.pki("front-proxy-client.key"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-client-ca-file=" + w.pki("front-proxy-ca.crt"),
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + w.pki("sa.pub"),
		"--service-account-signing-key-file=" + w.pki("sa.key"),
		"--service-cluster-ip-range=" + w.networks.Services,
	}
	if w.options.WithoutMutatingPolicies {
		const kind = "admissionregistration.k8s.io/v1/mutatingadmissionpol"
		args = append(args, "--runtime-config="+kind+"icies=false,"+kind+"icybindings=false",
			"--disable-admission-plugins=MutatingAdmissionPolicy")
	}
	return args
}

// egressArgs have the API server reach nodes by a proxy, as clusters with Konnectivity do.
func (w *Workload) egressArgs() ([]string, error) {
	if w.options.Egress == "" {
		return nil, nil
	}
	path := filepath.Join(w.servers.dir, "egress.yaml")
	text := fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %q}}
`, w.options.Egress)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write egress configuration: %w", err)
	}
	return []string{"--egress-selector-config-file=" + path}, nil
}

// controllerArgs are those of the static pod that kubeadm writes.
func (w *Workload) controllerArgs() []string {
	return []string{
		"--controllers=*,bootstrapsigner,tokencleaner",
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + w.networks.Pods,
		"--service-cluster-ip-range=" + w.networks.Services,
		"--cluster-name=kubernetes",
		"--client-ca-file=" + w.pki("ca.crt"),
		"--requestheader-client-ca-file=" + w.pki("front-proxy-ca.crt"),
		"--root-ca-file=" + w.pki("ca.crt"),
		"--cluster-signing-cert-file=" + w.pki("ca.crt"),
		"--cluster-signing-key-file=" + w.pki("ca.key"),
		"--service-account-private-key-file=" + w.pki("sa.key"),
		"--use-service-account-credentials=true",
	}
}

// bindAdmins gives admin.conf its rights, which kubeadm does outside its phases.
func (w *Workload) bindAdmins(ctx context.Context) error {
	const name = "kubeadm:cluster-admins"
	_, err := w.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bind %s: %w", name, err)
	}
	return nil
}
