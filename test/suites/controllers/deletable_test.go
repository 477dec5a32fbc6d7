package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// deletion is a machine with a running VM whose rights come from an AzureClusterIdentity and its Secret.
type deletion struct {
	*inherited
	m        *world.Machine
	identity *unstructured.Unstructured
	proof    *corev1.Secret
}

// newDeletion has the identity in another namespace, or in the machine's own. The machine may name it itself.
func newDeletion(t *testing.T, own, named bool) *deletion {
	t.Helper()
	d := &deletion{inherited: newInheritedFrom(t, own)}
	d.start(t)
	d.identity = ofCAPZ("AzureClusterIdentity", "blue", map[string]any{
		"type": "ServicePrincipal", "tenantID": armsim.Tenant, "clientID": armsim.ClientID,
		"clientSecret":      map[string]any{"name": "proof", "namespace": d.offers},
		"allowedNamespaces": map[string]any{"list": []any{d.Name}},
	})
	d.identity.SetNamespace(d.offers)
	d.proof = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.offers, Name: "proof"}, Type: corev1.SecretTypeOpaque,
		StringData: map[string]string{"clientSecret": armsim.Secret},
	}
	expect.OK(t, d.Client.Create(t.Context(), d.identity))
	expect.OK(t, d.Client.Create(t.Context(), d.proof))
	d.with(t, d.cluster, network(), "networkSpec")
	d.m = d.NewMachine("m")
	d.m.Windows.Spec = infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
		VMSize: "Standard_D4s_v5", Image: infrav1.AzureImage{ID: armsim.ManagedImage},
	}}
	if named {
		d.m.Windows.Spec.IdentityRef = infrav1.IdentityReference{Kind: infrav1.IdentityAzureCluster, Name: "blue"}
	}
	d.m.Create(t)
	d.m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
	return d
}

func (d *deletion) start(t *testing.T) {
	t.Helper()
	options := d.options()
	options.Azure = d.provider(t)
	d.process = d.Run(t, options)
}

// restart has the next process know nothing of the one before.
func (d *deletion) restart(t *testing.T, meanwhile func()) {
	t.Helper()
	expect.OK(t, d.process.Stop())
	meanwhile()
	d.start(t)
}

func (d *deletion) remove(t *testing.T, o client.Object) {
	t.Helper()
	expect.OK(t, client.IgnoreNotFound(d.Client.Delete(context.WithoutCancel(t.Context()), o)))
}

// going says when the end of the namespace has come to identity and Secret.
func (d *deletion) going(ctx context.Context) error {
	for _, o := range []client.Object{d.identity.DeepCopy(), d.proof.DeepCopy()} {
		err := d.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && o.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is still there", o.GetName())
		}
	}
	return nil
}

// held waits until identity and Secret have our finalizer, or have none of it. What is elsewhere never has it.
func (d *deletion) held(t *testing.T, want bool) {
	t.Helper()
	expect.OK(t, wait.Poll(t.Context(), func(ctx context.Context) error {
		for _, o := range []client.Object{d.identity.DeepCopy(), d.proof.DeepCopy()} {
			err := d.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if is := slices.Contains(o.GetFinalizers(), infrav1.CredentialsFinalizer); err == nil && is != want {
				return fmt.Errorf("%s %s: held is %t", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), is)
			}
		}
		return nil
	}))
}

// gone: the machine, its VM and its adapters.
func (d *deletion) gone(t *testing.T) {
	t.Helper()
	d.m.Await(t, "the end of the machine", func(s world.State) string {
		if s.Windows != nil {
			return "the machine is there"
		}
		return ""
	})
	for _, kind := range []string{"Microsoft.Compute/virtualMachines", "Microsoft.Network/networkInterfaces"} {
		expect.Same(t, kind, 0, len(d.azure.Names(armsim.Group, kind)))
	}
}

// deletionsTried is printed: each case is one.
var deletionsTried atomic.Int32

// TestEveryMachineCanBeDeleted: whatever of the rights to do so goes before, with it, or is lost.
func TestEveryMachineCanBeDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		own, named bool
		try        func(t *testing.T, d *deletion)
	}{
		"the namespace with Secret and identity": {own: true, try: func(t *testing.T, d *deletion) {
			d.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Name}})
		}},
		"the namespace, after its identity": {own: true, named: true, try: func(t *testing.T, d *deletion) {
			d.remove(t, d.identity)
			d.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Name}})
		}},
		"the namespace, after its Secret": {own: true, named: true, try: func(t *testing.T, d *deletion) {
			d.remove(t, d.proof)
			d.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Name}})
		}},
		"the namespace, with a manager that did not see its end": {own: true, try: func(t *testing.T, d *deletion) {
			d.restart(t, func() {
				d.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Name}})
				expect.OK(t, wait.Poll(t.Context(), d.going))
			})
		}},
		"an identity elsewhere, before the machine": {try: func(t *testing.T, d *deletion) {
			d.remove(t, d.identity)
			d.m.Delete(t)
		}},
		"a Secret elsewhere, before the machine": {try: func(t *testing.T, d *deletion) {
			d.remove(t, d.proof)
			d.m.Delete(t)
		}},
		"both elsewhere, after the machine": {try: func(t *testing.T, d *deletion) {
			d.m.Delete(t)
			d.remove(t, d.identity)
			d.remove(t, d.proof)
		}},
		"the status, before the next look": {try: func(t *testing.T, d *deletion) { d.loseStatusAndDelete(t) }},
		"the status of a machine that names its identity": {own: true, named: true, try: func(t *testing.T, d *deletion) {
			d.loseStatusAndDelete(t)
		}},
		"the right of the namespace: taken back, told, given again": {try: func(t *testing.T, d *deletion) {
			d.with(t, d.identity, map[string]any{"list": []any{"another"}}, "allowedNamespaces")
			d.m.Await(t, "revocation", world.Windows("CloudReachable False CredentialsMissing"))
			d.m.Delete(t)
			for _, text := range []string{
				"AzureClusterIdentity " + d.offers + "/blue does not allow namespace " + d.Name + ": add the namespace",
				"delete it by hand, with its disks and network interfaces, and then remove the finalizer " + infrav1.MachineFinalizer,
			} {
				refused(t, d.m, infrav1.CredentialsMissingReason, text)
			}
			expect.Same(t, "VMs", 1, len(d.azure.Names(armsim.Group, "Microsoft.Compute/virtualMachines")))
			d.with(t, d.identity, map[string]any{"list": []any{d.Name}}, "allowedNamespaces")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeletion(t, c.own, c.named)
			d.held(t, c.own)
			c.try(t, d)
			d.gone(t)
			d.held(t, false)
			t.Logf("deletions tried: %d", deletionsTried.Add(1))
		})
	}
}

// loseStatusAndDelete does what a move does, and a MachineSet right after it.
func (d *deletion) loseStatusAndDelete(t *testing.T) {
	t.Helper()
	d.restart(t, func() {
		world.ChangeStatus(t, d.Client, d.m.Load(t).Windows, func(o *infrav1.WindowsMachine) {
			o.Status = infrav1.WindowsMachineStatus{}
		})
		d.m.Delete(t)
	})
}
