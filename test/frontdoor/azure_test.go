package frontdoor

import (
	"context"

	"github.com/capwin/cluster-api-provider-windows/test/frontdoor/linuxvm"
)

// azure is the simulated Azure as its Linux VMs see it.
type azure struct{ flags []string }

func (*azure) Network(context.Context, linuxvm.AzureNetwork) (string, int, error) { return "", 0, nil }

func (*azure) Ensure(context.Context, string, string) (id, system, address string, err error) {
	return "", "", "", nil
}

func (*azure) Destroy(context.Context, string) error { return nil }
