package security

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// bystander is a manager's accounts, and a vCenter of an honest namespace on them.
type bystander struct {
	*accounts.Register
	honest  *vcenter.VCenter
	tenants atomic.Int32 // that have attacked
}

// watches are what the world's own watches run. A watch that ends begins anew, at any time, as does their connection where a ping
// of it was late. Clients of a vCenter have the HTTP/2 of net/http.
var watches = []goleak.Option{
	goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
	goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientStream).doRequest"),
	goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"),
	goleak.IgnoreAnyFunction("k8s.io/client-go/tools/cache.(*Reflector).startResync"),
	goleak.IgnoreTopFunction("context.(*cancelCtx).propagateCancel.func2"),
}

// newBystander runs until the test ends; then nothing may be left.
func newBystander(t *testing.T) *bystander {
	t.Helper()
	present := append(slices.Clone(watches), goleak.IgnoreCurrent())
	t.Cleanup(func() {
		if err := goleak.Find(present...); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	b := &bystander{honest: vcenter.New(t)}
	b.Register = &accounts.Register{Changed: func(...cloud.Key) {}, Now: time.Now}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Start(ctx) }()
	t.Cleanup(func() {
		end()
		expect.Fine(t, <-ended)
	})
	wait.Eventually(t, "the register to start", func(context.Context) error {
		_, err := b.Get(vsphere.Provider{}, honestSecret, b.honest.Credentials(), false)
		return err
	})
	return b
}

var (
	honestSecret = cloud.Key{Namespace: "honest", Name: "vcenter"}
	tenantSecret = cloud.Key{Namespace: "tenant", Name: "vcenter"}
)

// account is the one of a Secret of the tenant who attacks, until the test ends.
func (b *bystander) account(t *testing.T, secret cloud.Key, credentials map[string][]byte) cloud.Cloud {
	t.Helper()
	t.Cleanup(func() { b.Gone(vsphere.Provider{}, secret) })
	return expect.Got(b.Get(vsphere.Provider{}, secret, credentials, false))(t)
}

// unharmed makes and removes a machine of the honest namespace.
func (b *bystander) unharmed(t *testing.T, name string) {
	t.Helper()
	c := expect.Got(b.Get(vsphere.Provider{}, honestSecret, b.honest.Credentials(), false))(t)
	m := machineIn("honest", name)
	wait.Until(t, "the machine of another namespace to run", func() (any, bool) {
		vm, err := c.Ensure(t.Context(), m)
		return []any{vm, err}, err == nil && vm.State == cloud.Running
	})
	wait.Until(t, "the machine of another namespace to be gone", func() (any, bool) {
		_, err := c.Delete(t.Context(), m)
		return err, errors.Is(err, cloud.ErrNotFound)
	})
}

// machineIn is what the controllers tell a cloud about a machine.
func machineIn(namespace, name string) cloud.Machine {
	o := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	o.UID = apitypes.UID("uid of " + namespace + "/" + name)
	identity, _ := vsphere.Provider{}.Identify(o) // fails only without a UID
	return cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: namespace, Name: name}, UserData: cloud.UserData("#cloud-config\n").Read,
		Proof: cloud.Proof{Own: true},
		Spec: infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{
			Datacenter: vcenter.Datacenter, Image: infrav1.VSphereImage{Template: vcenter.Template}, Folder: vcenter.Folder,
			ResourcePool: vcenter.ResourcePool, CPUs: 2, MemoryMiB: 4096,
		}},
	}
}

// shown is what people see of an error of a cloud: a documented reason, and a short sentence in ASCII. It is the verdict.
func shown(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Error("there is no error")
		return ""
	}
	known, _ := errors.AsType[*cloud.Error](err)
	if known == nil {
		t.Fatalf("the error is not one of a cloud: %.300v", err)
	}
	condition := phase.Of(phase.Cloud(err)).Condition(infrav1.ReadyCondition, nil)
	texts := []string{condition.Message}
	if known.Err != nil {
		texts = append(texts, known.Err.Error())
	}
	for _, text := range texts {
		if len(text) > 1024 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("people are shown %d bytes: %.300q", len(text), text)
		}
	}
	first, _, _ := strings.Cut(condition.Message, ": ")
	return condition.Reason + ", " + first
}

const (
	envelope = `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><e:Body>`
	envelopeEnd = `</e:Body></e:Envelope>`
)

// without leaves an element out of an answer.
func without(answer, element string) string {
	return regexp.MustCompile(`(?s)<`+element+`[ >].*?</`+element+`>`).ReplaceAllString(answer, "")
}

var typed = regexp.MustCompile(`(?s)(<val )[^>]*xsi:type=[^>]*>.*?(</val>)`)

// retyped replaces the values of all properties.
func retyped(answer, to string) string {
	return typed.ReplaceAllString(answer, "${1}"+strings.ReplaceAll(strings.TrimSuffix(to, "<"), "$", "$$")+"${2}")
}
