package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// The checks that others depend on.
const (
	checkServer      = "connection"
	checkCertificate = "certificate"
	checkLogin       = "login"
)

// oldest is the oldest major version that docs/install.md promises.
const oldest = 7

// maxSkew is how far clocks may be apart. Certificates and tokens are valid from the second on in which they are made.
const maxSkew = 30 * time.Second

// server logs in, and reports the step that failed.
func (r *inspection) server(ctx context.Context) {
	info, err := session.Do(ctx, r.Session, func(_ context.Context, c *vim25.Client) (types.AboutInfo, error) {
		return c.ServiceContent.About, nil
	})
	r.add(checkServer, "", func() (Result, string) {
		if err == nil || session.Untrusted(err) || refused(err) {
			return OK, r.address + " answers"
		}
		return Failed, fmt.Sprintf("%s does not answer as a vCenter (%s): correct the server, or open the way to its port, usually "+
			"443, from this computer and from the manager", r.address, cause(err))
	})
	r.add(checkCertificate, checkServer, func() (Result, string) {
		if session.Untrusted(err) {
			return Failed, r.messageOf(err)
		}
		return OK, "it is the one that the credentials trust"
	})
	r.add(checkLogin, checkCertificate, func() (Result, string) {
		if err != nil {
			return Failed, r.messageOf(err)
		}
		return OK, "the vCenter accepts the user name and password"
	})
	r.add("version", checkLogin, func() (Result, string) { return version(info) })
}

// refused reports whether the server has answered but refuses the account.
func refused(err error) bool {
	cloudErr, ok := errors.AsType[*cloud.Error](err)
	return ok && cloudErr.Kind == cloud.Denied
}

// cause is the innermost of what is known of a lost answer.
func cause(err error) string {
	if lost, ok := errors.AsType[*url.Error](err); ok {
		err = lost.Err
	} else if cloudErr, ok := errors.AsType[*cloud.Error](err); ok && cloudErr.Err != nil {
		err = cloudErr.Err
	}
	return cloud.Clean(err.Error(), maxCause)
}

func version(info types.AboutInfo) (Result, string) {
	if info.ApiType != "VirtualCenter" {
		return Failed, "this is an ESXi host, not a vCenter: write the vCenter that manages it"
	}
	name := "vCenter " + shown(info.Version)
	major, _, _ := strings.Cut(info.Version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldest {
		return Warning, fmt.Sprintf("%s is older than %d.0, the oldest supported version: upgrade it", name, oldest)
	}
	return OK, name
}

// clock compares that of the vCenter with this computer's.
func (r *inspection) clock(ctx context.Context) {
	r.add("clock", checkLogin, func() (Result, string) { return r.skew(ctx) })
}

func (r *inspection) skew(ctx context.Context) (Result, string) {
	sent := r.Now()
	serverTime, err := session.Do(ctx, r.Session, func(ctx context.Context, c *vim25.Client) (*time.Time, error) {
		return methods.GetCurrentTime(ctx, c)
	})
	if err != nil {
		return Failed, r.messageOf(err)
	}
	received := r.Now()
	skew := serverTime.Sub(sent.Add(received.Sub(sent) / 2)).Round(time.Second)
	if skew.Abs() > maxSkew {
		return Warning, fmt.Sprintf("the vCenter's clock and this computer's are %s apart: set both by NTP, because machines do not "+
			"join while their clocks differ from the control plane's", skew.Abs())
	}
	return OK, fmt.Sprintf("%s apart from this computer's", skew.Abs())
}
