package controllers

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestDeletedMeanwhile deletes an object at the moment in which a controller, which has read it, is about to hold it: what
// would be made then would never be removed.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		effect     string
		controller string
		object     func(*world.Machine) client.Object
		made       func(*stage) int
	}{
		"the machine before its VM": {
			"management PATCH windowsmachines annotations,finalizers #1", world.Machines,
			func(m *world.Machine) client.Object { return m.Windows },
			func(s *stage) int { return s.cloud.Calls()["create"] },
		},
		"the config before its token": {
			"management PATCH windowsbootstrapconfigs finalizers #1", world.Configs,
			func(m *world.Machine) client.Object { return m.Config },
			func(s *stage) int { return count("workload POST secrets", s.process) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, world.Start{Credentials: password})
			m := s.machine("m")
			deleted := make(chan error, 1)
			options := s.options()
			options.Gate = &world.Gate{Before: func(effect string) {
				if effect == c.effect {
					deleted <- s.Client.Delete(context.Background(), c.object(m))
				}
			}}
			s.process = s.Run(t, options)
			m.Create(t)
			expect.OK(t, <-deleted)
			wait.Eventually(t, "deletion in the cache", func(ctx context.Context) error {
				err := s.process.Caches[c.controller].Get(ctx, m.Key, c.object(m))
				if err == nil {
					return errors.New("it is there")
				}
				return client.IgnoreNotFound(err)
			})
			s.look(t, m)
			if c.made(s) > 0 {
				t.Errorf("something was made that nobody will remove: %v", s.process.Gate.Effects())
			}
		})
	}
}
