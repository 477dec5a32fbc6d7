package cluster

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
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
			expect.Same(t, name+": the next look", often, result.RequeueAfter)
			expect.Same(t, name+" at "+path, nothing, s.tells())
			end()
		}
	}
	s := newFindingStage(t, nodeOf("win-0", "windows"))
	s.Keeps[0].(*Findings).Client = unlisted{}
	s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
	s.after(t, 0)
	expect.Same(t, "without configs", nothing, s.tells())
	expect.Same(t, "the next look", often, s.look(t))
}

// unlisted lists nothing.
type unlisted struct{ client.Reader }

// List implements client.Reader.
func (unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}
