package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	for _, kind := range []string{"MachineList", "WindowsBootstrapConfig"} {
		s := newFindingStage(t, nodeOf("win-0", "windows"))
		s.Keeps[0].(*Findings).Client = unread{s.management, kind}
		s.lists.objects[daemonSetsPath] = []client.Object{agent("a")}
		s.after(t, 0)
		expect.Same(t, "without "+kind, nothing, s.tells())
		expect.Same(t, "the next look", often, s.look(t))
	}
}

// unread fails to read a kind.
type unread struct {
	client.Reader
	kind string
}

// Get implements client.Reader.
func (u unread) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return cmp.Or(u.fails(o), u.Reader.Get(ctx, key, o, options...))
}

// List implements client.Reader.
func (u unread) List(ctx context.Context, o client.ObjectList, options ...client.ListOption) error {
	return cmp.Or(u.fails(o), u.Reader.List(ctx, o, options...))
}

func (u unread) fails(o any) error {
	if fmt.Sprintf("%T", o) == "*v1beta2."+u.kind || fmt.Sprintf("%T", o) == "*v1beta1."+u.kind {
		return errors.New("no answer")
	}
	return nil
}
