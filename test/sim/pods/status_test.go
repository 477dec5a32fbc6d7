package pods

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/agnhost"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// A pod is over when none of its containers will run again.
func TestPhase(t *testing.T) {
	t.Parallel()
	ends := func(codes ...int32) []*int32 {
		var all []*int32
		for _, code := range codes {
			all = append(all, &code)
		}
		return all
	}
	for _, test := range []struct {
		name   string
		policy corev1.RestartPolicy
		codes  []*int32 // nil runs still
		want   corev1.PodPhase
	}{
		{"all well", corev1.RestartPolicyNever, ends(0, 0), corev1.PodSucceeded},
		{"one failed", corev1.RestartPolicyNever, ends(0, 1), corev1.PodFailed},
		{"one failed, and comes again", corev1.RestartPolicyOnFailure, ends(0, 1), corev1.PodRunning},
		{"all well, for once", corev1.RestartPolicyOnFailure, ends(0, 0), corev1.PodSucceeded},
		{"all well, and come again", corev1.RestartPolicyAlways, ends(0, 0), corev1.PodRunning},
		{"one runs", corev1.RestartPolicyNever, append(ends(1), nil), corev1.PodRunning},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{
			RestartPolicy: test.policy, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}},
		}}
		k := &Kubelet{Clock: windows.RealClock{}}
		var s status
		s.start(pod, k)
		if got := s.phase(pod); got != corev1.PodPending {
			t.Errorf("%s: at first the pod is %s", test.name, got)
		}
		for i, code := range test.codes {
			name := pod.Spec.Containers[i].Name
			s.running(name, 0, k.now())
			if code != nil {
				s.end(name, 0, &corev1.ContainerStateTerminated{ExitCode: *code})
			}
		}
		if got := s.phase(pod); got != test.want {
			t.Errorf("%s: the pod is %s, want %s", test.name, got, test.want)
		}
	}
}

// A termination message comes from the log of a container that failed, if its spec has it so, and is no longer than a kubelet's.
func TestTerminated(t *testing.T) {
	t.Parallel()
	clock := windows.NewVirtualClock(time.Unix(0, 0))
	log := newRecord(clock)
	log.begin()
	for range 200 {
		if _, err := log.Write([]byte(strings.Repeat("x", 99) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	fallback := &corev1.Container{Name: "c", TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError}
	file := &corev1.Container{Name: "c", TerminationMessagePolicy: corev1.TerminationMessageReadFile}
	now := metav1.NewTime(clock.Now())
	for _, test := range []struct {
		name      string
		container *corev1.Container
		err       error
		code      int32
		reason    string
		length    int
	}{
		{"well", fallback, nil, 0, "Completed", 0},
		{"failed", fallback, ExitError(28), 28, "Error", 2048},
		{"failed, with a file that nobody wrote", file, ExitError(1), 1, "Error", 0},
		{"not started", fallback, agnhost.StartError{Why: "why"}, 128, "StartError", len(`failed to start containerd task "c": why`)},
		{"a script", fallback, errors.New("why"), 1, "Error", 2048},
	} {
		got := terminated(test.container, test.err, log, now, now)
		if got.ExitCode != test.code || got.Reason != test.reason || len(got.Message) != test.length {
			t.Errorf("%s: %d %s with %d bytes, want %d %s %d", test.name, got.ExitCode, got.Reason, len(got.Message), test.code,
				test.reason, test.length)
		}
	}
}

// A log has what its query asks for, and of a container that was started again the previous one too.
func TestLogs(t *testing.T) {
	t.Parallel()
	log := newRecord(windows.NewVirtualClock(time.Unix(1, 0)))
	for _, life := range []string{"one\ntwo\n", "three\nfour\n"} {
		log.begin()
		_, _ = log.Write([]byte(life)) // it never fails
		log.end()
	}
	all := logQuery{tail: -1, limit: -1}
	for _, test := range []struct {
		change func(*logQuery)
		want   string
	}{
		{func(*logQuery) {}, "three\nfour\n"},
		{func(q *logQuery) { q.tail = 1 }, "four\n"},
		{func(q *logQuery) { q.limit = 7 }, "three\nf"},
		{func(q *logQuery) { q.previous = true }, "one\ntwo\n"},
		{func(q *logQuery) { q.since = time.Unix(2, 0) }, ""},
		{func(q *logQuery) { q.follow, q.timestamps, q.tail = true, true, 1 }, "1970-01-01T00:00:01Z four\n"},
	} {
		query, out := all, &strings.Builder{}
		test.change(&query)
		if err := log.copyTo(t.Context(), out, query); err != nil || out.String() != test.want {
			t.Errorf("%+v: %q, %v, want %q", query, out.String(), err, test.want)
		}
	}
}
