package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

var addressesBehindVSwitch = check{
	name: "addresses-behind-vswitch",
	effect: "makes an HNS network on the adapter of Windows, and reads which addresses VMware Tools report before and " +
		"after",
	relies:  "stillThere in controllers/machine/guest.go: what is known of a running VM stays until the guest reports another one",
	decides: "each address from before is still reported",
	means: "VMware Tools leave out the adapters of a vSwitch (exclude-nics in tools.conf). The status keeps the addresses; " +
		"after a restart of the VM with another lease they are old ones, until the guest reports a new one.",
	run: func(ctx context.Context, r *runner) outcome {
		end := r.guestEnd(ctx)
		if end.report == nil {
			return unchecked("%v", end.err)
		}
		m, err := r.vm(ctx)
		if err != nil {
			return unchecked("%v", err)
		}
		seen := map[string]string{
			"addresses before": fmt.Sprint(len(end.addresses)), "warnings": strings.Join(end.report.Warnings, "; "),
		}
		switch {
		case len(end.addresses) == 0:
			return outcome{notChecked, "no address was reported before", seen}
		case slices.ContainsFunc(end.report.Warnings, func(text string) bool { return strings.Contains(text, "vswitch") }):
			return outcome{notChecked, "the HNS network could not be made; the image needs the Windows feature Containers", seen}
		}
		return r.compareAddresses(ctx, m, end.addresses, seen)
	},
}

// compareAddresses gives VMware Tools some time, because they report now and then.
func (r *runner) compareAddresses(ctx context.Context, m *machine, oldIPs []string, seen map[string]string) outcome {
	var lost []string
	err := poll(ctx, r.times.poll, r.times.settle, func(ctx context.Context) (bool, error) {
		vm, err := r.account.Observe(ctx, m.Machine)
		ips := internalIPs(vm)
		lost = slices.DeleteFunc(slices.Clone(oldIPs), func(ip string) bool { return slices.Contains(ips, ip) })
		return false, err
	})
	if err != nil && !isError(err, context.DeadlineExceeded) {
		return unchecked("%v", err)
	}
	nics, err := property[types.ArrayOfGuestNicInfo](ctx, r.witness, m.ref, "guest.net")
	if err != nil {
		return unchecked("%v", err)
	}
	for i, nic := range nics.GuestNicInfo {
		seen[fmt.Sprintf("adapter %d", i+1)] = fmt.Sprintf("%d addresses, device %d", len(nic.IpAddress), nic.DeviceConfigId)
	}
	return decide(seen, "all addresses are still reported",
		require(len(lost) == 0, "%d of %d addresses are not reported any more", len(lost), len(oldIPs)))
}
