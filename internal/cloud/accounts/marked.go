package accounts

import "github.com/capwin/cluster-api-provider-windows/internal/cloud"

// Marked is a VM with our marks that an account sees.
type Marked struct {
	cloud.Marked
	// Server is the address of the account's server, and Secret one of those in the namespace of the VM's mark that use the account.
	Server string
	Secret cloud.Key
}

// Marked shows the VMs with our marks that the open accounts see. A namespace is shown only what an account of its own Secrets
// sees, whatever is written on a VM. It returns the Secrets whose account does not know at present which VMs there are.
func (r *Register) Marked(show func(Marked)) (blind map[cloud.Key]bool) {
	blind = map[cloud.Key]bool{}
	for c, secrets := range r.inUse() {
		vms, ok := c.Marked()
		if !ok {
			for _, secret := range secrets {
				blind[secret] = true
			}
			continue
		}
		server := c.Health().Server
		for _, vm := range vms {
			if secret, ok := secrets[vm.Key.Namespace]; ok {
				show(Marked{vm, server, secret})
			}
		}
	}
	return blind
}

// inUse returns the open accounts and, for each namespace that uses one, the Secret that has done so for the longest time.
func (r *Register) inUse() map[cloud.Cloud]map[string]cloud.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	secrets := map[cloud.Cloud]map[string]cloud.Key{}
	for _, a := range r.open {
		first := map[string]secretOf{}
		for holder, h := range a.holders {
			if oldest, ok := first[holder.secret.Namespace]; !ok || h.order < a.holders[oldest].order {
				first[holder.secret.Namespace] = holder
			}
		}
		secrets[a.cloud] = map[string]cloud.Key{}
		for namespace, holder := range first {
			secrets[a.cloud][namespace] = holder.secret
		}
	}
	return secrets
}
