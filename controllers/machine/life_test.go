package machine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		for range 12 {
			result, m := s.look(t)
			t.Log(result, rowOf(m), conditions.GetMessage(m, infrav1.ReadyCondition))
		}
		_ = fake.Image
		_ = ctrl.Result{}
		_ = types.UID("")
		_ = time.Now
		_ = strings.Cut
		_ = clusterv1.Machine{}
		expect.Same(t, "", 1, 1)
	})
}
