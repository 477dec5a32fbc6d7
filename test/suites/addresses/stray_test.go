package addresses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestStrayAddresses are those that a provider gave our finalizer back after we had taken it off, with the claim there or
// not. Those of a claim that we hold, or of a machine, are held rightly.
func TestStrayAddresses(t *testing.T) {
	s := quietStage(t)
	s.run(t, strayAfter)
	s.lonelyClaim(t, "held", infrav1.AddressFinalizer)
	s.lonelyClaim(t, "freed", "example.com/of-the-provider")
	s.lonelyClaim(t, "led-on", infrav1.AddressFinalizer)
	world.ChangeStatus(t, s.Client, s.claim(t.Context(), t, "led-on"),
		func(c *ipamv1.IPAddressClaim) { c.Status.AddressRef.Name = "another" })
	user := s.user(t, "10.31.0.11/24")
	for i, name := range []string{"held", "used", "freed", "led-on", "claimless"} { // in this order they are looked at
		s.deletedAddress(t, name, fmt.Sprintf("10.31.0.%d", 10+i))
	}
	s.left(t, "held", "used")
	expect.OK(t, errors.Join(s.Client.Delete(t.Context(), s.claim(t.Context(), t, "held")), s.Client.Delete(t.Context(), user)))
	world.Change(t, s.Client, s.claim(t.Context(), t, "held"), func(c *ipamv1.IPAddressClaim) { c.Finalizers = nil })
	s.wake(t, strayAfter)
	s.left(t)
}

// TestNoStrayYet: the claim of an address that was just deleted may be on its way, from a backup.
func TestNoStrayYet(t *testing.T) {
	s := quietStage(t)
	looks := s.run(t, 0)
	for i, name := range []string{"first", "second"} {
		s.deletedAddress(t, name, fmt.Sprintf("10.32.0.%d", 10+i))
		wait.Eventually(t, "look at "+name, func(context.Context) error {
			if looks.Load() <= int64(i) {
				return errors.New("nobody has asked for the time")
			}
			return nil
		})
	}
	s.left(t, "first", "second")
	s.wake(t, strayAfter)
	s.left(t)
}

// TestStrayIsNotTaken: a pool on paper may give an address that goes as soon as it is freed.
func TestStrayIsNotTaken(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	s.deletedAddress(t, "again-0-0", "10.33.0.10")
	m := s.machine("again", "by-hand")
	m.Windows.Spec.VSphere.NetworkInterfaces[0].AddressesFromPools[0].Kind = "ListOnPaper"
	m.Create(t)
	wait.Eventually(t, "claim", s.haveAll(t, []string{"again-0-0"}))
	world.ChangeStatus(t, s.Client, s.claim(t.Context(), t, "again-0-0"),
		func(c *ipamv1.IPAddressClaim) { c.Status.AddressRef.Name = "again-0-0" })
	m.Await(t, "lost address", world.Windows("Ready False AddressLost"))
	m.End(t)
	s.wake(t, strayAfter)
	s.left(t)
}

// strayAfter is what the controllers wait, and more.
const strayAfter = 2 * time.Minute

// paper is a pool of no provider.
var paper = ipamv1.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: "ListOnPaper", Name: "by-hand"}

func (s *stage) lonelyClaim(t *testing.T, name, finalizer string) {
	t.Helper()
	claim := &ipamv1.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name, Finalizers: []string{finalizer}},
		Spec:       ipamv1.IPAddressClaimSpec{PoolRef: paper},
	}
	expect.OK(t, s.Client.Create(t.Context(), claim))
}

func (s *stage) deletedAddress(t *testing.T, name, text string) {
	t.Helper()
	address := &ipamv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name, Finalizers: []string{infrav1.AddressFinalizer}},
		Spec: ipamv1.IPAddressSpec{
			ClaimRef: ipamv1.IPAddressClaimReference{Name: name}, PoolRef: paper, Address: text, Prefix: new(int32(24)),
		},
	}
	expect.OK(t, errors.Join(s.Client.Create(t.Context(), address), s.Client.Delete(t.Context(), address)))
}

// user is a machine that has the address, in a restore without its claims.
func (s *stage) user(t *testing.T, address string) *infrav1.WindowsMachine {
	t.Helper()
	m := s.NewMachine("user").Windows
	m.OwnerReferences = nil
	expect.OK(t, s.Client.Create(t.Context(), m))
	world.ChangeStatus(t, s.Client, m, func(w *infrav1.WindowsMachine) {
		w.Status.NetworkInterfaces = []infrav1.MachineNetworkInterface{
			{Name: "n", Addresses: []infrav1.NetworkAddress{{Address: address}}},
		}
	})
	return m
}

// wake starts the controllers anew, which look at all that is there, with a clock that is ahead.
func (s *stage) wake(t *testing.T, ahead time.Duration) {
	t.Helper()
	expect.OK(t, s.process.Stop())
	s.run(t, ahead)
}

// run starts the controllers with a clock that is ahead, and counts who reads it.
func (s *stage) run(t *testing.T, ahead time.Duration) *atomic.Int64 {
	t.Helper()
	reads := &atomic.Int64{}
	s.process = s.Run(t, world.Options{VSphere: vsphere.Provider{}, Now: func() time.Time {
		reads.Add(1)
		return time.Now().Add(ahead)
	}})
	return reads
}

// left waits until these are the addresses that are left.
func (s *stage) left(t *testing.T, names ...string) {
	t.Helper()
	wait.Eventually(t, "addresses left", func(ctx context.Context) error {
		var there ipamv1.IPAddressList
		if err := s.Client.List(ctx, &there, client.InNamespace(s.Name)); err != nil {
			return err
		}
		var have []string
		for i := range there.Items {
			have = append(have, there.Items[i].Name)
		}
		if !slices.Equal(have, names) {
			return fmt.Errorf("left are %v, not %v", have, names)
		}
		return nil
	})
}
