package cluster

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFindingsBreakOff: of a cluster that is away, of a look whose time is over, and without the Machines nothing is found.
func TestFindingsBreakOff(t *testing.T) {
	for _, path := range []string{nodesPath, daemonSetsPath} {
		for name, away := range map[string]error{"away": &workload.UnreachableError{Why: "is away"}, "late": context.Canceled} {
			s := newFindingStage(t, nodeOf("win-0", "windows"))
			s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
			ctx, end := context.WithCancel(t.Context())
			s.lists.breaks = func(now string) error {
				if now != path {
					return nil
				}
				if name == "late" {
					end()
				}
				return away
			}
			result, err := s.Reconcile(ctx, ctrl.Request{NamespacedName: prod})
			expect.OK(t, err)
			expect.Same(t, name+": the next look", retryDelay, result.RequeueAfter)
			expect.Same(t, name+" at "+path, nothing, s.tells())
			end()
		}
	}
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.Client = unlisted{s.management}
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.after(t, 0)
	expect.Same(t, "without configs", nothing, s.tells())
	expect.Same(t, "the next look", retryDelay, s.look(t))
}

// unlisted lists no configs.
type unlisted struct{ client.Reader }

// List implements client.Reader.
func (u unlisted) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, is := into.(*bootstrapv1.WindowsBootstrapConfigList); is {
		return errors.New("no answer")
	}
	return u.Reader.List(ctx, into, options...)
}
