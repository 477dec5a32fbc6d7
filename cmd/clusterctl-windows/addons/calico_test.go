package addons

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// ready is a Calico that lacks nothing in a VXLAN.
func ready(changes ...func(*Calico)) *Calico {
	c := &Calico{Configured: true, StrictAffinity: true, Endpoint: true, Installation: &Installation{ServiceCIDRs: prod.Services}}
	c.Installation.CalicoNetwork.WindowsDataplane, c.Installation.CalicoNetwork.BGP = "HNS", "Disabled"
	c.Installation.CalicoNetwork.IPPools = []IPPool{
		{CIDR: "10.244.0.0/16", Encapsulation: "VXLAN"}, {CIDR: "fd00::/64", Encapsulation: "None"},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

// TestSettings: the commands for a Calico that nobody asked, and for what one lacks.
func TestSettings(t *testing.T) {
	bridge := calico(with("L2Bridge", "Calico", ""))
	golden(t, "calico-overlay.sh", expect.Got(Settings([]Pool{calico()}, prod, nil))(t))
	hollow := Cluster{Namespace: "default", Name: "prod", Host: "fd00::10", Port: 6443}
	golden(t, "calico-l2bridge.sh", expect.Got(Settings([]Pool{bridge}, hollow, nil))(t))
	golden(t, "calico-nothing.sh", expect.Got(Settings([]Pool{calico()}, prod, ready()))(t))
	golden(t, "calico-stock.sh", expect.Got(Settings([]Pool{calico()}, prod, ready(func(c *Calico) {
		*c = Calico{OwnKinds: true, Installation: &Installation{}}
		c.Installation.CalicoNetwork.BGP = "Enabled"
		c.Installation.CalicoNetwork.IPPools = []IPPool{
			{CIDR: "fd00::/64", Encapsulation: "None"}, {CIDR: "10.244.0.0/16", Encapsulation: "IPIP"},
		}
	})))(t))
	golden(t, "calico-affinity.sh", expect.Got(Settings([]Pool{calico()}, Cluster{}, ready(func(c *Calico) {
		c.StrictAffinity = false
	})))(t))
	golden(t, "calico-own.sh", expect.Got(Settings([]Pool{calico()}, Cluster{}, ready(func(c *Calico) {
		c.OwnKinds, c.StrictAffinity = true, false
	})))(t))
}

// TestSettingsRefused: a script for a shell has no text of an object that could be a command.
func TestSettingsRefused(t *testing.T) {
	host := func(name string) Cluster { c := prod; c.Host = name; return c }
	for want, c := range map[string]struct {
		pools   []Pool
		cluster Cluster
		there   *Calico
	}{
		windows + " (L2Bridge with Flannel): the settings are Calico's; name it with --mode Overlay (or L2Bridge) " +
			"and --cni Calico, or write it into spec.network": {
			[]Pool{calico(with("L2Bridge", "Flannel", ""))}, prod, nil,
		},
		"MachineDeployment default/b: the mode of Calico is L2Bridge, but for MachineDeployment default/windows it is Overlay, and a " +
			"cluster has one for all; choose a pool with --machine": {
			[]Pool{calico(), calico(named("b"), with("L2Bridge", "Calico", ""))}, prod, nil,
		},
		"the address of the API server is missing, and Calico's Windows nodes need it; give it with --endpoint, such as " +
			"10.0.0.10:6443": {
			[]Pool{calico()}, host(""), nil,
		},
		`the host "'; reboot; '" of the API server is neither a name nor an address; correct spec.controlPlaneEndpoint.host of the ` +
			"Cluster, or --endpoint": {
			[]Pool{calico()}, host("'; reboot; '"), nil,
		},
		`"'$(reboot)'" is not a network; write a CIDR, such as 10.96.0.0/12`: {
			[]Pool{calico()}, Cluster{Host: "a", Port: 1, Pods: []string{"'$(reboot)'"}}, nil,
		},
		`the cluster has no Installation "default" of operator.tigera.io; install Calico by its operator first`: {
			[]Pool{calico()}, prod, &Calico{},
		},
	} {
		_, err := Settings(c.pools, c.cluster, c.there)
		expect.Same(t, "refusal", want, textOf(err))
	}
}
