// Package policies decides about the admission objects that keep workloads for Linux off the Windows Nodes of a workload cluster.
// internal/policies has the objects. A reader may rely on this:
//
//   - They are in each cluster from its first WindowsMachine on. When the last one is gone they stay as they are, and nobody
//     looks at them. They go when the Cluster gets the annotation capwin.io/linux-policy: off, or with the cluster.
//   - Before the mutating policy is there for the first time, an event lists what it will change.
//   - Where they are refused, or where the API server has no such kinds, an event has the reason, and no machine waits.
//   - While nothing changes, the objects are read once a minute, and there is a probe by dry runs each ten minutes.
package policies

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
)

const (
	// reread is how soon the objects are read again: a person may have changed or removed them.
	reread = time.Minute
	// recheck is how soon is probed again whether they act.
	recheck = 10 * time.Minute
	// retry is how soon what has failed is tried again.
	retry = 15 * time.Second
	// settle is how soon policies are probed after they came, and again until they act: each API server of a control plane reads
	// them every second or so.
	settle = 2 * time.Second
	// patience is how long machines of a cluster wait for its policies.
	patience = time.Minute
)

// Name is by which machines ask for the policies.
const Name = "policies"

// Mode is what a person wants of the policies in a cluster.
type Mode string

// The modes.
const (
	// Change has the API server change templates, where it can.
	Change Mode = ""
	// Warn has it change nothing, and warn.
	Warn Mode = infrav1.LinuxPolicyWarn
	// Off has the objects removed.
	Off Mode = infrav1.LinuxPolicyOff
)

// ModeOf reads the annotation. A value that means nothing is the same as none, and the second result is a sentence about it.
func ModeOf(cluster *clusterv1.Cluster) (mode Mode, wrong string) {
	value, set := cluster.Annotations[infrav1.LinuxPolicyAnnotation]
	if mode = Mode(value); !set || mode == Warn || mode == Off {
		return mode, ""
	}
	return Change, fmt.Sprintf("Cluster %s has the annotation %s with an invalid value, which is ignored; set it to %s or %s, or "+
		"remove it", cluster.Name, infrav1.LinuxPolicyAnnotation, Warn, Off)
}

// Act is what a look does next.
type Act string

// The acts. After Rest a look is over.
const (
	Rest           Act = ""
	Clean          Act = "Clean"          // remove what earlier versions wrote beside them
	Remove         Act = "Remove"         // remove all
	WriteRefusing  Act = "WriteRefusing"  // write the validating policies
	RemoveChanging Act = "RemoveChanging" // remove the mutating policy
	Plan           Act = "Plan"           // report what the mutating policy will change, unless it is there
	WriteChanging  Act = "WriteChanging"  // write the mutating policy
	TryRefusing    Act = "TryRefusing"    // make the probe that a validating policy refuses
	TryChanging    Act = "TryChanging"    // make the probe that the mutating policy changes
)

// ErrIgnored is the answer to a probe on which the policy did not act.
var ErrIgnored = errors.New("the policy does not act")

// Set are the validating policies, which refuse a probe, and the mutating one, which changes it.
type Set struct{ Refusing, Changing bool }

// Memory is what is known of a cluster from look to look.
type Memory struct {
	// Cleaned is true if nothing of earlier versions is there, and Planned that people know what the mutating policy will
	// change.
	Cleaned, Planned bool
	// There are the policies that were there at the last look, and Acting those of them that acted at the last probe.
	Present, Acting Set
	// Due is when to probe again, and Idle since when policies that are there do not act, by how many probes in a row.
	Due, Idle time.Time
	Probes    int
	// Tried is true if a probe was answered since There changed, and Refused why another one was not.
	Tried   bool
	Refused error
}

// Seen is what a look has found out so far.
type Seen struct {
	// Cluster is its name.
	Cluster string
	Mode    Mode
	// Wrong is a sentence about the annotation.
	Wrong string
	// Needed is true if the Cluster has Windows machines.
	Needed bool
	// Answers are those to the acts.
	Answers map[Act]error
	Memory
}

// UnkeptError is why workloads for Linux are not all kept off Windows Nodes, in sentences for people. No machine waits for that.
type UnkeptError struct{ Reason string }

// Error implements error.
func (e *UnkeptError) Error() string { return e.Reason }

// Step is what follows from what was seen. With Rest come the answer to machines, when to look again, and what to remember:
// without an error the policies act, and with ErrSettling of package keep that is about to come.
type Step struct {
	Act       Act
	Answer    error
	RecheckIn time.Duration
	Memory
}

// Next is the next step of a look.
func Next(s Seen, now time.Time) Step {
	for _, act := range s.acts(now) {
		if _, ok := s.Answers[act]; !ok {
			return Step{Act: act}
		}
	}
	return s.conclude(now)
}

