package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// listTime is how long the watches of a new cluster may take to tell what is there, before it is asked.
	listTime = 15 * time.Second
	// maxCause is how much of an API server's own words people see.
	maxCause = 256
)

// policing is what is known of our objects in a cluster.
type policing struct {
	// again is when an object may be written or asked for again, why is what keeps it from being as it should, and accepted is what
	// the API server has made of it at our last write, by its key.
	again    map[string]time.Time
	why      map[string]error
	accepted map[string]answered
	probe    probing
	// mode is what the annotation said last.
	mode mode
	// planned says that people know what the mutating policy will change, and cleaned that nothing of earlier versions is there.
	planned, cleaned bool
}

func newPolicing() policing {
	return policing{again: map[string]time.Time{}, why: map[string]error{}, accepted: map[string]answered{}}
}

// answered is what was written, and what the API server has made of it.
type answered struct{ wanted, made string }

// police brings our objects to what they should be, finds out whether they act, and says when to look again.
func (c *cluster) police(ctx context.Context, about *clusterv1.Cluster) time.Time {
	next := deadline{time.Now().Add(recheck)}
	if mode, _ := modeOf(about); mode != c.mode {
		c.mode, c.planned, c.again = mode, false, map[string]time.Time{}
	}
	c.clean(ctx, &next)
	validating, mutating := ownObjects(policies.Validating()...), ownObjects(policies.Mutating()...)
	if c.mode == off {
		c.takeAway(ctx, append(validating, mutating...), &next)
		c.probePolicies(ctx, policySet{}, &next)
		c.settle(about, true, "")
		c.view.setPolicies(nil)
		return next.at
	}
	var needs policySet
	var first, second bool
	needs.refusing, first = c.ensureAll(ctx, validating, &next)
	switch {
	case c.mode == warn:
		c.takeAway(ctx, mutating, &next)
	case c.plan(ctx, about, mutating[0], &next):
		needs.changing, second = c.ensureAll(ctx, mutating, &next)
	}
	if first || second {
		c.probe.due = time.Now().Add(settle)
	}
	c.probePolicies(ctx, needs, &next)
	c.conclude(about)
	return next.at
}

// ensureAll brings objects to what they should be, in their order, and says whether all are.
func (c *cluster) ensureAll(ctx context.Context, objects []ownObject, next *deadline) (right, written bool) {
	right = true
	for _, o := range objects {
		written = c.ensure(ctx, o, next) || written
		right = right && c.why[o.key] == nil
	}
	return right, written
}

// deadline is when to look again.
type deadline struct{ at time.Time }

func (d *deadline) by(t time.Time) {
	if t.Before(d.at) {
		d.at = t
	}
}

// ensure brings one object to what it should be. It is true if the object was written.
func (c *cluster) ensure(ctx context.Context, o ownObject, next *deadline) (written bool) {
	isRight := func(b ownBrief) bool {
		return b.Ours && (b.Digest == o.digest || c.accepted[o.key] == answered{o.digest, b.Digest})
	}
	listed := c.view.isListed(o.resource)
	if listed && isRight(c.view.ownBrief(o)) {
		delete(c.why, o.key)
		return false
	}
	now := time.Now()
	if c.view.isAbsent(o.resource) {
		c.why[o.key] = unserved(o)
		return false
	}
	if wait := c.again[o.key]; now.Before(wait) {
		next.by(wait)
		return false
	}
	if !listed && !c.view.isHidden(o.resource) && now.Sub(c.opened) < listTime {
		next.by(c.opened.Add(listTime))
		c.why[o.key] = errPending
		return false
	}
	there, written, err := c.write(ctx, o, isRight)
	c.why[o.key] = err
	switch {
	case err == nil:
		delete(c.why, o.key)
		c.again[o.key] = now.Add(writePause)
		c.view.noteOwn(o, there)
		c.accepted[o.key] = answered{o.digest, there.Digest}
		if !listed { // nothing tells of changes
			c.again[o.key] = now.Add(recheck)
		}
	case isLasting(err):
		c.again[o.key] = now.Add(recheck)
	default:
		c.again[o.key] = now.Add(retry)
	}
	next.by(c.again[o.key])
	return written
}

var errPending = errors.New("it is not known yet")

