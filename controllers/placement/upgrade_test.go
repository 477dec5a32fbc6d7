package placement

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// slow looks as long as it should, and notes of which version the API server was.
type slow struct {
	teller

	takes    time.Duration
	versions []string
}

func (s *slow) look(_ context.Context, _ *clusterv1.Cluster, v *view) {
	s.versions = append(s.versions, v.state().version)
	<-time.After(s.takes)
}

// TestLooksAfterAnUpgrade: a Node of the new version joins minutes after the control plane has it. It is not newer than that.
func TestLooksAfterAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &slow{teller: w}
		w.teller = s
		defer w.start()()
		w.keeper.Kept(aCluster())
		w.passes(time.Minute)
		w.mu.Lock()
		w.version = "v1.37.0"
		w.mu.Unlock()
		w.passes(2 * time.Minute)
		w.mu.Lock()
		w.tell(watch.Added, nodes, aNode("win-1", "windows", "w"))
		w.mu.Unlock()
		w.passes(10 * time.Second)
		expect.Same(t, "the version at the last look", "v1.37.0", s.versions[len(s.versions)-1])
	})
}

// TestLooksSeldomAtMuch: a cluster that changes all the time, and takes a minute to look at, is not looked at all the time.
func TestLooksSeldomAtMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &slow{teller: w, takes: time.Minute}
		w.teller = s
		defer w.start()()
		w.keeper.Kept(aCluster())
		for n := range 360 {
			w.mu.Lock()
			w.tell(watch.Added, nodes, aNode(fmt.Sprint("win-", n), "windows", "w"))
			w.mu.Unlock()
			w.passes(10 * time.Second)
		}
		if looks := len(s.versions); looks < 8 || looks > 11 {
			t.Errorf("%d looks in an hour", looks)
		}
	})
}
