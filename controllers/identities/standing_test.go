package identities

import (
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestStanding: rights that were good stand for a machine that is being deleted when identity or Secret are gone, and for no
// other. Taken back is something else: it ends them, and they do not come back when the identity is gone after it.
func TestStanding(t *testing.T) {
	allowed, none := map[string]any{"list": []any{"team"}}, map[string]any{"list": []any{}}
	for name, c := range map[string]struct {
		change    func(t *testing.T, a *api, k *Keeper)
		says      string
		forOthers string
	}{
		"the identity is gone": {
			change:    func(t *testing.T, a *api, _ *Keeper) { expect.OK(t, a.Delete(t.Context(), identityOf(allowed))) },
			forOthers: "AzureClusterIdentity identities/blue does not exist",
		},
		"its Secret is gone": {
			change:    func(t *testing.T, a *api, _ *Keeper) { expect.OK(t, a.Delete(t.Context(), proof("one"))) },
			forOthers: "Secret proof of AzureClusterIdentity identities/blue does not exist",
		},
		"the right is taken back": {
			change: func(t *testing.T, a *api, _ *Keeper) { a.put(t, identityOf(none)) },
			says:   "does not allow namespace team", forOthers: "does not allow namespace team",
		},
		"taken back, and then gone": {
			change: func(t *testing.T, a *api, k *Keeper) {
				a.put(t, identityOf(none))
				pass(reads.Interval + time.Second)
				expect.Says(t, "taken back", expect.ErrorOf(settled(k, azure.Provider{}, mine)), "does not allow")
				expect.OK(t, a.Delete(t.Context(), identityOf(none)))
			},
			says: "does not exist", forOthers: "does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(identityOf(allowed), proof("one"), team(nil))
				k := started(t, a)
				_ = expect.Got(settled(k, azure.Provider{}, mine))(t)
				c.change(t, a, k)
				pass(reads.Interval + time.Second)
				deleted := mine
				deleted.Holds, deleted.Deleting = true, true
				rights, err := settled(k, azure.Provider{}, deleted)
				if c.says != "" {
					expect.Says(t, "for a deletion", err, c.says)
				} else {
					expect.OK(t, err)
					expect.Same(t, "proof", "one", string(rights.Data["clientSecret"]))
				}
				_, err = settled(k, azure.Provider{}, mine)
				expect.Says(t, "for a machine that stays", err, c.forOthers)
				_, err = settled(k, azure.Provider{}, deleted)
				expect.Same(t, "for the deletion again", c.says == "", err == nil)
			})
		})
	}
}

// TestStandingEnds: rights that are gone stand for an hour, however many machines ask for them meanwhile, and again for an hour
// when they were back.
func TestStandingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allowed := identityOf(map[string]any{"list": []any{"team"}})
		a := newAPI(allowed, proof("one"), team(nil))
		k := started(t, a)
		deleted := mine
		deleted.Holds, deleted.Deleting = true, true
		_ = expect.Got(settled(k, azure.Provider{}, mine))(t)
		for range 2 {
			expect.OK(t, a.Delete(t.Context(), identityOf(nil)))
			pass(reads.Interval + time.Second)
			begin, stood := time.Now(), time.Duration(0)
			for time.Since(begin) < 3*outlasts {
				if _, err := settled(k, azure.Provider{}, deleted); err == nil {
					stood = time.Since(begin)
				}
				pass(time.Minute)
			}
			expect.Same(t, "time that they stand, but for the minute of a look", outlasts-time.Minute, stood.Round(time.Minute))
			expect.OK(t, a.Create(t.Context(), identityOf(map[string]any{"list": []any{"team"}})))
			pass(reads.Interval + time.Second)
			_ = expect.Got(settled(k, azure.Provider{}, mine))(t)
		}
	})
}

// put replaces an object.
func (a *api) put(t *testing.T, o client.Object) {
	t.Helper()
	expect.OK(t, a.Delete(t.Context(), o))
	expect.OK(t, a.Create(t.Context(), o))
}
