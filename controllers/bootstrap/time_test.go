package bootstrap

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// roomWait is why a config has no user data, and when it is looked at again.
type roomWait struct {
	reason  string
	after   time.Duration
	stalled bool
	says    string
}

// TestWhatAConfigWaitsFor takes away, one after the other, what user data need. A wait for what no watch tells of comes with
// another look; the figures are pinned here. Nothing is made meanwhile.
func TestWhatAConfigWaitsFor(t *testing.T) {
	const poll, slow = 5 * time.Second, 2 * time.Minute
	at := func(reason, says string) roomWait { return roomWait{reason, 0, false, says} }
	for name, c := range map[string]struct {
		why  string
		take func(*room)
		want roomWait
	}{
		"owner": {
			"Cluster API changes the config", func(r *room) { r.config.OwnerReferences = nil },
			at("WaitingForOwner", "no Machine owns this WindowsBootstrapConfig yet"),
		},
		"Cluster": {
			"it is gone, or comes after its Machines in a restore", func(r *room) { r.cluster = nil },
			at("WaitingForOwner", "Cluster prod does not exist"),
		},
		"Cluster and WindowsMachine": {
			"both are gone", func(r *room) { r.cluster, r.windows = nil, nil }, at("WaitingForOwner", "Cluster prod does not exist"),
		},
		"MachinePool": {
			"only a person can help",
			func(r *room) {
				r.config.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "MachinePool", Name: "p"}}
			},
			roomWait{"OwnerNotSupported", slow, true, "MachinePool p cannot use a WindowsBootstrapConfig"},
		},
		"another's config": {
			"the Machine names another one", func(r *room) { r.machine.Spec.Bootstrap.ConfigRef.Name = "other" },
			roomWait{"OwnerNotSupported", slow, true, "ownerReferences has Machine m"},
		},
		"control-plane machine": {
			"control planes run on Linux", func(r *room) { r.machine.Labels[clusterv1.MachineControlPlaneLabel] = "" },
			roomWait{"OwnerNotSupported", slow, true, "Machine m is a control-plane machine"},
		},
		"another kind of infrastructure": {
			"its VM is not ours", func(r *room) { r.machine.Spec.InfrastructureRef.Kind = "DockerMachine" },
			roomWait{"OwnerNotSupported", slow, true, "the infrastructure of Machine m is a DockerMachine"},
		},
		"another group's WindowsMachine": {
			"its VM is not ours", func(r *room) { r.machine.Spec.InfrastructureRef.APIGroup = "other.example.com" },
			roomWait{"OwnerNotSupported", slow, true, "the infrastructure of Machine m is a WindowsMachine"},
		},
		"leaving": {
			"a machine that goes gets no user data",
			func(r *room) {
				r.machine.DeletionTimestamp, r.machine.Finalizers = &metav1.Time{Time: roomStart}, []string{"a/hook"}
			},
			at("Deleting", "Machine m is being deleted"),
		},
		"infrastructure of the Cluster": {
			"the Cluster is watched", func(r *room) { r.cluster.Status.Initialization.InfrastructureProvisioned = nil },
			at("WaitingForClusterInfrastructure", "Cluster prod is not provisioned yet"),
		},
		"endpoint": {
			"the Cluster is watched", func(r *room) { r.cluster.Spec.ControlPlaneEndpoint.Host = "" },
			at("WaitingForControlPlane", "Cluster prod has no control plane endpoint yet"),
		},
		"WindowsMachine": {
			"it is watched", func(r *room) { r.windows = nil },
			at("WaitingForMachineIdentity", "WindowsMachine m has no providerID or no computerName yet"),
		},
		"another's WindowsMachine": {
			"user data of its name would join as another", func(r *room) { r.windows.OwnerReferences[0].UID = "another" },
			at("WaitingForMachineIdentity", "WindowsMachine m has"),
		},
		"provider ID": {
			"it is watched", func(r *room) { r.windows.Spec.ProviderID = "" },
			at("WaitingForMachineIdentity", "WindowsMachine m has"),
		},
		"computer name": {
			"it is watched", func(r *room) { r.windows.Status.ComputerName = "" },
			at("WaitingForMachineIdentity", "WindowsMachine m has"),
		},
		"addresses": {
			"the WindowsMachine is watched",
			func(r *room) {
				r.windows.Spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{{Name: "one"}, {Name: "two"}}
			},
			at("WaitingForMachineAddresses", "WindowsMachine m does not have the MACs and addresses of its adapters yet"),
		},
		"placement": {
			"the WindowsMachine is watched",
			func(r *room) {
				r.config.Spec.Node.CloudConfigFile = bootstrapv1.CloudConfigFileManaged
				r.windows.Spec.VSphere, r.windows.Spec.Azure = nil, &infrav1.AzureVM{VMSize: "Standard_D4s_v5"}
			},
			at("WaitingForMachinePlacement", "WindowsMachine m has no status.azure.tenantID yet"),
		},
		"tenant of the placement": {
			"the WindowsMachine is watched",
			func(r *room) {
				r.config.Spec.Node.CloudConfigFile = bootstrapv1.CloudConfigFileManaged
				inAzure(r)
				r.windows.Status.Azure = &infrav1.AzurePlacement{}
			},
			at("WaitingForMachinePlacement", "WindowsMachine m has no status.azure.tenantID yet"),
		},
		"a cloud for its file": {
			"a VM on vSphere has no placement to wait for",
			func(r *room) { r.config.Spec.Node.CloudConfigFile = bootstrapv1.CloudConfigFileManaged },
			roomWait{"ConfigInvalid", slow, true, "cloudConfigFile"},
		},
		"rights of guests": {
			"nothing tells when the API servers know them", inAzure,
			roomWait{"WaitingForGuestRights", 10 * time.Second, false, "the rights by which guests report"},
		},
		"version of the control plane": {
			"a Node is Ready that tells none: the Machine's is taken", func(r *room) {
				r.nodes, r.ca = []corev1.Node{roomNode("")}, nil
			},
			roomWait{"WaitingForClusterCA", poll, true, "Secret prod-ca"},
		},
		"kubeconfig of the user": {
			"Secrets are not watched, and the cluster's CA is not needed",
			func(r *room) {
				r.ca, r.config.Spec.Discovery.KubeconfigFrom.Secret = nil, bootstrapv1.KeyReference{Name: "app", Key: "key"}
			},
			roomWait{"WaitingForSources", poll, true, `the config refers to the key "key" of Secret app`},
		},
		"small sources": {
			"only another config helps", func(r *room) {
				r.ca.Data["large"] = []byte(strings.Repeat("x", 4<<20))
				r.config.Spec.Custom.Files = []bootstrapv1.CustomFile{{Path: `C:\a.txt`, ContentFrom: bootstrapv1.ContentSource{
					Secret: bootstrapv1.KeyReference{Name: "prod-ca", Key: "large"},
				}}}
			},
			roomWait{"ConfigInvalid", slow, true, "other contents have more than"},
		},
		"control plane": {
			"the Cluster is watched", func(r *room) { r.cluster.Status.Initialization.ControlPlaneInitialized = nil },
			at("WaitingForControlPlane", "the control plane of Cluster prod is not initialized yet"),
		},
		"Linux node": {
			"Nodes of a workload cluster are not watched", func(r *room) { r.nodes = nil },
			roomWait{"WaitingForLinuxNode", poll, false, "Cluster prod has no Ready Node among its 0"},
		},
		"cluster that does not answer": {
			"nothing tells that it answers", func(r *room) { r.unreachable = &workload.UnreachableError{Why: "is away"} },
			roomWait{"WaitingForLinuxNode", poll, false, "the API server of Cluster prod is away"},
		},
		"cluster that must not be asked": {
			"a person must change its kubeconfig", func(r *room) { r.unreachable = &workload.RefusedError{} },
			roomWait{"KubeconfigRefused", poll, true, ""},
		},
		"upgrade of the control plane": {
			"Nodes of a workload cluster are not watched", func(r *room) { r.nodes = []corev1.Node{roomNode("v1.35.0")} },
			roomWait{"WaitingForControlPlaneVersion", poll, false, "the Machine needs v1.36.3"},
		},
		"CA": {
			"Secrets are not watched", func(r *room) { r.ca = nil },
			roomWait{"WaitingForClusterCA", poll, true, "Secret prod-ca with the cluster's CA under the key tls.crt does not exist"},
		},
		"certificate in the CA": {
			"Secrets are not watched", func(r *room) { r.ca.Data = map[string][]byte{"tls.key": []byte("x")} },
			roomWait{"WaitingForClusterCA", poll, true, "Secret prod-ca"},
		},
		"source": {
			"Secrets are not watched",
			func(r *room) {
				r.config.Spec.Custom.Files = []bootstrapv1.CustomFile{{Path: `C:\a.txt`, ContentFrom: bootstrapv1.ContentSource{
					Secret: bootstrapv1.KeyReference{Name: "app", Key: "key"},
				}}}
			},
			roomWait{"WaitingForSources", poll, true, `the config refers to the key "key" of Secret app`},
		},
		"good spec": {
			"only another config helps", func(r *room) { r.config.Spec.Kubelet.Configuration.Raw = []byte(`{"cgroupsPerQOS":true}`) },
			roomWait{"ConfigInvalid", slow, true, "cgroupsPerQOS"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, c.take)
			result, err := r.look(t)
			expect.OK(t, err)
			now := r.now(t)
			ready := conditions.Get(now, bootstrapv1.ReadyCondition)
			got := roomWait{ready.Reason, result.RequeueAfter, conditions.IsTrue(now, bootstrapv1.StalledCondition), ""}
			if got.says = ready.Message; strings.Contains(got.says, c.want.says) {
				got.says = c.want.says
			}
			expect.Same(t, c.why, fmt.Sprintf("%+v", c.want), fmt.Sprintf("%+v", got))
			if r.data(t) != nil || len(r.tokens(t)) > 0 || len(now.Finalizers) > 0 {
				t.Errorf("something was made for it: %v", r.calls)
			}
		})
	}
}

