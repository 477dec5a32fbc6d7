package controllers

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestUnanswered: a call to the API server that is never answered holds its machine no longer than a pass may take.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"management PATCH windowsmachines", "management PATCH windowsmachines/status", "management POST secrets",
		"management PATCH windowsbootstrapconfigs/status",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, world.Start{Credentials: password})
			options := s.options()
			options.Gate, options.LongestPass = &world.Gate{Unanswered: call}, 2*time.Second
			s.process = s.Run(t, options)
			m := s.machine("m")
			m.Create(t)
			m.Await(t, "running VM", world.Windows("Ready True Running"))
			if !options.Gate.Lost() {
				t.Error("the call was not made")
			}
		})
	}
}
