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

// errOtherServer is the error while an account that is of no use any more is still open.
var errOtherServer = &cloud.Error{
	Kind: cloud.Transient, Reason: infrav1.CloudUnreachableReason, Err: cloud.ErrOtherServer,
	Message: "another vCenter answers at the address in the Secret with the credentials, so nothing is done there for the " +
		"machines of the first one; the controller logs in anew for those of the other",
}

type serverKey struct{}

// Expect lets the calls of a context fail if the server is another one than this: a login may find another vCenter at the
// address, and a caller that has called Server before would take it for the first. An empty one is any.
func Expect(ctx context.Context, server string) context.Context {
	return context.WithValue(ctx, serverKey{}, server)
}

func expected(ctx context.Context, c *vim25.Client) error {
	want, _ := ctx.Value(serverKey{}).(string)
	return compare(want, c.ServiceContent.About.InstanceUuid)
}

// Verify returns an error if the vCenter is not this one, as far as is known. An empty one is any.
func (s *Session) Verify(server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return compare(server, s.server)
}

func compare(want, got string) error {
	if want == "" || got == "" || want == got {
		return nil
	}
	return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"another vCenter answers at the address than the one with the VM; the controller looks again")
}
