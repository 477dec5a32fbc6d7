package bootstrap

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOneMissingSource: a config with 63 sources beside one that never comes costs one read each two minutes in the end, and its
// sources are read again when its spec changes, or when the one has come.
func TestOneMissingSource(t *testing.T) {
	secret := func(name string) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{"k": []byte("x")}}
		s.Namespace, s.Name = "ns", name
		return s
	}
	r := newRoom(t, func(r *room) {
		for i := range 64 {
			f := bootstrapv1.CustomFile{Path: fmt.Sprintf(`C:\%d.txt`, i)}
			f.ContentFrom.Secret = bootstrapv1.KeyReference{Name: fmt.Sprintf("s%02d", i), Key: "k"}
			r.config.Spec.Custom.Files = append(r.config.Spec.Custom.Files, f)
		}
	})
	for i := range 63 {
		expect.OK(t, r.management.Create(t.Context(), secret(fmt.Sprintf("s%02d", i))))
	}
	var waits []time.Duration
	look := func() (reads int) {
		t.Helper()
		r.calls = nil
		result, err := r.look(t)
		expect.OK(t, err)
		waits = append(waits, result.RequeueAfter)
		for _, call := range r.calls {
			if call == "management get Secret" {
				reads++
			}
		}
		return reads
	}
	const own, ca = 1, 1 // the bootstrap Secret and the Cluster's CA
	expect.Same(t, "reads of the first look", own+ca+64, look())
	expect.Same(t, "reads before it is time", own, look())
	for range 6 {
		r.clock = r.clock.Add(waits[len(waits)-1])
		expect.Same(t, "reads of a look", own+1, look())
	}
	s := time.Second
	expect.Same(t, "waits", []time.Duration{5 * s, 5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 120 * s, 120 * s}, waits)

	roomChange(t, r, r.management, r.config, func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.Generation++ // as an API server does
		c.Spec.Custom.Files[0].Path = `C:\other.txt`
	})
	expect.Same(t, "reads of a look at another spec", own+ca+64, look())
	expect.OK(t, r.management.Create(t.Context(), secret("s63")))
	r.clock = r.clock.Add(firstGap)
	r.made(t)
	expect.Same(t, "gaps that are kept", 0, len(r.gaps.entries))
}
