package world

import (
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Operation is something that takes its time. A client may ask how far it is.
type Operation struct {
	Name     string
	Resource doc.ID
	Provider string // Microsoft.Compute or Microsoft.Network
	Location string

	started, ended time.Time
	status         string
	failure        *reply.Error
}

// The states of an operation [V recordings of the SDK's tests].
const (
	InProgress = "InProgress"
	Succeeded  = "Succeeded"
	Failed     = "Failed"
	Canceled   = "Canceled"
)

// Begin starts an operation.
func (w *World) Begin(resource doc.ID, location string) *Operation {
	o := &Operation{
		Name: w.UUID(), Resource: resource, Provider: resource.Provider, Location: location,
		started: w.Clock.Now(), status: InProgress,
	}
	w.operations[o.Name] = o
	return o
}

// End finishes an operation. Only the first end counts.
func (w *World) End(o *Operation, failure *reply.Error) {
	if o == nil || o.status != InProgress {
		return
	}
	o.status, o.ended, o.failure = Succeeded, w.Clock.Now(), failure
	if failure != nil {
		o.status = Failed
	}
}

// Operation returns an operation by its name, and nil if there is none.
func (w *World) Operation(name string) *Operation { return w.operations[name] }

// Done says whether the operation has ended.
func (o *Operation) Done() bool { return o.status != InProgress }

// Failure is why the operation failed, and nil if it did not.
func (o *Operation) Failure() *reply.Error { return o.failure }

// Body is the operation as Azure-AsyncOperation shows it.
func (o *Operation) Body() doc.Object {
	body := doc.Object{"name": o.Name, "status": o.status, "startTime": Time(o.started)}
	if o.Done() {
		body["endTime"] = Time(o.ended)
	}
	if o.failure != nil {
		body["error"] = o.failure.Body()
	}
	return body
}

// Time writes a time as ARM does.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000Z07:00") }
