package crash

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// effectsInAzure are all that our controllers change in the world while a machine becomes a node in Azure and is deleted, but for
// the status of the WindowsMachine: how often that changes depends on how far Azure is when it is looked at.
var effectsInAzure = []string{
	"management PATCH windowsmachines providerID #1",
	"management PATCH windowsbootstrapconfigs finalizers #1",
	"workload POST secrets #1",
	"management POST secrets #1",
	"management PATCH windowsbootstrapconfigs/status Ready=WaitingForGuest #1",
	"management PATCH windowsmachines annotations,finalizers #1",
	"management PATCH secrets finalizers #1",
	"azure PUT vm #1",
	"management PATCH windowsbootstrapconfigs/status Ready=Joined #1",
	"workload DELETE secrets #1",
	"management PATCH windowsbootstrapconfigs finalizers #2",
	"azure DELETE vm #1",
	"management PATCH secrets finalizers #2",
	"management PATCH windowsmachines finalizers #1",
}

// plansInAzure are where the processes of a life are killed. That all that follows from calls of Azure is tried without
// Kubernetes, in internal/cloud/azure; here it is what lies between Azure and Kubernetes.
var plansInAzure = [][]world.Plan{
	{
		{Effect: "management PATCH windowsmachines providerID #1", After: true},
		{Effect: "azure PUT vm #1"},
		{Effect: "azure DELETE vm #1"},
	},
	{
		{Effect: "azure PUT vm #1", After: true},
		{Effect: "azure DELETE vm #1", After: true},
		{Effect: "management PATCH windowsmachines finalizers #1"},
	},
}

// TestCrashInAzure kills the process between Azure and Kubernetes: one PUT makes the VM, and nothing is left of it in the end.
//
//nolint:tparallel // one clock after the other
func TestCrashInAzure(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	byClocks(t, "crash matrix in Azure", crashInAzure)
}

func crashInAzure(t *testing.T, ahead time.Duration, counts *tally) {
	for _, plans := range append([][]world.Plan{nil}, plansInAzure...) {
		t.Run(fmt.Sprint(plans), func(t *testing.T) {
			t.Parallel()
			r := beginInAzure(t, ahead, plans...)
			defer counts.addInAzure(t, r)
			r.live(t)
			want, have := slices.Sorted(slices.Values(effectsInAzure)), slices.Sorted(slices.Values(r.Effects()))
			have = slices.DeleteFunc(have, func(e string) bool {
				// The clock of this Azure runs on while the machine under the test stands still: a deletion is asked for again then.
				again := strings.HasPrefix(e, "azure DELETE vm #") && e != "azure DELETE vm #1"
				return again || strings.Contains(e, " windowsmachines/status ")
			})
			switch {
			case len(plans) == 0:
				expect.Same(t, "effects of a life without a crash", want, have)
			case !r.Hit():
				t.Error("the effect did not come about")
			}
			once(t, have, "workload POST secrets", "management POST secrets", "azure PUT vm")
		})
	}
}

// runInAzure is one machine's life in an Azure of its own.
type runInAzure struct {
	*run
	azure *armsim.Cloud
	// prepare is called with the gate of each process, before that starts.
	prepare func(*world.Gate)
}

// addInAzure counts the end of a life.
func (c *tally) addInAzure(t *testing.T, r *runInAzure) {
	t.Helper()
	c.count(t, r.run, r.left(compute.VM))
}

// beginInAzure makes the machine, and starts the process once Cluster API has seen it.
func beginInAzure(t *testing.T, ahead time.Duration, plans ...world.Plan) *runInAzure {
	t.Helper()
	r := newInAzure(t)
	r.begin(t, ahead, plans...)
	return r
}

// newInAzure makes the machine. Somebody else's VM is there, too.
func newInAzure(t *testing.T) *runInAzure {
	t.Helper()
	namespace := shared.Namespace(t, world.Start{})
	r := &runInAzure{run: &run{namespace: namespace, others: []string{theirs}}, azure: armsim.Hurry(t, 60)}
	r.azure.Change(func(in *armsim.Inside) {
		in.World.Lag.List, in.World.Lag.Get = 30*time.Second, 10*time.Second
		in.World.Put(armsim.VMID(theirs), doc.Object{
			"location": armsim.Location, "properties": doc.Object{"provisioningState": "Succeeded", "vmId": uuid.NewString()},
		})
	})
	r.machine = namespace.NewMachine(fmt.Sprintf("a%d", machines.Add(1)))
	r.machine.Windows.Spec = world.InAzure(world.Credentials)
	r.machine.CreateWithoutConfig(t)
	r.seen(t)
	return r
}

