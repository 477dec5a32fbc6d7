package addresses

import (
	"context"
	"fmt"
	"testing"

	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// indexing is a manager whose indexer notes what is found by what, and refuses one.
type indexing struct {
	ctrl.Manager
	client.FieldIndexer

	refuses string
	fields  []string
}

func (i *indexing) GetFieldIndexer() client.FieldIndexer { return i }

func (i *indexing) IndexField(_ context.Context, o client.Object, field string, _ client.IndexerFunc) error {
	if field == i.refuses {
		return errAway
	}
	i.fields = append(i.fields, fmt.Sprintf("%T by %s", o, field))
	return nil
}

// TestIndex: a manager without one of the two indexes does not start.
func TestIndex(t *testing.T) {
	whole := &indexing{}
	expect.OK(t, (&Pools{}).Index(t.Context(), whole))
	want := []string{"*v1beta1.WindowsMachine by status.networkInterfaces.macAddress", "*v1beta2.IPAddress by spec.address"}
	expect.Same(t, "indexes", want, whole.fields)
	for _, field := range []string{byMAC, byAddress} {
		wantEnd(t, errAway, (&Pools{}).Index(t.Context(), &indexing{refuses: field}))
	}
	for address, want := range map[string][]string{"10.0.0.5": {"10.0.0.5"}, "::ffff:10.0.0.5": {"10.0.0.5"}, "nonsense": nil} {
		expect.Same(t, "index of "+address, want, ipOf(&ipamv1.IPAddress{Spec: ipamv1.IPAddressSpec{Address: address}}))
	}
}
