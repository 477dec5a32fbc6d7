package workload

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// slow is a cluster whose list of Nodes takes its time.
type slow struct {
	client.Client
	takes time.Duration
	ends  error
}

// List implements client.Reader.
func (s *slow) List(context.Context, client.ObjectList, ...client.ListOption) error {
	later(s.takes)
	return s.ends
}

// list reads from a cluster as its callers do.
func list(t *testing.T, of *reading[[]corev1.Node], api client.Client) ([]corev1.Node, error) {
	t.Helper()
	return of.get(t.Context(), fresh, func(ctx context.Context) ([]corev1.Node, error) { return readControlPlane(ctx, api) })
}

// Who asks while another caller reads waits a moment, and gets the same; after that it is turned away.
func TestReadingOfAnother(t *testing.T) {
	for takes, turnedAway := range map[time.Duration]int64{patience / 2: 0, 3 * time.Second: 49} {
		synctest.Test(t, func(t *testing.T) {
			var n reading[[]corev1.Node]
			var callers sync.WaitGroup
			var away atomic.Int64
			began := time.Now()
			for range 50 {
				callers.Go(func() {
					if _, err := list(t, &n, &slow{takes: takes}); OutOfReach(err) {
						away.Add(1)
					} else {
						expect.OK(t, err)
					}
				})
			}
			callers.Wait()
			expect.Same(t, "time of all callers", takes, time.Since(began))
			expect.Same(t, "turned away", turnedAway, away.Load())
		})
	}
}

// A reading that fails has failed for all who wait for it.
func TestFailedReadingOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n reading[[]corev1.Node]
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if _, err := list(t, &n, &slow{takes: patience / 2, ends: errAway}); !errors.Is(err, errAway) {
					t.Errorf("error = %v", err)
				}
			})
		}
		callers.Wait()
	})
}
