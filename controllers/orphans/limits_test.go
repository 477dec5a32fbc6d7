package orphans

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestLimits: someone who writes marks on very many VMs costs little, and nothing in other namespaces.
func TestLimits(t *testing.T) {
	s := newStage(t)
	s.cluster("other", "blue", "uid-9")
	for n := range 2 * Most {
		s.sky.vms = append(s.sky.vms, made(fmt.Sprint("m-", n), "uid-1"))
	}
	other := made("m", "uid-9")
	other.Key.Namespace = "other"
	s.sky.vms = append(s.sky.vms, other)
	s.look(0)
	s.look(Lasts)
	s.want("after one look", AtOnce+1, AtOnce+1, Most)
	expect.Same(t, "orphans of the other namespace", 1, s.vms["other/blue"])
	s.look(time.Minute)
	s.want("after two looks", 2*AtOnce+1, 2*AtOnce+1, Most)
	s.sky.vms = nil
	s.look(Lasts)
	s.want("when all are gone", 2*AtOnce+1, 2*AtOnce+3, 0) // a line for each Cluster
	if long := s.lines[len(s.lines)-1]; len(long) > 1000 {
		t.Errorf("a line has %d bytes", len(long))
	}
}

// TestHostileTexts: a name in the cloud can be any text.
func TestHostileTexts(t *testing.T) {
	s := newStage(t)
	evil := made("m", "uid-1")
	evil.Name = "x\n\x1b[31mdelete everything%s" + strings.Repeat("ä", 4096)
	evil.ProviderID, evil.Server = evil.Name, evil.Name
	s.sky.vms = []accounts.Marked{evil}
	s.look(0)
	s.look(Lasts)
	s.want("of a hostile name", 1, 1, 1)
	for _, text := range append(s.notes, s.lines...) {
		if len(text) > 1000 || strings.ContainsAny(text, "\n\x1bä") || strings.Contains(text, "MISSING") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

// TestTwoServers: equal ids on two servers are two VMs, and one VM that two accounts see is one.
func TestTwoServers(t *testing.T) {
	s := newStage(t)
	first, again, second := made("m", "uid-1"), made("m", "uid-1"), made("m", "uid-1")
	again.Secret.Name, second.Server = "of-another-user", "second.example.com"
	s.sky.vms = []accounts.Marked{first, again, second}
	s.look(0)
	s.look(Lasts)
	s.want("on two servers", 2, 2, 2)
}

// TestStart looks again and again until it is stopped.
func TestStart(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	cancel()
	expect.OK(t, <-ended)
}

// TestReads: a look lists two kinds from the cache, however many VMs there are, and its lists are not copied.
func TestReads(t *testing.T) {
	s := newStage(t)
	var lists, gets int
	watching, _ := s.api.(client.WithWatch)
	s.Client = interceptor.NewClient(watching, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			lists++
			asked := (&client.ListOptions{}).ApplyOptions(options)
			if asked.UnsafeDisableDeepCopy == nil || !*asked.UnsafeDisableDeepCopy {
				t.Errorf("the list %T is a copy", list)
			}
			return c.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key cloud.Key, o client.Object, options ...client.GetOption) error {
			gets++
			return c.Get(ctx, key, o, options...)
		},
	})
	for n := range 500 {
		name := fmt.Sprint("m-", n)
		s.sky.vms = append(s.sky.vms, made(name, "uid-1"))
		if n > 0 {
			s.machine(name, "cloud://"+name)
		}
	}
	s.look(0)
	s.look(Lasts)
	s.want("of one machine of 500", 1, 1, 1)
	if lists != 4 || gets != 0 {
		t.Errorf("%d lists and %d gets, want 2 lists for each look", lists, gets)
	}
}
