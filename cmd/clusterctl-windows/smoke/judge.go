package smoke

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// enoughTries is how often a connection fails until it counts as failed, and connectBound the longest it is tried.
	enoughTries  = 3
	connectBound = 2 * time.Minute
	// schedulePatience is how long a pod may have no node: the scheduler needs no time where there is room.
	schedulePatience = 30 * time.Second
)

// failure is why something does not hold.
type failure struct {
	cause cause
	// words are those of the program, of the kubelet or of the scheduler.
	words string
}

// sight is what was seen of a pod: the pod, its events, and for how long it has been waited for.
type sight struct {
	pod    *corev1.Pod
	events []corev1.Event
	waited time.Duration
}

// startFailure explains why a pod will not run; nil while it may. start is how long it may take.
func (s sight) startFailure(start time.Duration) *failure {
	pod := s.pod
	if pod == nil {
		return &failure{cause: removed, words: "the pod was deleted, but not by this command"}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return &failure{cause: ended, words: joined(pod.Status.Reason, pod.Status.Message)}
	}
	if failed := s.unscheduled(min(start, schedulePatience)); failed != nil {
		return failed
	}
	for _, status := range pod.Status.ContainerStatuses {
		if failed := s.containerFailure(status, start); failed != nil {
			return failed
		}
	}
	if s.waited < start || runs(pod) {
		return nil
	}
	return s.late()
}

// unscheduled is the scheduler's reason, once it has had its time.
func (s sight) unscheduled(patience time.Duration) *failure {
	if s.waited < patience || s.pod.Spec.NodeName != "" {
		return nil
	}
	for _, condition := range s.pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return &failure{cause: causeOf(scheduling, condition.Message), words: condition.Message}
		}
	}
	return &failure{cause: unscheduled, words: "the scheduler has reported nothing about the pod"}
}

// containerFailure is that of a container that cannot be made. What may pass by itself, such as a registry that does not answer,
// is waited for.
func (s sight) containerFailure(status corev1.ContainerStatus, start time.Duration) *failure {
	waiting := status.State.Waiting
	if waiting == nil {
		return nil
	}
	table := stages[waiting.Reason]
	if table == nil {
		return nil
	}
	words := joined(waiting.Message)
	c := causeOf(table, words)
	if c == table[len(table)-1].cause { // a kubelet before 1.31 has the reason in an event alone
		words = joined(words, s.lastEvent("Failed"))
		c = causeOf(table, words)
	}
	if s.waited < start && !final[c] {
		return nil
	}
	return &failure{cause: c, words: words}
}

// late explains why a pod without a known failure does not run: its sandbox, or a slow node.
func (s sight) late() *failure {
	for _, reason := range []string{"FailedCreatePodSandBox", "FailedMount"} {
		if words := s.lastEvent(reason); words != "" {
			return &failure{cause: causeOf(sandboxes, words), words: words}
		}
	}
	words := "it does not run after " + s.waited.Truncate(time.Second).String()
	if lastText := s.lastEvent(""); lastText != "" {
		words += "; last event: " + lastText
	}
	return &failure{cause: slow, words: words}
}

// lastEvent is the newest one with this reason, or of any.
func (s sight) lastEvent(reason string) (words string) {
	var newest time.Time
	for i := range s.events {
		e := &s.events[i]
		moment := latest(e.CreationTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time)
		if (reason == "" || e.Reason == reason) && !moment.Before(newest) {
			newest, words = moment, e.Message
		}
	}
	return words
}

func latest(times ...time.Time) (newest time.Time) {
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}

// runs reports whether a container of the pod has run.
func runs(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		return status.State.Running != nil || lastEnd(status) != nil
	})
}

// serves reports whether a server pod does its work.
func (s sight) serves() bool {
	if s.pod == nil || s.pod.Status.PodIP == "" || s.pod.DeletionTimestamp != nil {
		return false
	}
	for _, status := range s.pod.Status.ContainerStatuses {
		if status.State.Running == nil {
			return false
		}
	}
	return len(s.pod.Status.ContainerStatuses) > 0
}

// crashes is why a server does not stay, once it was tried often enough.
func (s sight) crashes() *failure {
	if s.pod == nil {
		return nil
	}
	for _, status := range s.pod.Status.ContainerStatuses {
		if end := lastEnd(status); end != nil && status.RestartCount >= enoughTries-1 {
			return endFailure(end)
		}
	}
	return nil
}

// outcome is how far a connection is: it holds, or failed so many times.
type outcome struct {
	held    bool
	tries   int
	failure *failure
}

// outcomeOf reads the kubelet's status of the container that tries a connection.
func outcomeOf(pod *corev1.Pod, name string) outcome {
	for _, status := range pod.Status.ContainerStatuses {
		end := lastEnd(status)
		if status.Name != name || end == nil {
			continue
		}
		tries := int(status.RestartCount)
		if status.State.Terminated != nil || tries == 0 {
			tries++ // the count is of the starts after the first
		}
		if end.ExitCode == 0 {
			return outcome{held: true, tries: tries}
		}
		return outcome{tries: tries, failure: endFailure(end)}
	}
	return outcome{}
}

// lastEnd is how a container ended the last time.
func lastEnd(status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}

// endFailure reads the last words of agnhost or curl.
func endFailure(end *corev1.ContainerStateTerminated) *failure {
	words := cmp.Or(strings.Join(strings.Fields(end.Message), " "), joined(end.Reason, "exit code "+decimal(end.ExitCode)))
	table := programs
	if end.Reason == "StartError" || end.Reason == "ContainerCannotRun" { // containerd's words, not the program's
		table = creations
	} else if c, ok := curlCodes[end.ExitCode]; ok {
		return &failure{cause: c, words: words}
	}
	return &failure{cause: causeOf(table, words), words: words}
}

func joined(texts ...string) string {
	var parts []string
	for _, text := range texts {
		if text = strings.Join(strings.Fields(text), " "); text != "" && !strings.Contains(strings.Join(parts, " "), text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ": ")
}
