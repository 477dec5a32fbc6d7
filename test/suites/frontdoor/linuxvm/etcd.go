package linuxvm

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// Where each machine of a control plane has its member of etcd and its API server (kubeadm v1.36.3, cmd/kubeadm/app/constants).
const (
	etcdPort      = 2379
	apiServerPort = 6443
)

// etcd is that of a cluster: a real member on each machine of the control plane, which the kubeadm control plane provider asks
// and removes. The API server is one process for all of these machines, so it asks by an address that leads to one of them.
type etcd struct {
	front *front
	// pki is the folder with the certificates of the first machine. All members show that one: its clients ask who issued it, and
	// not for whom.
	pki string
	// members by the names of their machines.
	members map[string]*servers.Etcd
}

// lead has the front lead to the members that are there.
func (e *etcd) lead() {
	var behind []string
	for _, member := range e.members {
		behind = append(behind, strings.TrimPrefix(member.URL, "http://"))
	}
	e.front.leadTo(behind...)
}

func (e *etcd) end() {
	if e.front != nil {
		e.front.close()
	}
}

// firstEtcd is the part of kubeadm init that starts etcd.
func (vm *VM) firstEtcd(ctx context.Context, name, pki string) (url string, err error) {
	front, err := newFront(context.WithoutCancel(ctx), "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	vm.cluster.mu.Lock()
	vm.cluster.etcd = etcd{front: front, pki: pki, members: map[string]*servers.Etcd{}}
	vm.cluster.mu.Unlock()
	return "http://" + front.listener.Addr().String(), vm.startEtcd(ctx, name, pki, nil)
}

// joinEtcd is the phase etcd-join of kubeadm join.
func (vm *VM) joinEtcd(ctx context.Context, name string) error {
	vm.cluster.mu.Lock()
	pki, members := vm.cluster.etcd.pki, vm.cluster.etcd.members
	var one *servers.Etcd
	for _, member := range members {
		one = member
	}
	vm.cluster.mu.Unlock()
	if one == nil {
		return errors.New("could not retrieve the list of etcd endpoints")
	}
	return vm.startEtcd(ctx, name, pki, one)
}

func (vm *VM) startEtcd(ctx context.Context, name, pki string, of *servers.Etcd) error {
	member, err := servers.StartEtcd(ctx, servers.EtcdOptions{
		Binaries: vm.cluster.vms.Binaries, Dir: vm.disk.path("/var/lib/etcd"), Name: name, PKI: pki, Of: of,
	})
	if err != nil {
		return err
	}
	vm.mu.Lock()
	vm.etcd = member
	vm.mu.Unlock()
	if err := vm.listen(etcdPort, member.Address); err != nil {
		return err
	}
	vm.cluster.mu.Lock()
	defer vm.cluster.mu.Unlock()
	vm.cluster.etcd.members[vm.Name] = member
	vm.cluster.etcd.lead()
	return nil
}

// listen has a real server listen at a port of the machine.
func (vm *VM) listen(port uint16, behind string) error {
	address, err := netip.ParseAddr(vm.Address)
	if err != nil {
		return err
	}
	place := traffic.Place{Host: &traffic.Host{Name: vm.Name, Address: address}}
	leave, err := vm.cluster.vms.Network.Listen(place, port, behind)
	if err != nil {
		return err
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.leave = append(vm.leave, leave)
	return nil
}

// switchedOff ends what listens on the machine, and its member of etcd.
func (vm *VM) switchedOff() error {
	vm.mu.Lock()
	member, leave := vm.etcd, vm.leave
	vm.mu.Unlock()
	for _, end := range leave {
		end()
	}
	if member == nil {
		return nil
	}
	vm.cluster.mu.Lock()
	delete(vm.cluster.etcd.members, vm.Name)
	vm.cluster.etcd.lead()
	vm.cluster.mu.Unlock()
	return member.Stop()
}
