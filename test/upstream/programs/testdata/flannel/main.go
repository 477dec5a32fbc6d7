// Command netconf asks flanneld's own code for Windows what it does with a net-conf.json. It is built as a command of a copy of
// flannel's sources. Nothing of it is written anew: it parses as pkg/subnet/kube does, and has the backend that is named register
// its network until that wants the node's lease, which is after all of its own checks of the configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/backend/hostgw"
	"github.com/flannel-io/flannel/pkg/backend/vxlan"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"
)

// backends are those that flanneld has for Windows.
var backends = map[string]func(subnet.Manager, *backend.ExternalInterface) (backend.Backend, error){
	"vxlan": vxlan.New, "host-gw": hostgw.New,
}

// pods are what the controller manager gave the node; kube.go's AcquireLease wants them within the network.
var pods = net.IPNet{IP: net.IPv4(10, 244, 3, 0).To4(), Mask: net.CIDRMask(24, 32)}

func main() {
	if err := ask(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config, err := subnet.ParseConfig(string(text))
	if err != nil {
		return err
	}
	if err := subnet.CheckNetworkConfig(config); err != nil {
		return err
	}
	if !config.Network.ToIPNet().Contains(pods.IP) {
		return fmt.Errorf("%v does not have the node's pods, %v", config.Network, &pods)
	}
	made, ok := backends[config.BackendType]
	if !ok {
		return fmt.Errorf("no backend %q for Windows", config.BackendType)
	}
	address := net.IPv4(10, 1, 2, 3)
	node := &backend.ExternalInterface{Iface: &net.Interface{Name: "node"}, IfaceAddr: address, ExtAddr: address}
	registers, err := made(manager{}, node)
	if err != nil {
		return err
	}
	_, err = registers.RegisterNetwork(context.Background(), &sync.WaitGroup{}, config)
	if errors.Is(err, errLease) {
		return nil
	}
	return err
}

// manager is asked for a lease and for nothing else.
type manager struct{ subnet.Manager }

var errLease = context.Canceled // flannel hands on this one as it is

func (manager) AcquireLease(context.Context, *lease.LeaseAttrs) (*lease.Lease, error) {
	return nil, errLease
}
