package azure

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// faster is a stranger who makes an adapter just before our request for it arrives. If it loses answers, ours does not come.
type faster struct {
	policy.Transporter
	makes func()
	loses bool
}

func (f *faster) Do(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/networkInterfaces/") || f.makes == nil {
		return f.Transporter.Do(r)
	}
	f.makes()
	f.makes = nil
	answer, err := f.Transporter.Do(r)
	if err == nil && f.loses {
		return nil, errors.Join(errors.New("connection reset"), answer.Body.Close())
	}
	return answer, err
}

// TestAdapterTakenMeanwhile has a stranger's adapter of our name appear between our look and our request, which Azure refuses
// because of its precondition. The stranger's adapter is neither used nor changed, nor removed with the machine, also if we never
// learn what became of our request.
func TestAdapterTakenMeanwhile(t *testing.T) {
	for name, test := range map[string]struct{ loses, asks bool }{
		"refused":                           {asks: true},
		"the answer is lost":                {loses: true, asks: true},
		"the answer is lost, and a removal": {loses: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			m := s.machine("m")
			m.Spec.Azure.NetworkInterfaces[0].PrivateAddress = ownAddress
			before := map[string]string{}
			stranger := &faster{loses: test.loses, makes: func() {
				s.strangersAdapter(request.AdapterName(m, 0))
				before = s.things()
			}}
			s.through = func(d *door) policy.Transporter { stranger.Transporter = d; return stranger }
			a, got, began := s.watched(), map[string]*cloud.Error{}, s.Now()
			for stranger.makes != nil || test.asks && s.Now().Before(began.Add(3*time.Minute)) {
				_, err := a.Ensure(t.Context(), m)
				if refused, ok := errors.AsType[*cloud.Error](err); ok && refused.Kind != cloud.Later {
					got[refused.Error()] = refused
				}
				s.live(a, 5*time.Second)
			}
			if test.asks {
				s.refusedAs(got, infrav1.NameTakenReason, "already has a network interface named")
			}
			s.gone(a, m)
			s.live(a, 30*time.Minute)
			if diff := cmp.Diff(before, s.things()); diff != "" {
				t.Errorf("what there is (-before +after):\n%s", diff)
			}
			for _, call := range s.Calls() {
				if call.Method == http.MethodPut {
					expect.Same(t, "answer to PUT "+call.Class, http.StatusPreconditionFailed, call.Status)
				}
			}
		})
	}
}
