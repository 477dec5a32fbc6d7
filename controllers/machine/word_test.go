package machine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// rumour is a cluster whose guests have told this.
type rumour string

// GetClient is that of guests.Ears.
func (text rumour) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	object := &corev1.ConfigMap{Data: map[string]string{bootstrap.GuestReportKey: string(text)}}
	object.Namespace, object.Name = bootstrap.GuestNamespace, "m.token0"
	return fake.NewClientBuilder().WithObjects(object).Build(), nil
}

// TestGuestsWord: a VM whose guest has told anything that we understand runs, and so does one that ran once, whatever Azure says
// of its making. What is no report makes nothing run. What Azure is doing is of no interest any more, but why it cannot know is.
func TestGuestsWord(t *testing.T) {
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	const report = `{"version":1,"uid":"u","state":"Running","phase":{"index":1,"of":8,"name":"prepare"}}`
	for name, c := range map[string]struct {
		told   rumour
		facts  func(*facts)
		vm     cloud.State
		object string
		reason string
		detail string
	}{
		"nothing yet":        {object: "m.token0", reason: infrav1.ProvisioningReason},
		"a report":           {told: report, object: "m.token0", detail: "no right"},
		"no report":          {told: "{", object: "m.token0", reason: infrav1.ProvisioningReason},
		"another's object":   {told: report, object: "m.token1", reason: infrav1.ProvisioningReason},
		"no object":          {told: report, reason: infrav1.ProvisioningReason},
		"it ran once":        {object: "m.token0", facts: had, detail: "being made"},
		"a report, it stops": {told: report, object: "m.token0", vm: cloud.Stopped, reason: infrav1.VMNotRunningReason},
	} {
		t.Run(name, func(t *testing.T) {
			f := world(func(f *facts) {
				f.config = &bootstrapv1.WindowsBootstrapConfig{}
				f.config.Status.GuestReport = c.object
			})
			if c.facts != nil {
				c.facts(f)
			}
			vm := cloud.VM{State: c.vm, Detail: "being made", Doubt: "no right"}
			expect.Same(t, "reason", c.reason, listening(t, f, c.told, vm).Reason)
			if f.vm.State == cloud.Running {
				expect.Same(t, "detail", c.detail, vmCondition(f, phase.Stop{}).Message)
			}
		})
	}
}

// listening provisions a machine while the guests of its cluster tell something.
func listening(t *testing.T, f *facts, told rumour, vm cloud.VM) (stop phase.Stop) {
	t.Helper()
	var did []string
	f.cloud = answers{vm: vm, did: &did}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &Reconciler{Ears: &guests.Ears{GetClient: told.GetClient, Heard: func(...cloud.Key) {}}}
		over := make(chan error, 1)
		go func() { over <- r.Ears.Start(ctx) }()
		synctest.Wait()
		_ = r.provision(ctx, f) // asks, and so has it read
		synctest.Wait()
		stop = phase.Of(r.provision(ctx, f))
		cancel()
		expect.OK(t, <-over)
	})
	return stop
}

// TestReadsOfGuests: the object of a guest is read again and again until its machine has joined and its bootstrap has ended, and
// then once for each look.
func TestReadsOfGuests(t *testing.T) {
	const running, succeeded = `{"version":1,"state":"Running","phase":{"index":5,"of":5,"name":"join"}}`,
		`{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"}}`
	for name, c := range map[string]struct {
		told   rumour
		joined bool
		want   int // reads of a minute that begins with a look
	}{
		"silent":                {"", false, 6},
		"through, without Node": {succeeded, false, 6},
		"joined, not through":   {running, true, 6},
		"joined and through":    {succeeded, true, 1},
		"joined and silent":     {"", true, 1},
		"joined, no report":     {"{", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := world(func(f *facts) {
				f.config = &bootstrapv1.WindowsBootstrapConfig{}
				f.config.Status.GuestReport = "m.token0"
				f.cloud = answers{vm: cloud.VM{State: cloud.Running}, did: new([]string)}
				if c.joined {
					withNode(f)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				reads := 0
				r := &Reconciler{Ears: &guests.Ears{Heard: func(...cloud.Key) {}}}
				r.Ears.GetClient = func(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
					reads++
					return c.told.GetClient(ctx, cluster)
				}
				over := make(chan error, 1)
				go func() { over <- r.Ears.Start(ctx) }()
				synctest.Wait()
				for _, lasts := range []time.Duration{15 * time.Second, time.Minute} {
					reads = 0
					expect.OK(t, r.provision(ctx, f))
					<-time.After(lasts)
					synctest.Wait()
				}
				expect.Same(t, "reads", c.want, reads)
				cancel()
				expect.OK(t, <-over)
			})
		})
	}
}

// TestHostsWord: what a guest told Azure's host agent counts with the machine's UID, until its own report tells of an end.
func TestHostsWord(t *testing.T) {
	const (
		ours, another = "capwin1|uid-m|join|kubeadm|TokenRejected|1|m", "capwin1|uid-m2|join|kubeadm|TokenRejected|1|m"
		running       = `{"version":1,"uid":"u","state":"Running","phase":{"index":1,"of":8,"name":"prepare"}}`
		failed        = `{"version":1,"uid":"u","state":"Failed","phase":{"index":5,"of":8,"name":"join"}}`
	)
	for name, c := range map[string]struct {
		told       rumour
		object     string
		host, want string
	}{
		"the host alone":              {"", "m.token0", ours, ours},
		"no object":                   {running, "", ours, ours},
		"another machine's":           {"", "", another, ""},
		"another machine's, and ours": {running, "m.token0", another, running},
		"the guest is behind":         {running, "m.token0", ours, ours},
		"the guest tells more":        {failed, "m.token0", ours, failed},
		"the guest makes no sense":    {"{", "m.token0", ours, ours},
	} {
		t.Run(name, func(t *testing.T) {
			f := world(func(f *facts) {
				f.machine.UID = "uid-m"
				f.config = &bootstrapv1.WindowsBootstrapConfig{}
				f.config.Status.GuestReport = c.object
			})
			expect.Same(t, "reason", "", listening(t, f, c.told, cloud.VM{State: cloud.Running, Report: c.host}).Reason)
			expect.Same(t, "report", expect.Got(readReport(c.want))(t), f.guest)
			if c.want == ours {
				expect.Same(t, "phase and reason", "join TokenRejected", f.guest.Bootstrap.Phase+" "+f.guest.Bootstrap.Reason)
			}
		})
	}
}

// What keeps a Node from work is told of its VM once there is the Node, after what is wrong with the VM itself.
func TestDetailAfterJoin(t *testing.T) {
	const hidden, cutOff = "no address is reported", "the host is cut off"
	for name, c := range map[string]struct {
		node func(*facts)
		vm   cloud.VM
		want string
	}{
		"before": {vm: cloud.VM{State: cloud.Running, AfterJoin: hidden}},
		"after":  {node: withNode, vm: cloud.VM{State: cloud.Running, AfterJoin: hidden}, want: hidden},
		"worse":  {node: withNode, vm: cloud.VM{State: cloud.Running, AfterJoin: hidden, Detail: cutOff}, want: cutOff},
		"fine":   {node: withNode, vm: cloud.VM{State: cloud.Running}},
	} {
		f := world(func(f *facts) {
			f.vm = &c.vm
			if c.node != nil {
				c.node(f)
			}
		})
		expect.Same(t, name, c.want, vmCondition(f, phase.Stop{}).Message)
	}
}