// TestLifeOfAToken: it is made with the user data, looked at every third of its life, extended in its second half, put back if
// it is gone, and removed when the node has joined. The figures are those of a TTL of 30 minutes.
func TestLifeOfAToken(t *testing.T) {
	r := newRoom(t)
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look", ctrl.Result{RequeueAfter: 10 * time.Minute}, result)
	issued := string(r.data(t).Data["token"])
	expiration := func() string {
		t.Helper()
		all := r.tokens(t)
		if len(all) != 1 || string(all[0].Data["token-id"])+"."+string(all[0].Data["token-secret"]) != issued {
			t.Fatalf("the tokens are %v", all)
		}
		return string(all[0].Data["expiration"])
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "2026-01-01T00:30:00Z"},
		{10 * time.Minute, "2026-01-01T00:30:00Z"},
		{15*time.Minute - time.Second, "2026-01-01T00:30:00Z"},
		{15 * time.Minute, "2026-01-01T00:45:00Z"},
		{20 * time.Minute, "2026-01-01T00:45:00Z"},
		{31 * time.Minute, "2026-01-01T01:01:00Z"},
	} {
		r.clock = roomStart.Add(step.after)
		result, err := r.look(t)
		expect.OK(t, err)
		expect.Same(t, "the next look", 10*time.Minute, result.RequeueAfter)
		expect.Same(t, "expiration after "+step.after.String(), step.want, expiration())
	}
	token := r.tokens(t)[0]
	expect.OK(t, r.workload.Delete(t.Context(), &token))
	r.clock = roomStart.Add(2 * time.Hour)
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "expiration of the token that was put back", "2026-01-01T02:30:00Z", expiration())

	token = r.tokens(t)[0]
	roomChange(t, r, r.workload, &token, func(s *corev1.Secret) { s.Data["expiration"] = []byte("tomorrow") })
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "an expiration that is no time", "2026-01-01T02:30:00Z", expiration())

	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
	result, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "looks at a node that has joined", ctrl.Result{}, result)
	expect.Same(t, "what is left", "0 tokens, finalizers []", fmt.Sprintf("%d tokens, finalizers %v", len(r.tokens(t)),
		r.now(t).Finalizers))
}

