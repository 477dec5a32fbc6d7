package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// TestContract has a manager whose clock is not Azure's.
func TestContract(t *testing.T) {
	for _, ahead := range proved.Clocks() {
		t.Run("clock "+ahead.String(), func(t *testing.T) { contract(t, ahead) })
	}
}

func contract(t *testing.T, ahead time.Duration) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Harness {
		s := &contractStage{stage: newStage(t), ahead: ahead}
		s.Change(func(in *armsim.Inside) { in.Network.Address = 1000 * time.Hour }) // until the test gives one
		return cloudtest.Harness{
			Provider:         contractProvider{Provider{login: s.login}, s},
			Credentials:      s.credentials(),
			WrongCredentials: with(s.credentials(), "secret", "wrong"),
			DeadCredentials:  with(s.credentials(), "endpoint", "https://"+deadAddress(t)),
			AnotherServer:    s.another,
			Spec:             s.spec(),
			Misspell:         func(spec *infrav1.WindowsMachineSpec) { spec.Azure.Image.ID = armsim.GalleryImage + "x" },
			Size:             cloud.Size{CPUs: 4, MemoryMiB: 16384},
			ImageVersion:     "1.36.3",
			Keeps:            true,
			Mute:             true,
			Hold:             s.hold,
			LoseAnswer:       func() { s.lose(func(c armsim.Call) bool { return c.Method == http.MethodPut }) },
			Cut:              func() { s.lose(func(c armsim.Call) bool { return c.Class == "vm list" }) },
			Sessions:         func() int { return int(s.open.Load()) },
			VMs:              func() []string { return s.Names(armsim.Group, compute.VM) },
			Inspect:          s.inspect,
			Occupy:           s.occupy,
			Copy:             s.copied,
			Unmark:           func(name string) { s.ReplaceTags(armsim.VMID(name), nil) },
			Replace:          s.replace,
			Displace:         s.displace,
			Return: func(name string) {
				s.MoveVM(s.elsewhere(name), armsim.Group)
				s.ReplaceTags(armsim.VMID(name), s.displaced)
			},
			PowerOff: func(name string) {
				s.Shutdown(armsim.VMID(name))
				s.Advance(3 * time.Minute)
			},
			Remove: func(name string) {
				s.Change(func(in *armsim.Inside) { in.Compute.Delete(armsim.VMID(name), true) })
				s.Advance(11 * time.Minute)
			},
			Address:       s.address,
			Report:        func(string, string) {},
			WriteUserData: func(string, string) {},
			Erasures:      func() int { return 0 },
			UserData:      func(name string) []byte { return s.host(name).CustomData },
			ComputerName:  func(name string) string { return s.host(name).ComputerName },
		}
	})
}

// contractStage is a stage for the contract, where time passes with each call and while a watch looks.
type contractStage struct {
	*stage
	held  atomic.Bool
	ahead time.Duration
	// other is another Azure, where as much time passes; nil if there is none.
	other *stage
	// displaced are the tags that the VM had which was displaced.
	displaced map[string]string
}

// contractProvider connects long after the last process did, so that no request of that one can arrive any more.
type contractProvider struct {
	Provider
	stage *contractStage
}

func (p contractProvider) Connect(_ string, credentials map[string][]byte) (cloud.Cloud, error) {
	who, err := p.login(credentials)
	if err != nil {
		return nil, err
	}
	a, err := open(who, func() time.Time { return p.stage.Now().Add(p.stage.ahead) })
	if err != nil {
		return nil, err
	}
	a.opened = a.now().Add(-time.Hour)
	a.ticks = p.stage.ticks
	return patient{a, p.stage}, nil
}

// ticks move the clock of the stage: a second of ours is an hour there.
func (s *contractStage) ticks() (<-chan time.Time, func()) {
	ticks, done := make(chan time.Time), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			s.pass(3 * time.Second)
			select {
			case <-done:
				return
			case ticks <- s.Now():
			}
		}
	}()
	return ticks, func() { close(done) }
}

// pass lets time pass, unless everything is held.
func (s *contractStage) pass(d time.Duration) {
	if s.held.Load() {
		return
	}
	s.Advance(d)
	if s.other != nil {
		s.other.Advance(d)
	}
}

func (s *contractStage) another() map[string][]byte {
	s.other = newStage(s.t)
	return s.other.credentials()
}

// patient calls a cloud as the controllers do, again and again while time passes. That a VM is not there takes two looks, half a
// minute apart; so that there is one answer, a method is called until they are over.
type patient struct {
	*account
	stage *contractStage
}

func (p patient) Observe(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	return p.await(m, func() (cloud.VM, error) { return p.account.Observe(ctx, m) })
}

