package accounts

import (
	"context"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// moved is an account whose address leads to another server by now.
type moved struct{ cloud.Cloud }

// Watch is part of cloud.Cloud.
func (moved) Watch(context.Context, func(...cloud.Key)) error { return cloud.ErrOtherServer }

type movedProvider struct{ fake.Provider }

// Connect is part of cloud.Provider.
func (p movedProvider) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	c, err := p.Provider.Connect(namespace, credentials)
	return &moved{c}, err
}

// TestOtherServer: an account that is of no use any more is closed, and the next machine opens one at the server that answers.
func TestOtherServer(t *testing.T) {
	s := newStage(t)
	get := func(secret string) cloud.Cloud {
		c, err := s.Get(movedProvider{fake.Provider{World: s.world}}, key("a", secret), password("secret"), false)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := get("one")
	if get("two") != first {
		t.Fatal("two Secrets have two accounts")
	}
	wait.Until(t, "the account to be closed", func() (any, bool) { n := s.accounts(); return n, n == 0 })
	if get("one") == first || get("two") != get("one") {
		t.Error("a Secret has the account that was closed")
	}
}