// TestTokenOfAStalledMachineExpires: nothing is extended, and nothing looks, until the machine goes on.
func TestTokenOfAStalledMachineExpires(t *testing.T) {
	r := newRoom(t)
	_, err := r.look(t)
	expect.OK(t, err)
	stall := func(status metav1.ConditionStatus) {
		roomChange(t, r, r.management, r.windows, func(m *infrav1.WindowsMachine) {
			conditions.Set(m, metav1.Condition{Type: infrav1.StalledCondition, Status: status, Reason: "R"})
		})
	}
	stall(metav1.ConditionTrue)
	r.clock = roomStart.Add(20 * time.Minute)
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look", ctrl.Result{}, result)
	expect.Same(t, "its token", "2026-01-01T00:30:00Z", string(r.tokens(t)[0].Data["expiration"]))
	stall(metav1.ConditionFalse)
	result, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look once it goes on", 10*time.Minute, result.RequeueAfter)
	expect.Same(t, "its token then", "2026-01-01T00:50:00Z", string(r.tokens(t)[0].Data["expiration"]))
}

// A token that was replaced is told, slowly looked at, and left alone.
func TestReplacedTokenIsLeft(t *testing.T) {
	r := newRoom(t)
	_, err := r.look(t)
	expect.OK(t, err)
	token := r.tokens(t)[0]
	roomChange(t, r, r.workload, &token, func(s *corev1.Secret) { s.Data["token-secret"] = []byte("0123456789abcdef") })
	r.clock = roomStart.Add(20 * time.Minute)
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look", 2*time.Minute, result.RequeueAfter)
	stalled := conditions.Get(r.now(t), bootstrapv1.StalledCondition)
	expect.Same(t, "reason", "BootstrapTokenReplaced", stalled.Reason)
	expect.Same(t, "sentence", "Secret kube-system/"+token.Name+" in the workload cluster no longer has the node's token, so the "+
		"node cannot join; delete that Secret, or delete the Machine to get a new one", stalled.Message)
	expect.Same(t, "expiration", "2026-01-01T00:30:00Z", string(r.tokens(t)[0].Data["expiration"]))
}

