package vsphere

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The firmware has a VM's UUID as bytes. Windows reads the first three of its groups as numbers, lowest byte first, and the
// kubelet takes that from the registry (pkg/kubelet/winstats/perfcounter_nodestats_windows.go, v1.36.3). The cloud provider turns
// the groups round again and looks for a VM with this BIOS UUID (ConvertK8sUUIDtoNormal and RegisterNode in
// pkg/cloudprovider/vsphere of cloud-provider-vsphere), whose UUID is then the Node's providerID.
func TestNodeLeadsToItsVM(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	m := s.machine("m")
	running(t, s.account(), m)
	inWindows := strings.ToUpper(turned(t, seen.IDOf(m)))
	if strings.EqualFold(inWindows, seen.IDOf(m)) {
		t.Fatalf("Windows shows the UUID %s as it is: the test shows nothing", inWindows)
	}
	inCloudProvider := turned(t, inWindows)
	found, err := object.NewSearchIndex(s.Client).FindByUuid(t.Context(), nil, inCloudProvider, true, new(false))
	if err != nil || found == nil {
		t.Fatalf("VM of BIOS UUID %s: %v, %v", inCloudProvider, found, err)
	}
	expect.Same(t, "providerID", m.ProviderID, seen.Scheme+inCloudProvider)
}

// turned turns the bytes of the first three groups round.
func turned(t *testing.T, text string) string {
	t.Helper()
	id := expect.Got(uuid.Parse(text))(t)
	for _, group := range [][]byte{id[0:4], id[4:6], id[6:8]} {
		slices.Reverse(group)
	}
	return id.String()
}
