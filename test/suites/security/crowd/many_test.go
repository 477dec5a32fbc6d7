package crowd

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// parties of TestParties, each with the arguments that the managers get for it.
var parties = map[string]struct {
	begin     func(*testing.T) []*party
	arguments []string
}{
	"nobody":                 {begin: func(*testing.T) []*party { return nil }},
	"dead-clusters":          {begin: alone(deadClusters)},
	"full-clusters":          {begin: alone(fullClusters)},
	"large-configs":          {begin: alone(largeConfigs)},
	"configs":                {begin: alone(configs)},
	"lists":                  {begin: alone(listers)},
	"groups":                 {begin: alone(groups)},
	"identities":             {begin: alone(manyIdentities)},
	"hungry-configs":         {begin: alone(hungryConfigs)},
	"guests":                 {begin: alone(manyGuests)},
	"machines":               {begin: alone(manyMachines)},
	"vcenters":               {begin: alone(manyVCenters)},
	"honest-clusters":        {begin: alone(honestClusters)},
	"honest-clusters-lifted": {begin: alone(honestClusters), arguments: []string{"--tenants=" + manyClusters + ":clusters=200"}},
}

func alone(begin func(*testing.T) *party) func(*testing.T) []*party {
	return func(t *testing.T) []*party { return []*party{begin(t)} }
}

// everybody begins one after the other: the API server of the test has to take it all.
func everybody(t *testing.T) (hostile []*party) {
	for name, one := range parties {
		if len(one.arguments) == 0 {
			t.Logf("%s begin", name)
			hostile = append(hostile, one.begin(t)...)
		}
	}
	return hostile
}

// number is one of the hostile, or the part of it that is asked for.
func number(n int) int { return max(n / *part, 1) }

// clusters makes Clusters with an object for each manager. Their status says that they are up, as a tenant's control plane may.
func (p *party) clusters(t *testing.T, count int, kubeconfig func(i int) []byte) {
	t.Helper()
	world.Together(count, func(i int) {
		name := fmt.Sprintf("c%d", i)
		object := metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}}
		secret := &corev1.Secret{ObjectMeta: *object.DeepCopy(), Type: clusterv1.ClusterSecretType}
		secret.Name, secret.Data = name+"-kubeconfig", map[string][]byte{"value": kubeconfig(i)}
		p.write(t, secret)
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 1},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: servers.ExternalControlPlane.Group, Kind: servers.ExternalControlPlane.Kind, Name: name,
			},
		}}
		p.write(t, cluster)
		world.ChangeStatus(t, p.Client, cluster, func(c *clusterv1.Cluster) {
			c.Status.Initialization.ControlPlaneInitialized = new(true)
		})
		m := (&world.Namespace{World: p.World, Name: p.Name, Workload: p.Workload, ClusterName: name}).NewMachine(name)
		p.write(t, m.Windows)
		p.write(t, m.Config)
		p.acts.Add(1)
	})
}

// deadClusters have API servers of which one half refuses connections and the other never answers one.
func deadClusters(t *testing.T) *party {
	t.Helper()
	count := number(2000)
	p := newParty(t, fmt.Sprintf("%d dead Clusters", count), nil)
	refusing, silent := serve(t, hang), serve(t, hang)
	refused := kubeconfigOf(t, refusing)
	refusing.Close()
	hole := expect.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { expect.Fine(t, hole.Close()) })
	unanswered := strings.ReplaceAll(string(kubeconfigOf(t, silent)), silent.Listener.Addr().String(), hole.Addr().String())
	p.clusters(t, count, func(i int) []byte {
		if i%2 == 0 {
			return refused
		}
		return []byte(unanswered)
	})
	return p
}

// fullClusters have an API server that has as much of everything as it likes.
func fullClusters(t *testing.T) *party {
	t.Helper()
	count := number(200)
	p := newParty(t, fmt.Sprintf("%d Clusters whose API server lists without end", count), nil)
	config := kubeconfigOf(t, serve(t, p.counted(full)))
	p.clusters(t, count, func(int) []byte { return config })
	p.wanted = p.acts.Load() + int64(count)
	return p
}

