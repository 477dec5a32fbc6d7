// Package guest plays what runs in a VM of the lab: a Windows image with cloudbase-init, kubeadm and the kubelet. It carries
// out the user data that it finds, joins the real workload cluster, and reports as a real node does.
package guest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/agent"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Guest plays one VM. Boot runs from power-on until ctx ends, which is power-off; after that it may be called again, for the
// next power-on of the same disk. An error says that the guest could not be played, not that its bootstrap failed.
type Guest interface {
	Boot(ctx context.Context, vm VM) error
}

// VM is all that a guest gets from the hypervisor. It MUST NOT use anything else of the lab.
type VM interface {
	// Hardware is what the firmware tells.
	Hardware(ctx context.Context) (Hardware, error)
	// Guestinfo is `rpctool "info-get KEY"`, SetGuestinfo `rpctool "info-set KEY VALUE"`; KEY begins with "guestinfo.".
	Guestinfo(ctx context.Context, key string) (value string, found bool, err error)
	SetGuestinfo(ctx context.Context, key, value string) error
	// SetNetwork is what VMware Tools report of the guest: its name, and the adapters that they do not hide.
	SetNetwork(ctx context.Context, hostname string, adapters []Adapter) error
}

// Adapter is one as VMware Tools report it.
type Adapter struct {
	MAC       string
	Addresses []string
}

// Hardware is the size and the identity of a VM.
type Hardware struct {
	UUID      string
	CPUs      int
	MemoryMiB int64
	// MACs of the adapters, in their order.
	MACs []string
}

// Simulated is a Guest whose Windows is a folder. The zero value of every field but Dir is a plain image.
type Simulated struct {
	// Dir is the disk, and beside it the rest of Windows as JSON. It is read again at every power-on.
	Dir string
	// BootTime is how long each start of Windows takes.
	BootTime time.Duration
	// Address of the node; 127.0.0.1 when empty.
	Address string
	// Build and revision of Windows; 20348.2700 when empty.
	Build string
	// KubernetesVersion on the image; v1.36.3 when empty.
	KubernetesVersion string
	// DiskFreeMiB is what is free on disk C:; 110000 when zero.
	DiskFreeMiB int64
	// CloudbaseInit is the version on the image: 1.1.9, or 1.1.4 when empty. Others are not known here.
	CloudbaseInit string
	// Programs are added to the image, or take the place of those it has: path on the disk and what it does.
	Programs map[string]windows.Program
	// Without are programs that the image lacks, by their paths.
	Without []string
	// Updated is when the image got its last update of Windows; now, if it is zero.
	Updated time.Time
	// Files are on the disk of the image, by their paths.
	Files map[string]string
	// Image changes the rest of the image.
	Image func(s *windows.State)
	// Pulls are how long images take to come, by a part of their names.
	Pulls map[string]time.Duration
	// PullsAgain has each start of Windows pull them again, as for containers whose imagePullPolicy is Always.
	PullsAgain bool
	// PolicyTakes is how long a program takes to give HNS one policy of a network.
	PolicyTakes time.Duration
	// Network is what agnhost and the API server need; without it pods run for ever and nobody can ask the kubelet for logs.
	Network *traffic.Cluster
	// Clock is the machine's; one of Speed if it is nil.
	Clock windows.Clock
	// Domain is that of Active Directory which the guest's network knows.
	Domain Domain
	// Speed is how many seconds pass in the guest in one of the host; 0 is 1.
	Speed  int
	Faults Faults

	// images are those that were pulled.
	images  sync.Map
	once    sync.Once
	reboots chan struct{}
}

// Faults are what goes wrong. The zero value is a healthy guest.
type Faults struct {
	// Unreachable cuts the network of the guest: nothing answers.
	Unreachable bool
	// Blocked are programs that the firewall of Windows lets nowhere, such as kubelet.exe.
	Blocked []string
	// Redirect is the address that answers in place of all others, as that of a proxy that opens TLS.
	Redirect string
	// NoDHCP leaves new networks without an address.
	NoDHCP bool
	// Silent breaks the writing half of VMware Tools: no report and no address arrives.
	Silent bool
	// Kubeadm is the version of kubeadm, if the image has another one than the kubelet's.
	Kubeadm string
	// KubeletSick never becomes healthy.
	KubeletSick bool
	// Hangs is a program that never ends, such as kubeadm.exe.
	Hangs string
	// Ahead is how wrong the date is, from the start on.
	Ahead time.Duration
	// Instead may run something in place of a program, or change the world before it runs; nil is the program itself.
	Instead func(call *windows.Call) windows.Program
	// Features say how Windows features fail to install.
	Features windows.FeatureFaults
	// Throws are the doors of Windows that fail, each with the words it fails with.
	Throws map[string]string
	// Unanswered are the doors of Windows that never answer, and how often.
	Unanswered map[string]int
	// Locked are keys of the registry that a policy keeps everybody from writing.
	Locked []string
	// BadBlock turns a letter of the plan into another one on the disk.
	BadBlock bool
	// KillAgentIn is the name of a step in which the agent is killed once.
	KillAgentIn string
}

