package crowd

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// party is hostile.
type party struct {
	*world.Namespace
	name string
	// acts counts what it did to our managers: answers that it gave them, lies that it told.
	acts atomic.Int64
	// ends are the reasons of Ready of which its objects must show each.
	ends []string
	// wanted is how often it acts before TestParties has honest machines made, and note what it has to add to that.
	wanted int64
	note   string
	// look counts what the party did, where that is not noticed by itself.
	look func(context.Context) error
}

// newParty has a namespace of its own.
func newParty(t *testing.T, name string, credentials map[string][]byte, ends ...string) *party {
	t.Helper()
	p := &party{Namespace: shared.Namespace(t, world.Start{Credentials: credentials}), name: name, ends: ends}
	p.write(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: ownData},
		Data:       map[string][]byte{"value": []byte("x"), "format": []byte("cloudbase-init")},
	})
	return p
}

// ownData is a Secret of a party with bootstrap data, so that its machines need no config.
const ownData = "data"

// invite lets all parties begin. They know who the honest are, and one is beside them in their vCenter.
func invite(t *testing.T, honest town) []*party {
	t.Helper()
	begin := []func() *party{
		func() *party { return manyAccounts(t) },
		func() *party { return bigConfig(t) },
		func() *party { return reporters(t) },
		func() *party { return largeReports(t) },
		func() *party { return neighbour(t, honest) },
	}
	for name, answer := range vCenters {
		begin = append(begin, func() *party { return vCenter(t, name, answer) })
	}
	for name, answer := range workloads {
		begin = append(begin, func() *party { return workload(t, name, answer) })
	}
	hostile := make([]*party, len(begin))
	world.Together(len(begin), func(i int) { hostile[i] = begin[i]() })
	if t.Failed() { // a party could not begin
		t.FailNow()
	}
	return hostile
}

// tookPart checks that the party did what it is there for, and that its objects say what came of it.
func (p *party) tookPart(t *testing.T) {
	t.Helper()
	seen := map[string]int{}
	wait.Eventually(t, "the end of "+p.name, func(ctx context.Context) error {
		var machines infrav1.WindowsMachineList
		var configs bootstrapv1.WindowsBootstrapConfigList
		expect.OK(t, p.Client.List(ctx, &machines, client.InNamespace(p.Name)))
		expect.OK(t, p.Client.List(ctx, &configs, client.InNamespace(p.Name)))
		clear(seen)
		for _, m := range machines.Items {
			seen[conditions.GetReason(&m, infrav1.ReadyCondition)]++
		}
		for _, c := range configs.Items {
			seen[conditions.GetReason(&c, bootstrapv1.ReadyCondition)]++
		}
		for _, reason := range p.ends {
			if seen[reason] == 0 {
				return fmt.Errorf("no object of its has the reason %s: %v", reason, seen)
			}
		}
		return nil
	})
	t.Logf("%s: acted %d times, its objects: %v", p.name, p.acts.Load(), seen)
	if p.acts.Load() == 0 {
		t.Errorf("%s took no part", p.name)
	}
}

// write makes an object in the party's namespace.
func (p *party) write(t *testing.T, object client.Object) {
	t.Helper()
	object.SetNamespace(p.Name)
	expect.OK(t, p.try(t, object))
}

// try makes an object, again if a busy API server had no time for that.
func (p *party) try(t *testing.T, object client.Object) error {
	t.Helper()
	ctx, cancel := wait.Within(t.Context(), wait.Patience)
	defer cancel()
	late := false
	return wait.Poll(ctx, func(ctx context.Context) error {
		err := p.Client.Create(ctx, object)
		switch {
		case err == nil || late && apierrors.IsAlreadyExists(err):
			return nil
		case apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err):
			late = true
			return err
		}
		return wait.Final(err)
	})
}

// machine of the party that needs no config, with the credentials of a Secret.
func (p *party) machine(t *testing.T, name, secret string) {
	t.Helper()
	m := p.NewMachine(name)
	m.Windows.Spec.IdentityRef.Name = secret
	m.Core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new(ownData)}
	m.CreateWithoutConfig(t)
}

// counted counts what the party answers.
func (p *party) counted(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.acts.Add(1)
		answer(w, r)
	}
}

func vCenter(t *testing.T, name string, answer http.HandlerFunc) *party {
	t.Helper()
	p := newParty(t, name, nil, infrav1.CloudUnreachableReason)
	p.SetCredentials(t, serve(t, p.counted(answer)).Credentials())
	p.machine(t, "m", world.Credentials)
	return p
}

// manyAccounts is a tenant who writes 500 Secrets, each for another account, and has his machines name one after the other.
func manyAccounts(t *testing.T) *party {
	t.Helper()
	const accounts, machines = 500, 50
	p := newParty(t, "a tenant with 500 accounts", nil, infrav1.TooManyAccountsReason)
	door := serve(t, p.counted(hang))
	world.Together(accounts, func(i int) {
		credentials := door.Credentials()
		credentials["username"] = fmt.Appendf(nil, "user-%d", i)
		p.write(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("account-%d", i)}, Data: credentials})
	})
	world.Together(machines, func(i int) { p.machine(t, fmt.Sprintf("m%d", i), fmt.Sprintf("account-%d", i)) })
	withoutPause(t, 50*time.Millisecond, func(ctx context.Context, i int) {
		m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: fmt.Sprintf("m%d", i%machines)}}
		next := fmt.Appendf(nil, `{"spec":{"vsphere":{"identityRef":{"name":"account-%d"}}}}`, (machines+i)%accounts)
		_ = p.Client.Patch(ctx, m, client.RawPatch(apitypes.MergePatchType, next)) // fails when the test ends
	})
	return p
}

