package agree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// refusing are the reasons by which a controller refuses a file: no time and nobody else mends them.
var refusing = map[string]class{
	bootstrapv1.ConfigInvalidReason: byConfig, bootstrapv1.ClusterNetworkInvalidReason: byConfig,
	infrav1.SpecInvalidReason: bySpec, infrav1.OwnerNotSupportedReason: bySpec,
}

// answered are the reasons of a machine about which the cloud was asked: it is taken then, whatever the cloud has or has not.
var answered = []string{
	infrav1.RunningReason, infrav1.PlacementNotFoundReason, infrav1.TemplateNotFoundReason, infrav1.SizeUnsuitableReason,
}

// cluster is both of our managers at work in all namespaces, with what they work with.
type cluster struct {
	vcenter *vcenter.VCenter
	azure   *armsim.Cloud
}

// newCluster starts what the world has not. It ends with the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{vcenter: expect.Got(vcenter.Start())(t), azure: armsim.Hurry(t, 30)}
	t.Cleanup(c.vcenter.Stop)
	namespace := shared.Namespace(t, world.Start{Filter: filter})
	namespace.Run(t, world.Options{
		VSphere: vsphere.Provider{}, Azure: azure.Provider{Now: c.azure.Now, Ticks: armsim.Ticks}, Everywhere: true, GuestReports: true,
	})
	return c
}

// filter is on all objects of the files that are applied: another test has machines with controllers of its own.
const filter = "agree"

// label gives the filter to an object, and to what is made of its template.
func label(t *testing.T, made *unstructured.Unstructured) {
	t.Helper()
	put := func(fields ...string) {
		expect.OK(t, unstructured.SetNestedField(made.Object, filter, append(fields, "metadata", "labels", clusterv1.WatchLabel)...))
	}
	put()
	if made.GetKind() == "MachineDeployment" {
		put("spec", "template")
	}
}

// secrets are the credentials of both clouds, by the names that the files have.
func (c *cluster) secrets() map[string]map[string][]byte {
	return map[string]map[string][]byte{"vcenter": c.vcenter.Credentials(), "azure": {
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"resourceManagerEndpoint": []byte(c.azure.Endpoint()), "authority": []byte(c.azure.Endpoint()),
		"audience": []byte(c.azure.Endpoint()), "caBundle": c.azure.CA(),
	}}
}

// judge applies a file, which the API server takes, in a namespace of its own, and waits for what the controllers say.
func (c *cluster) judge(t *testing.T, f file) verdict {
	t.Helper()
	n := shared.Namespace(t, world.Start{Infrastructure: infrastructureOf(f)})
	for name, data := range c.secrets() {
		expect.OK(t, n.Client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: name}, Data: data,
		}))
	}
	for _, one := range f.objects() {
		made := &unstructured.Unstructured{Object: one}
		made.SetNamespace(n.Name)
		label(t, made)
		switch made.GetKind() {
		case "AzureCluster": // it is there
		case "Cluster":
			changeCluster(t, n, made)
		default:
			expect.OK(t, n.Client.Create(t.Context(), normal(t, made)))
		}
	}
	return c.await(t, n)
}

// normal has the numbers of an object as an API server has them.
func normal(t *testing.T, one *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	expect.OK(t, made.UnmarshalJSON(expect.Got(one.MarshalJSON())(t)))
	return made
}

// infrastructureOf is the file's AzureCluster, as its own provider would have made it ready; nil if there is none.
func infrastructureOf(f file) *unstructured.Unstructured {
	for _, one := range f.objects() {
		if one["kind"] == "AzureCluster" {
			one["status"] = object{"ready": true}
			return &unstructured.Unstructured{Object: one}
		}
	}
	return nil
}

// changeCluster gives the Cluster, which has its control plane already, the networks of the file.
func changeCluster(t *testing.T, n *world.Namespace, made *unstructured.Unstructured) {
	t.Helper()
	network, _, err := unstructured.NestedMap(made.Object, "spec", "clusterNetwork")
	expect.OK(t, err)
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(made.GroupVersionKind())
	expect.OK(t, n.Client.Get(t.Context(), client.ObjectKeyFromObject(made), there))
	world.Change(t, n.Client, there, func(there *unstructured.Unstructured) {
		label(t, there)
		expect.OK(t, unstructured.SetNestedMap(there.Object, network, "spec", "clusterNetwork"))
	})
}

// patience is longer than that of other tests: Cluster API may look again after a minute at what it has kept back.
const patience = 5 * time.Minute

// await waits until the controllers refuse the machine of a namespace, or have asked its cloud for a VM.
func (c *cluster) await(t *testing.T, n *world.Namespace) (v verdict) {
	t.Helper()
	ctx, cancel := wait.Within(t.Context(), patience)
	defer cancel()
	if err := wait.Poll(ctx, func(ctx context.Context) error {
		var machines infrav1.WindowsMachineList
		var configs bootstrapv1.WindowsBootstrapConfigList
		inNamespace := client.InNamespace(n.Name)
		err := errors.Join(n.Client.List(ctx, &machines, inNamespace), n.Client.List(ctx, &configs, inNamespace))
		switch {
		case err != nil:
			return err
		case len(machines.Items) == 0 || len(configs.Items) == 0:
			return fmt.Errorf("there is no WindowsMachine or no config yet; %s", keptBack(ctx, n))
		}
		var isDecided bool
		v, isDecided = decided(&machines.Items[0], &configs.Items[0])
		if !isDecided {
			return fmt.Errorf("not decided: %s", v.says)
		}
		return nil
	}); err != nil {
		t.Fatalf("waiting for the controllers' word: %v", err)
	}
	return v
}

// keptBack says why Cluster API makes no machine.
func keptBack(ctx context.Context, n *world.Namespace) string {
	var sets clusterv1.MachineSetList
	if err := n.Client.List(ctx, &sets, client.InNamespace(n.Name)); err != nil {
		return err.Error()
	}
	said := fmt.Sprintf("%d MachineSets", len(sets.Items))
	for _, set := range sets.Items {
		for _, c := range set.Status.Conditions {
			said += fmt.Sprintf("; %s %s: %s", c.Type, c.Status, c.Message)
		}
	}
	return said
}

// decided reads the conditions of a machine and its config.
func decided(m *infrav1.WindowsMachine, config *bootstrapv1.WindowsBootstrapConfig) (verdict, bool) {
	data, ready := conditions.Get(config, bootstrapv1.DataSecretAvailableCondition), conditions.Get(m, infrav1.ReadyCondition)
	switch {
	case data == nil || ready == nil:
		return verdict{says: "there are no conditions yet"}, false
	case data.Status == metav1.ConditionFalse && refusing[data.Reason] != "":
		return refusal(byConfig, data.Message), true
	case ready.Status == metav1.ConditionFalse && refusing[ready.Reason] != "":
		return refusal(refusing[ready.Reason], strings.TrimSpace(ready.Message)), true
	case data.Status == metav1.ConditionTrue && slices.Contains(answered, ready.Reason):
		return verdict{by: good, says: ready.Reason}, true
	}
	return verdict{says: fmt.Sprintf("config %s: %s, machine %s: %s", data.Reason, data.Message, ready.Reason, ready.Message)}, false
}

// startOthers has what the files refer to: the kinds of Cluster API Provider Azure, and the IPAM provider of Cluster API's
// project.
func startOthers(t *testing.T) {
	t.Helper()
	expect.OK(t, servers.InstallCAPZ(t.Context(), shared.Management))
	expect.OK(t, servers.StartIPAM(context.WithoutCancel(t.Context()), shared.Management, t.Output()))
}