func (c *cluster) write(ctx context.Context, o ownObject, isRight func(ownBrief) bool) (there ownBrief, written bool, err error) {
	api, err := c.keeper.Workload.GetClient(ctx, c.key)
	if err != nil {
		return ownBrief{}, false, err
	}
	there, written, err = write(ctx, api, o, isRight)
	if isUnserved(err) {
		err = unserved(o)
	}
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).V(4).Info("A policy is not as it should be", "object", o.String(), "error", err.Error())
	case written:
		ctrl.LoggerFrom(ctx).Info("Policy written", "object", o.String())
	}
	return there, written, err
}

// isLasting says that time does not mend it.
func isLasting(err error) bool {
	_, foreign := errors.AsType[*foreignError](err)
	_, absent := errors.AsType[*unservedError](err)
	return foreign || absent || isRefused(err) || isTurnedDown(err)
}

// isTurnedDown says that the API server has answered that it does not do it, whoever had it say so: other people's admission may
// refuse by any code. An answer that another try may change is none.
func isTurnedDown(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// isRefused says that the kubeconfig's user may not, or that the API server does not know the kind.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || isUnserved(err)
}

func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err)
}

func ignoreRefused(err error) error {
	if isRefused(err) {
		return nil
	}
	return err
}

// unservedError says that the API server does not know a kind.
type unservedError struct{ kind string }

func unserved(o ownObject) error { return &unservedError{strings.TrimSuffix(o.GetKind(), "Binding")} }

// Error is a part of a sentence.
func (e *unservedError) Error() string { return "there is no " + e.kind }

// servedFrom is the version of Kubernetes that has a kind.
var servedFrom = map[string]string{"ValidatingAdmissionPolicy": "1.30", "MutatingAdmissionPolicy": "1.36"}

// takeAway removes objects of ours, the last ones first.
func (c *cluster) takeAway(ctx context.Context, objects []ownObject, next *deadline) {
	for _, o := range slices.Backward(objects) {
		delete(c.why, o.key)
		if there := c.view.ownBrief(o); c.view.isListed(o.resource) && !there.Ours || c.view.isAbsent(o.resource) {
			delete(c.again, o.key)
			continue
		}
		if wait := c.again[o.key]; time.Now().Before(wait) {
			next.by(wait)
			continue
		}
		pause := recheck
		api, err := c.keeper.Workload.GetClient(ctx, c.key)
		if err == nil {
			err = remove(ctx, api, o)
		}
		if ignoreRefused(err) != nil {
			ctrl.LoggerFrom(ctx).V(4).Info("A policy is not removed", "object", o.String(), "error", err.Error())
			pause = retry
		}
		c.again[o.key] = time.Now().Add(pause)
		next.by(c.again[o.key])
	}
}

// conclude says to machines, and to the teller, how it stands.
func (c *cluster) conclude(about *clusterv1.Cluster) {
	var sentences []string
	pending := c.probe.isPending()
	for _, key := range slices.Sorted(maps.Keys(c.why)) {
		switch err := c.why[key]; {
		case errors.Is(err, errPending) || workload.OutOfReach(err):
			pending = true
		default:
			sentences = append(sentences, c.sentence(about, err))
		}
	}
	sentences = append(sentences, c.probe.sentences(about.Name)...)
	if _, wrong := modeOf(about); wrong != "" {
		sentences = append(sentences, wrong)
	}
	slices.Sort(sentences)
	sentences = slices.Compact(sentences)
	if !pending {
		c.view.setPolicies(sentences)
	}
	c.settle(about, !pending, strings.Join(sentences, "; "))
}

// sentence tells people what keeps an object from being as it should be.
func (c *cluster) sentence(about *clusterv1.Cluster, err error) string {
	const so = "so workloads for Linux are not all kept off its Windows Nodes"
	absent, isAbsent := errors.AsType[*unservedError](err)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("Cluster %s refuses to the user of Secret %s-kubeconfig what keeps workloads for Linux off Windows Nodes, "+
			"%s; give that user the rights in docs/security.md: %s", about.Name, about.Name, so, saidBy(err))
	case isAbsent:
		return fmt.Sprintf("Cluster %s has no %s, which Kubernetes has from %s on, %s", about.Name, absent.kind,
			servedFrom[absent.kind], so)
	}
	return fmt.Sprintf("Cluster %s: %s, %s", about.Name, saidBy(err), so)
}

// saidBy are the words of an error. Those of an API server stand in quotes: it may say what reads like our own advice.
func saidBy(err error) string {
	words := cloud.Clean(err.Error(), maxCause)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Sprintf("its API server says %q", words)
	}
	return words
}
