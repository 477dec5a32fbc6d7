package orphans

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
	evil.Name = strings.Repeat("y", 200)
	evil.ProviderID, evil.Server = evil.Name, evil.Name
	s.sky.vms = []accounts.Marked{evil}
	s.look(0)
	s.look(Lasts)
	s.want("of a long name", 2, 3, 1) // and the first one is gone
	s.sky.vms = nil
	s.look(Lasts)
	cut := strings.Repeat("y", 125) + "..."
	for i, text := range []string{s.notes[1], s.lines[1], s.lines[3]} {
		if cuts := strings.Count(text, cut); cuts != []int{3, 3, 1}[i] || strings.Contains(text, "y"+cut) {
			t.Errorf("of a long name, text %d is %s", i, text)
		}
	}
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

// TestOldestFirst: a namespace is told of the VMs that have waited for the longest time, and of gone ones by name.
func TestOldestFirst(t *testing.T) {
	s := newStage(t)
	add := func(names ...string) {
		for _, name := range names {
			s.sky.vms = append(s.sky.vms, made(name, "uid-1"))
		}
	}
	add("z-2", "z-1")
	s.look(0)
	for n := range AtOnce + 2 {
		add(fmt.Sprintf("m-%02d", n))
	}
	s.look(time.Second)
	s.look(Lasts)
	var told []string
	for _, note := range s.notes {
		_, after, _ := strings.Cut(note, "VM \"vm-")
		name, _, _ := strings.Cut(after, "\"")
		told = append(told, name)
	}
	want := []string{"z-1", "z-2", "m-00", "m-01", "m-02", "m-03", "m-04", "m-05", "m-06", "m-07"}
	expect.Same(t, "told at first", want, told)
	s.sky.vms = nil
	s.look(Lasts)
	line := `["vm-m-00" "vm-m-01" "vm-m-02" "vm-m-03" "vm-m-04" "vm-m-05" "vm-m-06" "vm-m-07" "vm-z-1" "vm-z-2"]`
	if last := s.lines[len(s.lines)-1]; !strings.Contains(last, line) {
		t.Errorf("the line is %s, want %s in it", last, line)
	}
}

// TestFigures has what docs and alerts say in figures.
func TestFigures(t *testing.T) {
	expect.Same(t, "the time without a machine", 10*time.Minute, Lasts)
	expect.Same(t, "VMs that are told with a look", 10, AtOnce)
	expect.Same(t, "VMs that are remembered", 1000, Most)
	expect.Same(t, "time between looks", time.Minute, interval)
}

// TestStart looks every minute until it is stopped. A look that fails is logged, unless the manager is about to stop.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var lists int
		watching, _ := s.api.(client.WithWatch)
		ctx, cancel := context.WithCancel(t.Context())
		s.Client = interceptor.NewClient(watching, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				switch lists++; lists {
				case 1, 2: // of the first look
					return nil
				case 4:
					cancel()
				}
				return errors.New("no cache")
			},
		})
		ended := make(chan error)
		log := funcr.New(func(name, args string) { s.lines = append(s.lines, name+" "+args) }, funcr.Options{})
		go func() { ended <- s.Start(ctrl.LoggerInto(ctx, log)) }()
		begun := time.Now()
		expect.OK(t, <-ended)
		expect.Same(t, "time of three looks", 3*time.Minute, time.Since(begun))
		expect.Same(t, "lines", 1, len(s.lines))
		if !strings.HasPrefix(s.lines[0], "orphans ") || !strings.Contains(s.lines[0], "no cache") {
			t.Errorf("the log says %s", s.lines[0])
		}
	})
}

// TestUnread: a look that cannot read one of the two kinds tells nothing, and nothing is forgotten.
func TestUnread(t *testing.T) {
	s := newStage(t)
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(0)
	whole, fails := s.Client, ""
	watching, _ := s.api.(client.WithWatch)
	s.Client = interceptor.NewClient(watching, calls.Ask(func(c calls.Call) error {
		if fmt.Sprintf("%T", c.Object) == fails {
			return errors.New("no cache")
		}
		return nil
	}))
	s.now = s.now.Add(Lasts)
	for fails = range map[string]bool{"*v1beta2.ClusterList": true, "*v1beta1.WindowsMachineList": true} {
		expect.Says(t, "look without a "+fails, s.Look(t.Context()), "no cache")
	}
	s.want("while nothing can be read", 0, 0, 0)
	s.Client = whole
	s.look(0)
	s.want("afterwards", 1, 1, 1)
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
