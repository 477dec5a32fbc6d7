package session

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
)

// counted counts the calls of a session, by how each one ended, in the metrics.
type counted struct{ soap.RoundTripper }

// RoundTrip is part of soap.RoundTripper.
func (c counted) RoundTrip(ctx context.Context, request, answer soap.HasFault) error {
	start := time.Now()
	err := c.RoundTripper.RoundTrip(ctx, request, answer)
	metrics.Call(infrav1.CloudVSphere, methodOf(request), outcome(ctx, err), time.Since(start))
	return err
}

// otherMethod is the label of a method that is not in the list.
const otherMethod = "other"

// labels are the methods that we call, in the order of a session's life.
var labels = []string{
	"RetrieveServiceContent", "Login", "CreatePropertyCollector", "CreateContainerView", "CreateListView", "CreateFilter",
	"WaitForUpdatesEx",
	"FindByInventoryPath", "FindByUuid", "FindChild", "RetrieveProperties", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx",
	"CancelRetrievePropertiesEx", "QueryEvents", "CurrentTime",
	"CloneVM_Task", "PowerOnVM_Task", "ReconfigVM_Task", "PowerOffVM_Task", "Destroy_Task", "ModifyListView",
	"DestroyPropertyFilter", "DestroyPropertyCollector", "DestroyView", "Logout",
}

// methodOf is the name of the method that a request is for.
func methodOf(request soap.HasFault) string {
	name := strings.TrimSuffix(reflect.TypeOf(request).Elem().Name(), "Body")
	if !slices.Contains(labels, name) {
		return otherMethod
	}
	return name
}

// outcome is how a call ended: well, as a kind of error, or because we needed it no longer.
func outcome(ctx context.Context, err error) string {
	if err == nil {
		return metrics.OK
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return metrics.Canceled
	}
	if cloudErr, ok := errors.AsType[*cloud.Error](Classify(err)); ok {
		return strings.ToLower(string(cloudErr.Kind))
	}
	return strings.ToLower(string(cloud.Transient))
}