// begin starts the first process. Its clock is ahead of Azure's.
func (r *runInAzure) begin(t *testing.T, ahead time.Duration, plans ...world.Plan) {
	t.Helper()
	namespace := r.namespace
	door := &doorOfAzure{to: r.azure}
	server := httptest.NewTLSServer(door)
	t.Cleanup(server.Close)
	namespace.SetCredentials(t, map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"resourceManagerEndpoint": []byte(server.URL), "authority": []byte(r.azure.Endpoint()),
		"audience": []byte(r.azure.Endpoint()), "caBundle": r.azure.CA(),
	})
	r.controllers = world.Succeed(t, plans, func(gate *world.Gate) (*world.Process, error) {
		if r.prepare != nil {
			r.prepare(gate)
		}
		door.gate.Store(gate) // the process before has ended
		now := func() time.Time { return r.azure.Now().Add(ahead) }
		return namespace.Launch(world.Options{
			Azure: azure.Provider{Now: now, Ticks: armsim.Ticks}, Gate: gate, Now: proved.Clock(ahead), OwnClock: true,
		})
	})
}

// live is a machine that becomes a node and is deleted.
func (r *runInAzure) live(t *testing.T) {
	t.Helper()
	r.claimed(t)
	r.machine.Await(t, "running VM", world.Windows("Ready True "+infrav1.RunningReason), world.DataSecretNamed)
	r.machine.Join(t)
	r.machine.Await(t, "joined", world.Windows("BootstrapSucceeded True "+infrav1.JoinedReason),
		world.Config("Ready True "+infrav1.JoinedReason), world.Tokens(0))
	expect.Same(t, "VMs", []string{r.machine.Load(t).Windows.Status.ComputerName, theirs}, r.left(compute.VM))
	r.machine.Delete(t)
	r.machine.Await(t, "end", world.Gone)
	r.nothingLeft(t)
}

// nothingLeft checks that of the machine nothing is left in Azure.
func (r *runInAzure) nothingLeft(t *testing.T) {
	t.Helper()
	expect.Same(t, "VMs that are left in Azure", r.others, r.left(compute.VM))
	for _, kind := range []string{"Microsoft.Network/networkInterfaces", "Microsoft.Compute/disks"} {
		expect.Same(t, kind+" that are left in Azure", 0, len(r.left(kind)))
	}
}

func (r *runInAzure) left(kind string) []string { return r.azure.Names(armsim.Group, kind) }

// doorOfAzure leads to the simulator, through the gate of the process that lives. Its address stays, as Azure's does.
type doorOfAzure struct {
	to   *armsim.Cloud
	gate atomic.Pointer[world.Gate]
}

// ServeHTTP is part of http.Handler.
func (d *doorOfAzure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gate := d.gate.Load()
	kind := "other"
	for part, name := range map[string]string{"/virtualmachines/": "vm", "/networkinterfaces/": "nic", "/disks/": "disk"} {
		if strings.Contains(strings.ToLower(r.URL.Path), part) {
			kind = name
		}
	}
	name := "azure " + r.Method + " " + kind
	if r.Method == http.MethodGet {
		if gate.Read(name) != nil {
			panic(http.ErrAbortHandler)
		}
		d.forward(w, r)
		return
	}
	answer := httptest.NewRecorder()
	killed := gate.Change(name, func() bool {
		d.forward(answer, r)
		return answer.Code < http.StatusMultipleChoices
	})
	if killed != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = io.Copy(w, answer.Body)
}

func (d *doorOfAzure) forward(w http.ResponseWriter, r *http.Request) {
	to, err := url.Parse(d.to.Endpoint())
	if err != nil {
		panic(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = d.to.Client().Transport
	proxy.ServeHTTP(w, r)
}
