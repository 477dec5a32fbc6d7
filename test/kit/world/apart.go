package world

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Workload is a cluster that Windows nodes join.
type Workload struct {
	*servers.Workload

	// Client is an admin's.
	Client client.Client
}

// Apart is a workload cluster beside the world's own, for tests that take its Linux node away or change its kube-system: no test
// of another package needs what is there. Those of one package that do so run one after the other.
func (w *World) Apart(t *testing.T) *Workload {
	t.Helper()
	if w == nil {
		t.Skip("needs real servers")
	}
	return expect.Got(w.apart())(t)
}

// Fresh is a workload cluster of a server of its own, for a test that counts all calls to it: in a shared one, managers also ask
// about what others have there.
func Fresh(t *testing.T) *Workload {
	t.Helper()
	m := expect.Got(startBare(t.Context(), filepath.Join(t.TempDir(), "fresh")))(t)
	t.Cleanup(func() { expect.Fine(t, m.Stop()) })
	fresh := expect.Got(asWorkload(m))(t)
	expect.OK(t, fresh.furnish(t.Context()))
	return fresh
}

func (w *World) openApart(ctx context.Context, dir string) (*Workload, error) {
	var err error
	if w.other, err = Bare(ctx, filepath.Join(dir, "apart")); err != nil {
		return nil, err
	}
	apart, err := asWorkload(w.other)
	if err != nil {
		return nil, err
	}
	return apart, apart.furnish(ctx)
}

// asWorkload describes an API server as a workload cluster that Cluster API can be shown.
func asWorkload(m *servers.Management) (*Workload, error) {
	host, err := url.Parse(m.Config.Host)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(host.Port())
	if err != nil {
		return nil, err
	}
	kubeconfig, err := os.ReadFile(m.KubeconfigFile)
	if err != nil {
		return nil, err
	}
	server, err := discovery.NewDiscoveryClientForConfig(m.Config)
	if err != nil {
		return nil, err
	}
	version, err := server.ServerVersion()
	if err != nil {
		return nil, err
	}
	api, err := client.New(m.Config, client.Options{})
	return &Workload{Client: api, Workload: &servers.Workload{
		Config: m.Config, KubeconfigFile: m.KubeconfigFile, Kubeconfig: kubeconfig,
		CA: m.Config.CAData, Host: host.Hostname(), Port: port, Version: version.GitVersion,
	}}, err
}

// furnish makes what each cluster has that Windows nodes may join.
func (c *Workload) furnish(ctx context.Context) error {
	if c == nil {
		return errors.New("there is no workload cluster")
	}
	return errors.Join(c.AddLinuxNode(ctx), c.addKubeadm(ctx), c.addCNI(ctx))
}

// Kubeadm are the ConfigMaps that kubeadm init leaves behind, and kubeadm join reads.
var Kubeadm = []client.ObjectKey{
	{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"},
	{Namespace: metav1.NamespaceSystem, Name: "kubelet-config"},
	{Namespace: metav1.NamespacePublic, Name: "cluster-info"},
}

// addKubeadm makes them, empty: no test of this package joins a node. The API server makes their namespaces a moment after it
// starts.
func (c *Workload) addKubeadm(ctx context.Context) error {
	patient, cancel := wait.Within(ctx, wait.Patience)
	defer cancel()
	return wait.Poll(patient, func(ctx context.Context) error {
		for _, key := range Kubeadm {
			found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			if err := client.IgnoreAlreadyExists(c.Client.Create(ctx, found)); err != nil {
				return fmt.Errorf("create ConfigMap %s: %w", key, err)
			}
		}
		return nil
	})
}

// AddLinuxNode makes the Linux control-plane node, Ready. Its labels of services keep the rights of nodes: many Clusters of a
// world have the same workload cluster, and each of their processes revokes what its own does not need.
func (c *Workload) AddLinuxNode(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: servers.ControlPlaneNode,
		Labels: map[string]string{
			corev1.LabelOSStable: "linux", "node-role.kubernetes.io/control-plane": "",
			bootstrap.LabelKubeProxy: bootstrap.LabelService, bootstrap.LabelFlannel: bootstrap.LabelService,
		},
	}}
	if err := c.Client.Create(ctx, node); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create linux node: %w", err)
	}
	return c.SetLinuxNodeReady(ctx, corev1.ConditionTrue)
}

// SetLinuxNodeReady says of the Linux node whether it is Ready.
func (c *Workload) SetLinuxNodeReady(ctx context.Context, ready corev1.ConditionStatus) error {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: servers.ControlPlaneNode}, node); err != nil {
		return err
	}
	return c.setNodeReady(ctx, node, ready)
}

// RemoveLinuxNode takes the Linux node away.
func (c *Workload) RemoveLinuxNode(ctx context.Context) error {
	return c.Client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: servers.ControlPlaneNode}})
}

func (c *Workload) setNodeReady(ctx context.Context, node *corev1.Node, ready corev1.ConditionStatus) error {
	before := node.DeepCopy()
	now := metav1.Now()
	node.Status.NodeInfo.OperatingSystem, node.Status.NodeInfo.KubeletVersion = node.Labels[corev1.LabelOSStable], c.Version
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "Test", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	if err := c.Client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write status of node %s: %w", node.Name, err)
	}
	return nil
}
