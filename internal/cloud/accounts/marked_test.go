package accounts

import (
	"maps"
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// put makes a VM with the marks of a machine, on one of the world's servers.
func (s *stage) put(server, namespace, name string) {
	vm := fake.VM{Name: name, ID: "fake://" + name, ProviderID: "fake://" + name, Owner: key(namespace, name)}
	if server != "" {
		vm.Name = server + "/" + name
	}
	s.world.Put(vm)
}

// wantMarked wants what the register shows, as NAMESPACE/NAME SERVER SECRET.
func (s *stage) wantMarked(what string, blind int, want ...string) {
	s.t.Helper()
	wait.Until(s.t, what, func() (any, bool) {
		var have []string
		unsure := s.Marked(func(m Marked) { have = append(have, m.Key.String()+" "+m.Server+" "+m.Secret.String()) })
		slices.Sort(have)
		return []any{have, unsure}, slices.Equal(want, have) && len(unsure) == blind
	})
}

// TestMarked: a namespace is shown the VMs that its own Secrets see, and of those only the ones with its name on them.
func TestMarked(t *testing.T) {
	s := newStage(t)
	s.put("", "a", "of-a")
	s.put("", "b", "of-b")
	s.put("", "c", "of-c")
	s.put("hostile", "a", "lie-about-a")
	s.put("hostile", "d", "of-d")
	s.wantMarked("nothing to be shown without an account", 0)
	s.get("a", "secret", "secret")
	s.get("a", "second", "secret")
	s.wantMarked("only a to be shown its VM", 0, "a/of-a first a/secret")
	for range 50 { // each time anew in another order
		s.Marked(func(m Marked) {
			expect.Same(t, "the Secret that has used the account for longer", "a/secret", m.Secret.String())
		})
	}
	s.get("b", "secret", "secret")
	s.wantMarked("b to be shown its own VM", 0, "a/of-a first a/secret", "b/of-b first b/secret")

	hostile := password("secret")
	hostile["server"] = []byte("hostile")
	expect.Got(s.Get(fake.Provider{World: s.world}, key("d", "secret"), hostile, false))(t)
	s.wantMarked("a server of d's to tell nothing about a", 0,
		"a/of-a first a/secret", "b/of-b first b/secret", "d/of-d hostile d/secret")

	s.get("c", "wrong", "wrong")
	s.wantMarked("a wrong password to see nothing", 1,
		"a/of-a first a/secret", "b/of-b first b/secret", "d/of-d hostile d/secret")
	blind := s.Marked(func(Marked) {})
	expect.Same(t, "Secrets that are blind", "c/wrong", slices.Collect(maps.Keys(blind))[0].String())
	s.gone("c", "wrong")

	s.gone("a", "secret")
	s.wantMarked("the other Secret to show the VM", 0, "a/of-a first a/second", "b/of-b first b/secret", "d/of-d hostile d/secret")
	s.gone("a", "second")
	s.wantMarked("nothing to be shown without a Secret", 0, "b/of-b first b/secret", "d/of-d hostile d/secret")
}