// bigConfig is a tenant whose configs name a large ConfigMap 96 times.
func bigConfig(t *testing.T) *party {
	t.Helper()
	p := newParty(t, "configs with 96 references to a large ConfigMap", vcenter.New(t).Credentials(),
		bootstrapv1.ConfigInvalidReason)
	p.write(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "big"},
		BinaryData: map[string][]byte{"k": []byte(strings.Repeat("\x01", 700<<10))},
	})
	from := bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: "big", Key: "k"}}
	for i := range 20 {
		m := p.NewMachine(fmt.Sprintf("big-%d", i))
		for j := range 64 {
			m.Config.Spec.Custom.Files = append(m.Config.Spec.Custom.Files,
				bootstrapv1.CustomFile{Path: fmt.Sprintf(`C:\x\f%d`, j), ContentFrom: from})
		}
		for j := range 16 {
			script := bootstrapv1.CustomScript{Name: fmt.Sprintf("s%d", j), ContentFrom: from, TimeoutSeconds: 10}
			m.Config.Spec.Custom.PreJoin = append(m.Config.Spec.Custom.PreJoin, script)
			m.Config.Spec.Custom.PostJoin = append(m.Config.Spec.Custom.PostJoin, script)
		}
		m.Create(t)
		p.acts.Add(1)
	}
	return p
}

// reporters are guests that report without pause.
func reporters(t *testing.T) *party {
	t.Helper()
	v := vcenter.New(t)
	p := newParty(t, "guests that report without pause", v.Credentials(), infrav1.RunningReason)
	const guests = 5
	for i := range guests {
		p.Machine(t, fmt.Sprintf("liar-%d", i))
	}
	(&tenant{p.Namespace}).await(t, "the liars' VMs", guests, running)
	tell := p.teller(t, v.Owner(t), 20*time.Millisecond, v.Owner(t).VMs()...)
	tell("guestinfo.capwin.report", func(i int) string {
		return fmt.Sprintf(`{"version":1,"state":"Running","phase":{"index":1,"of":5,"name":"lie %d"}}`, i)
	})
	return p
}

// largeReports is a vCenter with 50 guests that report a mebibyte each.
func largeReports(t *testing.T) *party {
	t.Helper()
	v := vcenter.New(t)
	p := newParty(t, "50 guests with reports of 1 MiB", nil, infrav1.RunningReason)
	report := strings.Repeat("&lt;&amp;", 1<<19)
	door := v.Open(vcenter.Crowd(50, func(n int) string {
		p.acts.Add(1)
		return p.reporting(n, report)
	}))
	t.Cleanup(door.Close)
	p.SetCredentials(t, door.Credentials())
	p.machine(t, "m", world.Credentials)
	return p
}

// reporting is a VM whose marks are those of a machine of the party, and whose guest has reported.
func (p *party) reporting(n int, report string) string {
	id := fmt.Sprintf("42064d55-dcf3-6be7-3ac7-%012d", n)
	return vcenter.Property("name", "xsd:string", fmt.Sprint("large-", n)) +
		vcenter.Property("config.instanceUuid", "xsd:string", id) +
		vcenter.Property("runtime.powerState", "VirtualMachinePowerState", "poweredOn") +
		vcenter.Extra("capwin.owner", fmt.Sprintf("%s/large-%d", p.Name, n)) +
		vcenter.Extra("capwin.providerID", "vsphere://"+id) +
		vcenter.Extra("guestinfo.capwin.report", report)
}

// neighbour shares the vCenter of the honest as another user, and has a VM whose mark is that of one of their machines, and
// then of another.
func neighbour(t *testing.T, honest town) *party {
	t.Helper()
	door := honest.Open()
	t.Cleanup(door.Close)
	credentials := door.Credentials()
	credentials["username"] = []byte(vcenter.Another)
	p := newParty(t, "a user of the same vCenter who changes marks without pause", credentials, infrav1.RunningReason)
	p.machine(t, "neighbour", world.Credentials)
	(&tenant{p.Namespace}).await(t, "the neighbour's VM", 1, running)
	owner := honest.Owner(t)
	owner.Occupy("lies")
	victim := honest.tenants[0].Name
	// The simulator looks at all VMs again, for each collector, at each edit: a vCenter would take many more of them.
	mark := func(i int) string { return fmt.Sprintf("%s/m%d", victim, i%*each) }
	p.teller(t, owner, time.Second, "lies")("capwin.owner", mark)
	return p
}

// workload is an API server that a tenant calls his workload cluster. Only our managers meet it; others find it unavailable.
func workload(t *testing.T, name string, answer http.HandlerFunc) *party {
	t.Helper()
	p := newParty(t, name, vcenter.New(t).Credentials(), "WaitingForLinuxNode")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.UserAgent(), "capwin") {
			http.Error(w, "closed", http.StatusServiceUnavailable)
			return
		}
		p.counted(answer)(w, r)
	})
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: p.Name, Name: world.ClusterName + "-kubeconfig"}
	expect.OK(t, p.Client.Get(t.Context(), key, secret))
	world.Change(t, p.Client, secret, func(o *corev1.Secret) { o.Data["value"] = kubeconfigOf(t, server) })
	p.Machine(t, "m")
	p.machine(t, "own", world.Credentials)
	return p
}