// config has so many bytes of settings for the kubelet.
func (p *party) config(name string, size int) *bootstrapv1.WindowsBootstrapConfig {
	c := p.NewMachine(name).Config
	c.Spec.Kubelet.Configuration = runtime.RawExtension{Raw: fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", size-len(`{"x":""}`)))}
	return c
}

// largeConfigs are as large as etcd takes objects. Admission is to refuse them.
func largeConfigs(t *testing.T) *party {
	t.Helper()
	count, taken := number(800), atomic.Int64{}
	p := newParty(t, fmt.Sprintf("%d configs of 1.4 MiB", count), nil)
	world.Together(count, func(i int) {
		err := p.try(t, p.config(fmt.Sprintf("c%d", i), 1400<<10))
		if err == nil {
			taken.Add(1)
		} else if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsRequestEntityTooLargeError(err) {
			t.Error(err)
		}
		p.acts.Add(1)
	})
	p.note = fmt.Sprintf("%d of them were refused", int64(count)-taken.Load())
	expect.Same(t, "configs of 1.4 MiB that were taken", int64(0), taken.Load())
	return p
}

// configs are as large as may be.
func configs(t *testing.T) *party {
	t.Helper()
	count := number(800)
	p := newParty(t, fmt.Sprintf("%d configs of 60 KiB", count), nil)
	world.Together(count, func(i int) {
		p.write(t, p.config(fmt.Sprintf("c%d", i), 60<<10))
		p.acts.Add(1)
	})
	return p
}

// listers are machines with an account each, at an Azure of the tenant's own that lists 50,000 VMs.
func listers(t *testing.T) *party {
	t.Helper()
	const accounts = 16
	p := newParty(t, fmt.Sprintf("%d accounts that list %d VMs at once", accounts, number(allVMs)), nil)
	own := ownAzure(t, p)
	for i := range accounts {
		name := fmt.Sprintf("account-%d", i)
		p.write(t, own.secret(name, i))
		p.inAzure(t, name, world.InAzure(name))
	}
	p.wanted = int64(number(allVMs)/pageOfVMs + 1)
	return p
}

// groups are those of machines in one account, in an Azure of the tenant's own that lists VMs in each.
func groups(t *testing.T) *party {
	t.Helper()
	count := number(80)
	p := newParty(t, fmt.Sprintf("%d resource groups with %d VMs each", count, number(allVMs)), nil)
	own := ownAzure(t, p)
	p.write(t, own.secret(world.Credentials, 0))
	for i := range count {
		spec := world.InAzure(world.Credentials)
		spec.Azure.ResourceGroup = fmt.Sprintf("group-%d", i)
		p.inAzure(t, fmt.Sprintf("m%d", i), spec)
	}
	p.wanted = int64(number(allVMs)/pageOfVMs + 1)
	return p
}

// inAzure makes a machine there that needs no config.
func (p *party) inAzure(t *testing.T, name string, spec infrav1.WindowsMachineSpec) {
	t.Helper()
	m := p.NewMachine(name)
	m.Windows.Spec = spec
	m.Core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new(ownData)}
	m.CreateWithoutConfig(t)
}

// manyIdentities are AzureClusterIdentities, each with its own Secret and used by one machine.
func manyIdentities(t *testing.T) *party {
	t.Helper()
	count := number(1000)
	p := newParty(t, fmt.Sprintf("%d identities", count), nil)
	world.Together(count, func(i int) {
		name := fmt.Sprintf("i%d", i)
		p.write(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"clientSecret": []byte("wrong")},
		})
		identity := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"type": "ServicePrincipal", "tenantID": armsim.Tenant, "clientID": clientID(i),
			"clientSecret": map[string]any{"name": name, "namespace": p.Name}, "allowedNamespaces": map[string]any{},
		}}}
		identity.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
		identity.SetKind("AzureClusterIdentity")
		identity.SetName(name)
		p.write(t, identity)
		spec := world.InAzure(name)
		spec.IdentityRef = infrav1.IdentityReference{Kind: infrav1.IdentityAzureCluster, Name: name}
		p.inAzure(t, name, spec)
		p.acts.Add(1)
	})
	return p
}