// acts are all of a look, as far as the answers let it go.
func (s Seen) acts(now time.Time) []Act {
	var acts []Act
	if !s.Cleaned && (s.Needed || s.Mode == Off) {
		acts = append(acts, Clean)
	}
	switch {
	case s.Mode == Off:
		return append(acts, Remove)
	case !s.Needed && s.Mode == Warn:
		return []Act{RemoveChanging}
	case !s.Needed:
		return nil
	}
	acts = append(acts, WriteRefusing)
	switch {
	case s.Mode == Warn:
		acts = append(acts, RemoveChanging)
	case s.Planned:
		acts = append(acts, WriteChanging)
	case s.succeeded(Plan):
		acts = append(acts, Plan, WriteChanging)
	default:
		acts = append(acts, Plan)
	}
	if present := s.present(); present == s.Present && !now.Before(s.Due) {
		if present.Refusing {
			acts = append(acts, TryRefusing)
		}
		if present.Changing {
			acts = append(acts, TryChanging)
		}
	}
	return acts
}

// succeeded reports whether an act has been done without an error.
func (s Seen) succeeded(act Act) bool {
	err, ok := s.Answers[act]
	return ok && err == nil
}

// present are the policies that are there after the writes.
func (s Seen) present() Set { return Set{s.succeeded(WriteRefusing), s.succeeded(WriteChanging)} }

// conclude is the end of a look.
func (s Seen) conclude(now time.Time) Step {
	m, delay := s.Memory, reread
	if s.Mode == Off || !s.Needed {
		m, delay = Memory{Cleaned: m.Cleaned}, recheck
	}
	m.Cleaned = m.Cleaned || s.succeeded(Clean) || keep.ClassOf(s.Answers[Clean]) != keep.ForNow
	sentences, pending := s.failures()
	if pending {
		delay = retry
	}
	if s.Mode == Off || !s.Needed {
		return Step{RecheckIn: delay, Memory: m}
	}
	m.Planned = m.Planned || s.succeeded(Plan)
	m.probed(s, now)
	if m.Present != (Set{}) {
		delay = min(delay, max(m.Due.Sub(now), settle))
	}
	sentences = append(sentences, m.sentences(s, now)...)
	if s.Wrong != "" {
		sentences = append(sentences, s.Wrong)
	}
	step := Step{RecheckIn: delay, Memory: m}
	switch sentences = slices.Compact(sentences); {
	case pending || m.isPending(now):
		step.Answer = keep.ErrSettling
	case len(sentences) > 0:
		step.Answer = &UnkeptError{strings.Join(sentences, "; ")}
	}
	return step
}

// failures are sentences about what was to be written and time does not mend, and whether there is more to be written.
func (s Seen) failures() (sentences []string, pending bool) {
	for _, act := range []Act{Remove, WriteRefusing, Plan, RemoveChanging, WriteChanging} {
		switch err := s.Answers[act]; {
		case err == nil:
		case keep.ClassOf(err) == keep.ForNow:
			pending = true
		default:
			sentences = append(sentences, s.sentence(act, err))
		}
	}
	return sentences, pending
}

// probed notes what the probes have found.
func (m *Memory) probed(s Seen, now time.Time) {
	if present := s.present(); present != m.Present {
		m.Present, m.Acting, m.Tried, m.Refused, m.Idle, m.Probes = present, Set{}, false, nil, time.Time{}, 0
		m.Due = now.Add(settle)
		return
	}
	_, refuses := s.Answers[TryRefusing]
	if _, changes := s.Answers[TryChanging]; !refuses && !changes {
		return
	}
	m.Due, m.Acting, m.Refused = now.Add(recheck), Set{s.succeeded(TryRefusing), s.succeeded(TryChanging)}, nil
	for _, act := range []Act{TryRefusing, TryChanging} {
		switch err := s.Answers[act]; {
		case err == nil, errors.Is(err, ErrIgnored):
		case keep.ClassOf(err) == keep.ForNow:
			m.Due = now.Add(retry)
			return
		default:
			m.Refused = err
		}
	}
	m.Tried = true
	if m.Acting == m.Present || m.Refused != nil {
		m.Idle, m.Probes = time.Time{}, 0
		return
	}
	if m.Probes++; m.Idle.IsZero() {
		m.Idle = now
	}
	if !m.isSure(now) {
		m.Due = now.Add(settle)
	}
}

// isPending reports whether machines wait for a better answer.
func (m *Memory) isPending(now time.Time) bool {
	return m.Present != Set{} && (!m.Tried || !m.Idle.IsZero() && !m.isSure(now))
}

// isSure reports whether it was not one API server of several that has not read the policies yet, or that is being replaced.
func (m *Memory) isSure(now time.Time) bool { return m.Probes > 1 && now.Sub(m.Idle) >= patience }
