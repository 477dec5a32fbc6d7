package session

import (
	"context"
	"errors"
	"reflect"
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
	outcome, err := metrics.OK, c.RoundTripper.RoundTrip(ctx, request, answer)
	if err != nil {
		outcome = failure(ctx, err)
	}
	metrics.Call(infrav1.CloudVSphere, methodOf(request), outcome, time.Since(start))
	return err
}

// methodOf is the name of the method that a request is for.
func methodOf(request soap.HasFault) string {
	return strings.TrimSuffix(reflect.TypeOf(request).Elem().Name(), "Body")
}

// failure is how a call failed: with a kind of error, or because we needed it no longer.
func failure(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return metrics.Canceled
	}
	cloudErr, _ := errors.AsType[*cloud.Error](Classify(err))
	return strings.ToLower(string(cloudErr.Kind))
}
