package session

import (
	"context"

	"github.com/vmware/govmomi/vim25"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Server is the vCenter's instance UUID. It makes a call only if there was no session yet.
func (s *Session) Server(ctx context.Context) (string, error) {
	s.mu.Lock()
	server, closed := s.server, s.closed
	s.mu.Unlock()
	if server != "" && !closed {
		return server, nil
	}
	return Do(ctx, s, func(_ context.Context, c *vim25.Client) (string, error) {
		return c.ServiceContent.About.InstanceUuid, nil
	})
}

// User is the name that the vCenter has for the account's user, once logged in.
func (s *Session) User() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user
}

// errOtherServer is the error while an account that is of no use any more is still open.
var errOtherServer = &cloud.Error{
	Kind: cloud.Transient, Reason: infrav1.CloudUnreachableReason, Err: cloud.ErrOtherServer,
	Message: "another vCenter answers at the address in the Secret with the credentials, so nothing is done there for the " +
		"machines of the first one; the controller logs in anew for those of the other",
}

// Verify returns an error if the vCenter is not this one, as far as is known. An empty one is any.
func (s *Session) Verify(server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server == "" || s.server == "" || server == s.server {
		return nil
	}
	return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"another vCenter answers at the address than the one with the VM; the controller looks again")
}
