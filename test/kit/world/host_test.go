package world

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestHost: what a host cannot give is refused in words, and it starts no server that nobody asks for.
func TestHost(t *testing.T) {
	folder := t.TempDir()
	host := expect.Got(Open(folder))(t)
	err := post(t.Context(), folder, "part", "a moon", nil)
	if err == nil || err.Error() != "a host has no a moon" {
		t.Errorf("want the part refused, got: %v", err)
	}
	expect.Same(t, "numbers", []int{1, 2}, []int{host.admit("crash"), host.admit("crash")})
	for agent, strange := range map[string]bool{
		"test-crash-1": false, "test-crash-2": false, "test-crash-20": true, "capwin-manager": false, "manager/v0.0.0": true,
	} {
		expect.Same(t, agent, strange, host.strange(agent))
	}
	expect.OK(t, host.Close())
	expect.Same(t, "servers that run", 0, len(host.running))
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	expect.OK(t, err)
	expect.Same(t, "what is left in the folder", 0, len(left))
}

// TestPart: what could not be started is tried again for the next one who asks, and then not any more.
func TestPart(t *testing.T) {
	answers := []error{errors.New("the machine is busy"), nil}
	p := part{start: func() (offer, error) {
		err := answers[0]
		answers = answers[1:]
		return offer{Components: "of it"}, err
	}}
	for _, want := range []string{"the machine is busy", "", ""} {
		made, err := p.get()
		if want != "" {
			expect.Says(t, "try", err, want)
			continue
		}
		expect.OK(t, err)
		expect.Same(t, "made", "of it", made.Components)
	}
}

// TestNoHost: who names a folder where no host answers reads what to do.
func TestNoHost(t *testing.T) {
	t.Setenv(Variable, t.TempDir())
	_, err := Bare(t.Context(), t.TempDir())
	if err == nil || !strings.HasSuffix(err.Error(), "; without the variable, own ones are started") {
		t.Errorf("want it said what to do, got: %v", err)
	}
}

// TestUnique: in a world of its own, a process needs no other names than those of its tests.
func TestUnique(t *testing.T) {
	var none *World
	expect.Same(t, "without servers", "gate", none.Unique("gate"))
	expect.Same(t, "alone", "gate", (&World{}).Unique("gate"))
	expect.Same(t, "beside others", "gate-7", (&World{name: "7"}).Unique("gate"))
}
