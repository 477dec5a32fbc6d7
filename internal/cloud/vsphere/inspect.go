package vsphere

import (
	"context"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inspect"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// Inspect compares a spec, of which there are to be so many machines, with the vCenter before anything is made there. It only
// reads, and logs out at the end. It is an error if the credentials have not the form that they must have.
func Inspect(
	ctx context.Context, credentials map[string][]byte, spec infrav1.VSphereVM, count int64, progress cloud.Progress,
) ([]cloud.Finding, error) {
	s, err := session.Open(credentials)
	if err != nil {
		return nil, err
	}
	found := inspect.Run(ctx, inspect.Subject{
		Session: s, Spec: spec, Count: count, Now: time.Now, Progress: progress,
		Server: cloud.Clean(strings.TrimSpace(string(credentials["server"])), seen.MaxName),
		Changes: func(placement places.Placement) []types.BaseVirtualDeviceConfigSpec {
			return request.AdapterChanges(placement, nil)
		},
	})
	return found, s.Close(context.WithoutCancel(ctx))
}
