package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestClassify(t *testing.T) {
	for name, c := range map[string]struct {
		fault  types.BaseMethodFault
		kind   cloud.Kind
		reason string
	}{
		"wrong password":   {&types.InvalidLogin{}, cloud.Denied, infrav1.CredentialsRejectedReason},
		"expired password": {&types.PasswordExpired{}, cloud.Denied, infrav1.CredentialsRejectedReason},
		"privilege": {
			&types.NoPermission{PrivilegeId: "VirtualMachine.Provisioning.DeployTemplate"}, cloud.Denied,
			infrav1.CredentialsRejectedReason,
		},
		"session":                  {&types.NotAuthenticated{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"memory":                   {&types.InsufficientMemoryResourcesFault{}, cloud.Exhausted, infrav1.CapacityExhaustedReason},
		"standby cpu":              {&types.InsufficientStandbyCpuResource{}, cloud.Exhausted, infrav1.CapacityExhaustedReason},
		"no room on the datastore": {&types.NoDiskSpace{}, cloud.Exhausted, infrav1.CapacityExhaustedReason},
		"no host is up":            {&types.NoActiveHostInCluster{}, cloud.Exhausted, infrav1.CapacityExhaustedReason},
		"name":                     {&types.DuplicateName{}, cloud.Invalid, infrav1.NameTakenReason},
		"gone":                     {&types.ManagedObjectNotFound{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"busy":                     {&types.TaskInProgress{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"state":                    {&types.InvalidPowerState{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"host away":                {&types.HostNotConnected{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"cancelled":                {&types.RequestCanceled{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"datastore away":           {&types.InaccessibleDatastore{}, cloud.Transient, infrav1.CloudUnreachableReason},
		"too many cpus":            {&types.NotEnoughCpus{}, cloud.Invalid, infrav1.SpecInvalidReason},
		"argument": {
			&types.InvalidArgument{InvalidProperty: "spec.location.pool"}, cloud.Invalid, infrav1.SpecInvalidReason,
		},
		"unknown": {&types.SystemError{}, cloud.Transient, infrav1.CloudUnreachableReason},
	} {
		t.Run(name, func(t *testing.T) {
			body := &soap.Fault{}
			body.Detail.Fault = c.fault
			answer := Classify(soap.WrapSoapFault(body))
			failed := &types.LocalizedMethodFault{Fault: c.fault, LocalizedMessage: "on host-17"}
			ended := Classify(task.Error{LocalizedMethodFault: failed})
			cause := Classify(task.Error{LocalizedMethodFault: &types.LocalizedMethodFault{Fault: &types.GenericVmConfigFault{
				VmConfigFault: types.VmConfigFault{VimFault: types.VimFault{MethodFault: types.MethodFault{
					FaultCause: &types.LocalizedMethodFault{Fault: c.fault},
				}}},
			}}})
			for _, err := range []error{answer, ended} {
				cloudtest.WantError(t, err, c.kind, c.reason)
				if err.Error() != answer.Error() {
					t.Errorf("message is %q of a call and %q of a task", answer, err)
				}
			}
			if cause == nil {
				t.Error("a fault with a cause is no error")
			}
		})
	}
	for name, err := range map[string]error{
		"timeout": context.DeadlineExceeded, "broken": io.ErrUnexpectedEOF, "something": errors.New("dial tcp 10.0.0.1:49152: refused"),
	} {
		t.Run(name, func(t *testing.T) {
			cloudtest.WantError(t, Classify(err), cloud.Transient, infrav1.CloudUnreachableReason)
			if Classify(err).Error() != noAnswer.message {
				t.Errorf("message %q has something in it that changes", Classify(err))
			}
			if !errors.Is(Classify(err), err) {
				t.Error("the cause is lost")
			}
		})
	}
	if Classify(nil) != nil || !errors.Is(Classify(fmt.Errorf("x: %w", cloud.ErrNotFound)), cloud.ErrNotFound) {
		t.Error("Classify changes what is no error of vCenter")
	}
	own := cloud.Errorf(cloud.Throttled, "", "x")
	if got := Classify(own); !errors.Is(got, own) || kindOf(got) != cloud.Throttled {
		t.Errorf("Classify = %v, want the error that was classified already", got)
	}
}

// TestDetail: what a fault names stands in the sentence, and nothing does where it names nothing.
func TestDetail(t *testing.T) {
	on := &types.ManagedObjectReference{Type: "Folder", Value: "group-1"}
	for _, c := range []struct {
		fault types.BaseMethodFault
		want  string
	}{
		{&types.NoDiskSpace{}, ""},
		{&types.NoDiskSpace{Datastore: "ds1"}, " (ds1)"},
		{&types.InvalidArgument{}, ""},
		{&types.InvalidArgument{InvalidProperty: "spec.x"}, " (spec.x)"},
		{&types.NoPermission{}, ""},
		{&types.NoPermission{Object: on}, ""},
		{&types.NoPermission{PrivilegeId: "A.B"}, " A.B"},
		{&types.NoPermission{PrivilegeId: "A.B", Object: on}, " A.B on Folder group-1"},
		{&types.NoPermission{PrivilegeId: "A.B", MissingPrivileges: []types.NoPermissionEntityPrivileges{{}}}, " A.B"},
		{&types.NoPermission{MissingPrivileges: []types.NoPermissionEntityPrivileges{
			{Entity: *on, PrivilegeIds: []string{"C.D"}},
		}}, " C.D on Folder group-1"},
		{&types.NotAuthenticated{NoPermission: types.NoPermission{PrivilegeId: "A.B"}}, ""},
	} {
		if got := detail(soap.WrapVimFault(c.fault)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.fault, got, c.want)
		}
	}
}

// TestLongDetail: a name that a server makes up is cut.
func TestLongDetail(t *testing.T) {
	long := strings.Repeat("x", maxDetail+1)
	cut := strings.Repeat("x", maxDetail-3) + "..."
	expect.Same(t, "a privilege", " "+cut, lacking(&types.NoPermission{PrivilegeId: long}))
	expect.Same(t, "a datastore", " ("+cut+")", detail(soap.WrapVimFault(&types.NoDiskSpace{Datastore: long})))
	expect.Same(t, "a property", " ("+cut+")", detail(soap.WrapVimFault(&types.InvalidArgument{InvalidProperty: long})))
	on := &types.ManagedObjectReference{Value: long[:maxDetail]}
	expect.Same(t, "a privilege and an object", " "+cut+" on  "+cut[1:],
		lacking(&types.NoPermission{PrivilegeId: long, Object: on}))
}

// TestKnownErrors: what is no fault of the vCenter stays what it is, and a log shows the cause, or else the sentence.
func TestKnownErrors(t *testing.T) {
	if got := Classify(cloud.ErrNotFound); !errors.Is(got, cloud.ErrNotFound) || kindOf(got) != "" {
		t.Errorf("Classify(ErrNotFound) = %v", got)
	}
	for want, known := range map[string]*cloud.Error{
		"a cause":    {Message: "a sentence", Err: errors.New("a cause")},
		"a sentence": {Message: "a sentence"},
	} {
		shown, _ := errors.AsType[*cloud.Error](at("vc").withServer(known))
		expect.Same(t, "log", want, shown.Err.Error())
	}
}
