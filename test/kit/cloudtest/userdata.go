package cloudtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func userData(w world) {
	c, m := w.process(), w.machine("m")
	data := make(cloud.UserData, 20_000)
	_, _ = rand.Read(data)
	m.UserData = data.Read
	w.ensure(c, m)
	if got := w.UserData(m.Name); !bytes.Equal(got, data) {
		w.t.Errorf("the guest gets %d bytes that are not the %d of the user data", len(got), len(data))
	}
	if got := w.ComputerName(m.Name); got != m.Name {
		w.t.Errorf("the guest is to be called %q, want %q", got, m.Name)
	}
}

// userDataRead has the user data read when a VM is asked for, and then not again: each time is a request.
func userDataRead(w world) {
	c, m := w.process(), w.machine("m")
	data, refusal, reads := userDataOf(m.Key.Name), errors.New("refused"), 0
	m.UserData = func(context.Context) (cloud.UserData, error) {
		reads++
		return data, refusal
	}
	for range 3 {
		w.wantAbsent(c, m)
		if _, err := c.Ensure(w.t.Context(), m); !errors.Is(err, refusal) {
			w.t.Fatalf("Ensure = %v, want what the user data returned", describe(err))
		}
	}
	w.wantVMs()
	refusal, reads = nil, 0
	w.ensure(c, m)
	for _, c := range []cloud.Cloud{c, w.process()} {
		w.ensure(c, m)
		w.observe(c, m)
	}
	w.wantUserData(m, data, 0)
	w.remove(c, m)
	if reads != 1 {
		w.t.Errorf("the user data of one VM were read %d times", reads)
	}
}

func secrets(w world) {
	c, m := w.process(), w.machine("m")
	m.UserData = cloud.UserData("token-of-a-node").Read
	w.LoseAnswer()
	_, err := c.Ensure(w.t.Context(), m)
	if text := strings.ToLower(cmp.Diff(nil, describe(err))); strings.Contains(text, "token-of-a-node") {
		w.t.Errorf("the error tells the user data: %s", text)
	}
}

func notYetSettled(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	for _, c := range []cloud.Cloud{c, w.process()} {
		if vm := w.ensure(c, m); vm.UserData == w.Keeps {
			w.t.Errorf("Ensure = %+v, want that the VM holds user data", vm)
		}
		if vm := w.observe(c, m); vm.UserData == w.Keeps {
			w.t.Errorf("Observe = %+v, want that the VM holds user data", vm)
		}
	}
	m.Settled = true // Observe changes nothing, whatever it is told
	w.observe(c, m)
	w.wantUserData(m, userDataOf(m.Key.Name), 0)
}

func settled(w world) {
	c, m, other := w.process(), w.machine("m"), w.machine("other")
	w.ensure(c, m)
	w.ensure(c, other)
	before := w.observe(c, m)
	before.UserData = false
	for _, c := range []cloud.Cloud{c, c, w.process()} {
		if diff := cmp.Diff(before, w.erase(c, m), unrecorded); diff != "" {
			w.t.Errorf("Ensure of a settled machine (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, w.observe(c, m), unrecorded); diff != "" {
			w.t.Errorf("Observe of a settled machine (-want +got):\n%s", diff)
		}
	}
	w.wantUserData(m, nil, 1)
	w.wantUserData(other, userDataOf(other.Key.Name), 1)
	if got := w.ComputerName(m.Name); got != m.Name {
		w.t.Errorf("the guest is called %q, want %q as before", got, m.Name)
	}
	edited := w.Inspect(m.Name)
	w.erase(c, m)
	w.ensure(c, m) // a machine that is said not to be settled any more gets nothing back
	if diff := cmp.Diff(edited, w.Inspect(m.Name)); diff != "" {
		w.t.Errorf("a VM that holds no user data is edited (-before +after):\n%s", diff)
	}
	w.remove(c, m)
	w.wantVMs(other.Name)
}

func settledStopped(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	w.PowerOff(m.Name)
	if vm := w.erase(w.process(), m); vm.State != cloud.Stopped {
		w.t.Errorf("Ensure = %+v, want %s", vm, cloud.Stopped)
	}
	w.wantUserData(m, nil, 1)
}

func writtenByGuest(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	w.erase(c, m)
	w.WriteUserData(m.Name, "the guest's own")
	for _, c := range []cloud.Cloud{c, w.process()} {
		for range 3 {
			w.erase(c, m)
			if vm := w.observe(c, m); vm.UserData {
				w.t.Errorf("Observe = %+v, but what a guest writes does not count", vm)
			}
		}
	}
	if n := w.Erasures(); n != 1 && !w.Keeps {
		w.t.Errorf("user data were taken away %d times, want once", n)
	}
}

func settledWithoutVM(w world) {
	c, m := w.process(), w.machine("m")
	m.Settled = true
	w.wantNoneFor(c, m)
	m.Settled = false
	w.ensure(c, m)
	w.Remove(m.Name)
	m.Settled, m.Asked = true, cloud.Existed
	w.wantNoneFor(c, m)
	w.wantNoneFor(w.process(), m)
	w.wantVMs()
}

func settledWhileCreating(w world) {
	c, m := w.process(), w.machine("m")
	release := w.Hold()
	if _, err := c.Ensure(w.t.Context(), m); err != nil {
		w.t.Fatalf("ensure: %v", describe(err))
	}
	m.Settled = true
	for range 3 {
		if vm, err := c.Ensure(w.t.Context(), m); err != nil || vm.State != cloud.Creating {
			w.t.Errorf("Ensure = %+v, %v, want that the VM is being made", vm, describe(err))
		}
	}
	release()
	w.erase(c, m)
	w.wantUserData(m, nil, 1)
	w.wantVMs(m.Name)
}

func settledStranger(w world) {
	c, m := w.process(), w.machine("m")
	w.Occupy(m.Name)
	w.WriteUserData(m.Name, "somebody else's")
	before := w.Inspect(m.Name)
	m.Settled, m.Asked = true, cloud.NeverAsked
	for _, c := range []cloud.Cloud{c, w.process()} {
		w.wantNoneFor(c, m)
	}
	if diff := cmp.Diff(before, w.Inspect(m.Name)); diff != "" {
		w.t.Errorf("the VM was changed (-before +after):\n%s", diff)
	}
}

// heard is what is told of a guest's report.
func (w world) heard(report string) string {
	if w.Mute {
		return ""
	}
	return report
}

// wantNoneFor wants Ensure to say that the machine has no VM.
func (w world) wantNoneFor(c cloud.Cloud, m cloud.Machine) {
	w.t.Helper()
	if vm, err := c.Ensure(w.t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		w.t.Errorf("Ensure = %+v, %v, want ErrNotFound", vm, describe(err))
	}
}

// wantUserData wants the guest to find these user data, and that some were taken away so many times.
func (w world) wantUserData(m cloud.Machine, want cloud.UserData, erasures int) {
	w.t.Helper()
	if w.Keeps {
		want, erasures = userDataOf(m.Key.Name), 0
	}
	if got := w.UserData(m.Name); string(got) != string(want) {
		w.t.Errorf("the guest finds %d bytes of user data, want %d", len(got), len(want))
	}
	if n := w.Erasures(); n != erasures {
		w.t.Errorf("user data were taken away %d times, want %d", n, erasures)
	}
}