// Warnings of the rendered user data are one event, and no other look repeats it.
func TestWarningsAreAnEvent(t *testing.T) {
	r := newRoom(t, func(r *room) {
		r.config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkL2Bridge, CNI: bootstrapv1.CNICalico}
	})
	_, err := r.look(t)
	expect.OK(t, err)
	warning := conditions.Get(r.now(t), bootstrapv1.HasWarningsCondition)
	expect.Same(t, "HasWarnings", metav1.ConditionTrue, warning.Status)
	note := warning.Message[:min(len(warning.Message), 1024)]
	expect.Same(t, "events", []string{"Warning WarningsGiven " + note}, r.told())
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "events of the second look", 0, len(r.told()))
}

// A config that stalls tells of it in one event, whose words are the condition's.
func TestStallIsAnEvent(t *testing.T) {
	r := newRoom(t, func(r *room) { r.ca = nil })
	for range 2 {
		_, err := r.look(t)
		expect.OK(t, err)
	}
	stalled := conditions.Get(r.now(t), bootstrapv1.StalledCondition)
	expect.Same(t, "events", []string{"Warning WaitingForClusterCA " + stalled.Message}, r.told())
}

// A config without warnings makes no event at all.
func TestNoWarningsNoEvent(t *testing.T) {
	r := newRoom(t)
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "events", 0, len(r.told()))
	if text, is := r.data(t).Data["warnings"]; is {
		t.Errorf("the Secret has the warnings %q", text)
	}
}
