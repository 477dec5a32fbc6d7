// Package inspect compares a spec with the vCenter before anything is made there. A caller may rely on this, and need not read
// how:
//
//   - Run only reads, through the session that it is given, and with the product's own finder.
//   - It finds all that it can: a check that depends on one that failed is Skipped, and all others are made.
//   - A finding states in plain words what is there or what to do. It has no secret, and no more of the vCenter's texts than
//     cloud.Clean lets through.
//
// server.go is about the vCenter, places.go about what the spec names, rights.go about the account's privileges, and template.go
// and devices.go about the template.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// Result is how a check ended.
type Result = cloud.Result

// The results.
const (
	OK      = cloud.CheckOK
	Warning = cloud.CheckWarning
	Failed  = cloud.CheckFailed
	Skipped = cloud.CheckSkipped
)

// Finding is the result of a check, and what was found or what to do.
type Finding = cloud.Finding

// Subject is what is inspected.
type Subject struct {
	Session *session.Session
	Spec    infrav1.VSphereVM
	// Count is how many machines of the spec there are to be; none is one.
	Count    int64
	Now      func() time.Time
	Progress cloud.Progress
}

// Run makes all checks. The context ends them.
func Run(ctx context.Context, subject Subject) []Finding {
	r := &inspection{
		Subject: subject, results: map[string]Result{}, address: cloud.Clean(subject.Session.Health().Server, seen.MaxName),
	}
	for n, part := range parts {
		r.Progress.Begin(n+1, len(parts), part.name)
		part.look(r, ctx)
	}
	r.add("inside the template", "", func() (Result, string) {
		return Skipped, "cloudbase-init, containerd and the version of kubeadm cannot be seen from outside; " +
			"docs/images.md lists what an image must have, and how to try it"
	})
	return r.findings
}

// parts are all checks, in an order in which each comes after those that it depends on.
var parts = []struct {
	name string
	look func(*inspection, context.Context)
}{
	{"login", (*inspection).server},
	{"clock", (*inspection).clock},
	{"places", (*inspection).places},
	{"template", (*inspection).template},
	{"free space", (*inspection).freeSpace},
	{"privileges", (*inspection).rights},
}

// inspection is what is known so far.
type inspection struct {
	Subject
	address  string // of the vCenter
	findings []Finding
	results  map[string]Result // by check

	placement places.Placement
	sites     []places.Site
	facts     facts                        // of the template
	edits     bool                         // a clone changes the template's own adapters
	home      types.ManagedObjectReference // the cluster or host of which the pool is the root pool
}

// add makes a check if the one that it depends on was made and did not fail.
func (r *inspection) add(check, dependency string, look func() (Result, string)) {
	f := Finding{Check: check, Result: Skipped, Text: `needs "` + dependency + `"`}
	if result := r.results[dependency]; dependency == "" || result == OK || result == Warning {
		f.Result, f.Text = look()
	}
	r.results[check] = f.Result
	r.findings = append(r.findings, f)
}

// Bounds of what is shown of a name and of a cause.
const (
	maxName  = 128
	maxCause = 256
)

// shown is a text of the vCenter or of the spec.
func shown(text string) string { return cloud.Clean(text, maxName) }

// messageOf is the message of an error, without what only the controllers do, and without the server, which is known here.
func (r *inspection) messageOf(err error) string {
	text := err.Error()
	if cloudErr, ok := errors.AsType[*cloud.Error](err); ok {
		text = cloudErr.Message
	}
	text = strings.TrimSuffix(text, " (vCenter "+r.address+")")
	return cmp.Or(strings.ReplaceAll(text, "; the controller tries again", ""), "no reason is known")
}