// manyMachines are paused, so that our managers have nothing to do for them. What honest machines wait beside them is the time of
// Cluster API's own manager and of the API server, with which the parties compare that have as many machines.
func manyMachines(t *testing.T) *party {
	t.Helper()
	count := number(1000)
	p := newParty(t, fmt.Sprintf("%d machines that are paused", count), vcenter.New(t).Credentials())
	world.Together(count, func(i int) {
		m := p.NewMachine(fmt.Sprintf("m%d", i))
		m.Windows.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		m.Config.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		m.Create(t)
		p.acts.Add(1)
	})
	return p
}

// hungryConfigs have 64 sources each, the last of which is missing.
func hungryConfigs(t *testing.T) *party {
	t.Helper()
	const sources = 64
	count := number(1000)
	p := newParty(t, fmt.Sprintf("%d configs of whose %d sources one is missing", count, sources), vcenter.New(t).Credentials())
	for i := range sources - 1 {
		p.write(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%02d", i)}, Data: map[string][]byte{"k": []byte("x")},
		})
	}
	world.Together(count, func(i int) {
		m := p.NewMachine(fmt.Sprintf("m%d", i))
		for j := range sources {
			file := bootstrapv1.CustomFile{Path: fmt.Sprintf(`C:\x\f%d`, j)}
			file.ContentFrom.Secret = bootstrapv1.KeyReference{Name: fmt.Sprintf("s%02d", j), Key: "k"}
			m.Config.Spec.Custom.Files = append(m.Config.Spec.Custom.Files, file)
		}
		m.Create(t)
		p.acts.Add(1)
	})
	return p
}

// manyGuests are in a vCenter of the tenant's own, and report 16 KiB each.
func manyGuests(t *testing.T) *party {
	t.Helper()
	count := number(1000)
	p := newParty(t, fmt.Sprintf("%d guests with reports of 16 KiB", count), nil)
	v := vcenter.New(t)
	door := v.Open(vcenter.Crowd(count, func(n int) string {
		p.acts.Add(1)
		return p.reporting(n, strings.Repeat("r", 16<<10))
	}))
	t.Cleanup(door.Close)
	p.SetCredentials(t, door.Credentials())
	p.machine(t, "m", world.Credentials)
	p.wanted = int64(count)
	return p
}

// manyVCenters are the tenant's own, each with as many VMs with the marks of its machines as an account keeps.
func manyVCenters(t *testing.T) *party {
	t.Helper()
	const accounts = 16
	count := number(5000)
	p := newParty(t, fmt.Sprintf("%d vCenters with %d guests that report 2 KiB", accounts, count), nil)
	v := vcenter.New(t)
	report := strings.Repeat("r", 2<<10)
	for i := range accounts {
		door := v.Open(vcenter.Crowd(count, func(n int) string {
			p.acts.Add(1)
			return p.reporting(n, report)
		}))
		t.Cleanup(door.Close)
		name := fmt.Sprintf("account-%d", i)
		p.write(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: door.Credentials()})
		p.machine(t, name, name)
	}
	p.wanted = int64(count)
	return p
}

// manyClusters is the namespace of honestClusters.
const manyClusters = "many-clusters"

// honestClusters are 200 in one namespace, with a machine each, which must become Ready, too.
func honestClusters(t *testing.T) *party {
	t.Helper()
	count := number(200)
	p := &party{name: fmt.Sprintf("%d honest Clusters in one namespace", count)}
	workload := shared.Namespace(t, world.Start{}).Workload
	p.Namespace = &world.Namespace{World: shared, Name: manyClusters, Workload: workload}
	credentials := vcenter.New(t).Credentials()
	world.Together(count, func(i int) {
		name := fmt.Sprintf("c%d", i)
		join := servers.JoinOptions{Namespace: p.Name, Name: name, Initialized: true}
		expect.OK(t, servers.JoinAsCluster(t.Context(), shared.Management, workload.Workload, join))
		if i == 0 {
			p.SetCredentials(t, credentials)
		}
		of := &world.Namespace{World: shared, Name: p.Name, Workload: workload, ClusterName: name}
		of.Machine(t, name)
	})
	p.wanted = int64(count)
	p.look = p.countReady
	return p
}

// countReady counts the machines of the party that are Ready.
func (p *party) countReady(ctx context.Context) error {
	var list infrav1.WindowsMachineList
	err := p.Client.List(ctx, &list, client.InNamespace(p.Name))
	ready := 0
	for _, m := range list.Items {
		if running(&m) {
			ready++
		}
	}
	p.acts.Store(int64(ready))
	return err
}
