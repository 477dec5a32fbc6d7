package guests

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/odd"
)

// oddReports are those of an API server that sends anything.
type oddReports struct {
	client.Client
	*odd.Source
}

// Get decodes what comes, as client-go does.
func (o oddReports) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o.N(8) {
	case 1:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	case 2:
		return errors.New(o.Text())
	case 3:
		return json.Unmarshal(o.Object("nodes"), into)
	case 4:
		panic(o.Text())
	}
	return json.Unmarshal(o.JSON(said(odd.One(o.Source, key.Name, "win-0", o.Text()), o.Text())), into)
}

// FuzzReports: whatever is read, in whatever order, what is kept is bounded, and only a machine with a report is woken.
func FuzzReports(f *testing.F) {
	odd.Fuzz(f, checkReports)
}

func checkReports(t *testing.T, source *odd.Source) {
	heard := make(chan cloud.Key, 100)
	ears := &Ears{Heard: cloudtest.Into(heard), GetClient: func(context.Context, client.ObjectKey) (client.Client, error) {
		if source.Once(10) {
			return nil, errors.New("away")
		}
		return oddReports{Source: source}, nil
	}}
	all := []*report{{name: "win-0", machine: one, boots: true}, {name: source.Text(), machine: two}}
	for range 1 + source.N(20) {
		ears.pass(t.Context(), prod, all)
		for _, r := range all {
			if len(r.text) > plan.KeptReportBytes {
				t.Fatalf("%d bytes are kept", len(r.text))
			}
		}
	}
	close(heard)
	for woken := range heard {
		if woken == one && all[0].read.IsZero() || woken == two && all[1].read.IsZero() || woken != one && woken != two {
			t.Errorf("%v was woken", woken)
		}
	}
}