const (
	defaultAddress = "127.0.0.1"
	defaultBuild   = "20348.2700"
	defaultVersion = "v1.36.3"
	// taskRestart is when the task scheduler starts a killed agent again: a minute on a real machine.
	taskRestart = time.Second
)

// Boot is part of Guest.
func (g *Simulated) Boot(ctx context.Context, vm VM) error {
	hardware, err := vm.Hardware(ctx)
	if err != nil {
		return fmt.Errorf("read hardware: %w", err)
	}
	machine, err := windows.New(g.Dir)
	if err != nil {
		return err
	}
	switch {
	case g.Clock != nil:
		machine.Clock = g.Clock
	case g.Speed > 1:
		machine.Clock = windows.NewFastClock(g.Speed)
	}
	machine.PolicyTakes = g.PolicyTakes
	p := &power{guest: g, vm: vm, machine: machine, hardware: hardware, readdressed: make(chan struct{}, 1)}
	if err := p.install(); err != nil {
		return fmt.Errorf("lay out the image: %w", err)
	}
	for ctx.Err() == nil {
		if err := p.session(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Restart starts Windows once more, as the machine's button does. It waits until there is a Windows to restart.
func (g *Simulated) Restart(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case g.restarts() <- struct{}{}:
		return nil
	}
}

func (g *Simulated) restarts() chan struct{} {
	g.once.Do(func() { g.reboots = make(chan struct{}) })
	return g.reboots
}

// power is the guest while the VM is on.
type power struct {
	guest    *Simulated
	vm       VM
	machine  *windows.Machine
	hardware Hardware
	// agents counts the agents that run: the task scheduler starts no second one.
	agents sync.WaitGroup
	mu     sync.Mutex
	busy   bool
	killed bool
	// readdressed gets something when what VMware Tools report may have changed.
	readdressed chan struct{}
}

// session is one start of Windows, until it is started again or the power goes.
func (p *power) session(ctx context.Context) error {
	if err := p.machine.Boot(); err != nil {
		return err
	}
	if p.guest.PullsAgain {
		p.guest.images.Clear()
	}
	if p.machine.Clock.Sleep(ctx, p.guest.BootTime) != nil {
		return nil // powered off while it started
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var parts sync.WaitGroup
	parts.Go(func() { p.machine.RunServices(ctx) })
	parts.Go(func() { p.tellNetwork(ctx) })
	if p.machine.TaskEnabled(agent.TaskName) {
		p.startTask(ctx)
	}
	idle := make(chan struct{})
	parts.Go(func() {
		defer close(idle)
		p.cloudbaseInit(ctx)
	})
	select {
	case <-ctx.Done():
	case <-p.machine.Rebooting():
		p.grace(ctx, idle)
	case <-p.guest.restarts():
	}
	end()
	parts.Wait()
	p.agents.Wait()
	return nil
}

// grace is the time between a call of shutdown.exe and the end: enough for cloudbase-init to note that a script has ended.
func (p *power) grace(ctx context.Context, idle <-chan struct{}) {
	ctx, cancel := p.machine.Clock.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// effect is told of all that changes in Windows. The machine must not be asked here.
func (p *power) effect(effect string) {
	if changesNetwork(effect) {
		select {
		case p.readdressed <- struct{}{}:
		default: // it is about to look anyway
		}
	}
	p.spoil(effect)
}

// startTask starts the agent, unless it runs, and again after it was killed.
func (p *power) startTask(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		return
	}
	p.busy = true
	p.agents.Go(func() {
		defer p.idle()
		for p.agentDied(ctx) {
			if p.machine.Clock.Sleep(ctx, taskRestart) != nil {
				return
			}
		}
	})
}

func (p *power) idle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
}

// agentDied is one life of the agent; it says whether the agent was killed.
func (p *power) agentDied(ctx context.Context) bool {
	ended := make(chan error, 1)
	go func() {
		defer close(ended) // also when it is killed in the middle
		ended <- agent.Run(ctx, p.machine)
	}()
	err, lived := <-ended
	if err != nil && ctx.Err() == nil {
		p.note("agent: %v", err)
	}
	return !lived
}

// note writes down what is not reported to anything in the guest.
func (p *power) note(format string, args ...any) {
	line := time.Now().UTC().Format(time.RFC3339) + " " + fmt.Sprintf(format, args...) + "\r\n"
	_ = p.machine.Append(`C:\lab.log`, []byte(line)) // for people
}

func (g *Simulated) address() string { return cmp.Or(g.Address, defaultAddress) }

func (g *Simulated) version() string { return cmp.Or(g.KubernetesVersion, defaultVersion) }

func (g *Simulated) cloudbase() string { return cmp.Or(g.CloudbaseInit, imageCloudbase) }

func (g *Simulated) build() (build, revision string) {
	build, revision, _ = strings.Cut(cmp.Or(g.Build, defaultBuild), ".")
	return build, revision
}