func (p patient) await(m cloud.Machine, ask func() (cloud.VM, error)) (cloud.VM, error) {
	for {
		p.stage.pass(20 * time.Second)
		vm, err := ask()
		there := p.stage.has(m.Name) || p.stage.other != nil && p.stage.other.has(m.Name)
		if err != nil || vm.State != cloud.Creating || there {
			return vm, err
		}
	}
}

func (p patient) Ensure(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	return p.await(m, func() (cloud.VM, error) { return p.account.Ensure(ctx, m) })
}

func (p patient) Delete(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	p.stage.pass(20 * time.Second)
	return p.account.Delete(ctx, m)
}

func (s *stage) has(name string) (there bool) {
	s.Change(func(in *armsim.Inside) { there = in.World.Find(armsim.VMID(name)) != nil })
	return there
}

// hold stops the time.
func (s *contractStage) hold() func() {
	s.held.Store(true)
	return func() { s.held.Store(false) }
}

// lose lets the answer of one call get lost.
func (s *contractStage) lose(which func(armsim.Call) bool) {
	s.Change(func(in *armsim.Inside) {
		in.Faults.Lose = func(c armsim.Call) bool {
			if !which(c) {
				return false
			}
			in.Faults.Lose = nil
			return true
		}
	})
}

func (s *contractStage) inspect(name string) (text string) {
	s.Advance(10 * time.Minute) // what is under way ends
	s.Change(func(in *armsim.Inside) {
		if r := in.World.Find(armsim.VMID(name)); r != nil {
			content, _ := json.Marshal(r.Body)
			text = string(content) + r.Etag()
		}
	})
	return text
}

// occupy makes a VM of that name that is not ours.
func (s *contractStage) occupy(name string) {
	m := s.machine("another")
	m.Name = name
	m.Key.Name, m.ProviderID = "", ""
	s.put(m, name)
	s.Advance(10 * time.Minute)
}

// put makes a VM by the marks of a machine, without an account.
func (s *contractStage) put(m cloud.Machine, name string) {
	s.t.Helper()
	c := expect.Got(calls.New(expect.Got(s.login(s.credentials()))(s.t), s.Now))(s.t)
	defer c.Close()
	id := homeOf(s.machine("any")).Parent().VM(name)
	if err := c.CreateVM(s.t.Context(), id, func(ctx context.Context) (any, error) {
		where, err := placementOf(s.machine("any"))
		if err != nil {
			return nil, err
		}
		return body(ctx, request.Want{Machine: m, Placement: where, Choice: request.Choice{Size: m.Spec.Azure.VMSize}})
	}).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// copied makes a VM with the tags of another.
func (s *contractStage) copied(name, as string) {
	s.Change(func(in *armsim.Inside) {
		r := in.World.Find(armsim.VMID(name))
		body := doc.Clone(r.Body)
		in.World.Put(armsim.VMID(as), body)
	})
}

// replace has the VM be another one with all that it has, as one that Azure Backup restored.
func (s *contractStage) replace(name string) {
	s.Change(func(in *armsim.Inside) {
		r := in.World.Find(armsim.VMID(name))
		doc.Set(r.Body, "99999999-aaaa-bbbb-cccc-555555555555", "properties", "vmId")
		in.World.Touch(r)
	})
}

// displace moves a VM to another group, whose policy replaces its tags.
func (s *contractStage) displace(name string) {
	s.displaced = s.Tags(armsim.VMID(name))
	s.ReplaceTags(s.MoveVM(armsim.VMID(name), otherName), map[string]string{"costcenter": "4711"})
}

func (s *contractStage) elsewhere(name string) doc.ID {
	id := armsim.VMID(name)
	id.Group = otherName
	return id
}

func (s *contractStage) address(name, value string) {
	s.Change(func(in *armsim.Inside) {
		for _, id := range adapters(in, name) {
			nic := in.World.FindText(id)
			for _, ip := range doc.List(nic.Body, "properties", "ipConfigurations") {
				doc.Set(ip, value, "properties", "privateIPAddress")
			}
			in.World.Touch(nic)
		}
	})
	s.Advance(20 * time.Second)
}

// host is what the guest of a VM finds.
func (s *contractStage) host(name string) (h compute.Host) {
	s.Change(func(in *armsim.Inside) { h = in.Compute.Drive(armsim.VMID(name)) })
	return h
}

// deadAddress is one that nobody listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func with(credentials map[string][]byte, key, value string) map[string][]byte {
	credentials[key] = []byte(value)
	return credentials
}

// told has the errors of a credential as the account's login tells them.
type told struct{ azcore.TokenCredential }

func (c told) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, o)
	if refused, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok && refused.RawResponse != nil {
		e := cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "Entra ID refuses the credentials: correct them")
		e.Err = err
		return token, e
	}
	return token, err
}
