package crowd

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// manyAccounts is how many Secrets one tenant writes, each for another account.
const manyAccounts = 500

// parties are hostile. Each notes when it is asked the first time, so that the test knows that it took part.
type parties struct {
	mu    sync.Mutex
	heard map[string]*atomic.Int64
}

// invite lets all parties begin. They know who the honest tenants are.
func invite(t *testing.T, honest []*tenant) *parties {
	t.Helper()
	p := &parties{heard: map[string]*atomic.Int64{}}
	for name, answer := range map[string]http.HandlerFunc{
		"a vCenter that answers bombs":            bomb(strings.Repeat("x", 1<<20), 256),
		"a vCenter that answers nested elements":  bomb(strings.Repeat("<x>", 1<<18), 32),
		"a vCenter that answers endless lists":    bomb(strings.Repeat("<returnval><a/></returnval>", 1<<15), 256),
		"a vCenter that answers nothing of use":   empty,
		"a vCenter that never answers":            hang,
		"a vCenter that breaks off":               func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a vCenter that redirects to another one": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/else", http.StatusFound) },
	} {
		p.vCenter(t, name, 1, answer)
	}
	p.vCenter(t, "a tenant with 500 accounts", manyAccounts, hang)
	p.bigConfig(t)
	p.liars(t, honest[0].Name)
	return p
}

// heardOf counts what is asked of a party.
func (p *parties) heardOf(name string) *atomic.Int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := &atomic.Int64{}
	p.heard[name] = count
	return count
}

// wantHeard checks that all parties took part.
func (p *parties) wantHeard(t *testing.T) {
	t.Helper()
	for name, count := range maps.All(p.heard) {
		t.Logf("%s: asked %d times", name, count.Load())
		if count.Load() == 0 {
			t.Errorf("%s was never asked", name)
		}
	}
}

// vCenter is a server of a tenant's own, with so many Secrets for it, and a machine for each.
func (p *parties) vCenter(t *testing.T, name string, accounts int, answer http.HandlerFunc) {
	t.Helper()
	heard := p.heardOf(name)
	door := serve(t, func(w http.ResponseWriter, r *http.Request) {
		heard.Add(1)
		answer(w, r)
	})
	n := shared.Namespace(t, world.Start{})
	write(t, n, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: "data"},
		Data: map[string][]byte{"value": []byte("x"), "format": []byte("cloudbase-init")}})
	for i := range accounts {
		credentials := door.Credentials()
		credentials["username"] = fmt.Appendf(nil, "user-%d", i)
		secret := fmt.Sprintf("account-%d", i)
		write(t, n, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: secret}, Data: credentials})
		m := n.NewMachine(secret)
		m.Windows.Spec.VSphere.IdentityRef.Name = secret
		m.Core.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("data")}
		m.CreateWithoutConfig(t)
	}
}

// bigConfig is one whose spec names a ConfigMap of a mebibyte 96 times. It is heard when its condition says so.
func (p *parties) bigConfig(t *testing.T) {
	t.Helper()
	v := vcenter.New(t)
	n := shared.Namespace(t, world.Start{Credentials: v.Credentials()})
	write(t, n, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: "big"},
		BinaryData: map[string][]byte{"k": []byte(strings.Repeat("\x01", 700<<10))}})
	from := bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: "big", Key: "k"}}
	for i := range 20 {
		m := n.NewMachine(fmt.Sprintf("big-%d", i))
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
	}
	heard := p.heardOf("a config with 96 references to a large ConfigMap")
	go func() {
		_ = wait.Poll(t.Context(), func(ctx context.Context) error {
			var config bootstrapv1.WindowsBootstrapConfig
			if err := n.Client.Get(ctx, client.ObjectKey{Namespace: n.Name, Name: "big-0"}, &config); err != nil {
				return err
			}
			if have := world.ConditionOf(&config, "Stalled"); have != "Stalled True ConfigInvalid" {
				return fmt.Errorf("the config has %q", have)
			}
			heard.Add(1)
			return nil
		})
	}()
}

// liars are guests that report without pause, and a vCenter whose VMs have the marks of other tenants' machines.
func (p *parties) liars(t *testing.T, victim string) {
	t.Helper()
	v := vcenter.New(t)
	n := &tenant{shared.Namespace(t, world.Start{Credentials: v.Credentials()})}
	const guests = 5
	for i := range guests {
		n.Machine(t, fmt.Sprintf("liar-%d", i))
	}
	n.await(t, "the liars' VMs", guests, running)
	owner := v.Owner(t)
	names := owner.VMs()
	owner.SetExtra(names[0], "capwin.owner", victim+"/m0")
	heard := p.heardOf("guests that report without pause")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace := time.NewTicker(20 * time.Millisecond)
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			report := fmt.Sprintf(`{"version":1,"state":"Running","phase":{"index":1,"of":5,"name":"lie %d"}}`, i)
			owner.SetExtra(names[i%len(names)], "guestinfo.capwin.report", report)
			heard.Add(1)
			<-pace.C
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

func write(t *testing.T, n *world.Namespace, object client.Object) {
	t.Helper()
	expect.OK(t, n.Client.Create(t.Context(), object))
}
