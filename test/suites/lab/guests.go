package lab

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
)

// firstAddress of the guests is of a network for documentation: it is shown, and nothing is ever sent there.
var firstAddress = netip.MustParseAddr("198.51.100.10")

// guests plays the VMs of the vCenter. Each VM keeps its disk and its address from one power-on to the next.
type guests struct {
	lab *Lab

	mu        sync.Mutex
	next      netip.Addr
	addresses map[string]netip.Addr
}

// runGuests lets the guests live until stop.
func (l *Lab) runGuests() (stop func()) {
	g := &guests{lab: l, next: firstAddress, addresses: map[string]netip.Addr{}}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		if err := hypervisor.Run(ctx, l.VCenter, g.play); err != nil {
			fmt.Fprintf(l.options.Progress, "the guests end: %v\n", err)
		}
	})
	all.Go(func() {
		hypervisor.RunAzure(ctx, l.Azure, func(ctx context.Context, vm *hypervisor.AzureVM) {
			g.tell(ctx, vm.Name(), g.boot(ctx, vm, vm.Name(), vm.Address()))
		})
	})
	return func() { cancel(); all.Wait() }
}

func (g *guests) play(ctx context.Context, vm *hypervisor.VM) {
	name, err := vm.Name(ctx)
	if err == nil {
		err = g.boot(ctx, vm, name, g.address(name).String())
	}
	g.tell(ctx, name, err)
}

func (g *guests) tell(ctx context.Context, name string, err error) {
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(g.lab.options.Progress, "the guest of VM %s ends: %v\n", name, err)
	}
}

func (g *guests) boot(ctx context.Context, vm guest.VM, name, address string) error {
	simulated := &guest.Simulated{
		Dir:      filepath.Join(g.lab.GuestsDir(), name),
		BootTime: g.lab.options.BootTime,
		Address:  address,
		Network:  g.lab.Network,
	}
	if change := g.lab.options.Guest; change != nil {
		pool, err := g.lab.poolOf(ctx, name)
		if err != nil {
			return err
		}
		change(pool, simulated)
	}
	return simulated.Boot(ctx, vm)
}

// poolOf finds the pool whose machine has this computer name, which is the VM's name too.
func (l *Lab) poolOf(ctx context.Context, computer string) (string, error) {
	var machines infrav1.WindowsMachineList
	if err := l.Client.List(ctx, &machines); err != nil {
		return "", fmt.Errorf("list windowsmachines: %w", err)
	}
	for _, m := range machines.Items {
		if m.Status.ComputerName == computer {
			return m.Labels[clusterv1.MachineDeploymentNameLabel], nil
		}
	}
	return "", fmt.Errorf("no machine has the computer name %s", computer)
}

func (g *guests) address(name string) netip.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, has := g.addresses[name]; !has {
		g.addresses[name], g.next = g.next, g.next.Next()
	}
	return g.addresses[name]
}
