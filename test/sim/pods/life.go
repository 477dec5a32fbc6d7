package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The waits of a kubelet: after a sandbox that failed, and after a container that ended, doubled each time up to a limit.
const (
	sandboxBackOff = 10 * time.Second
	crashBackOff   = 10 * time.Second
	longestBackOff = 5 * time.Minute
)

// life is a pod from its start until it is deleted.
type life struct {
	kubelet *Kubelet
	pod     *corev1.Pod
	end     context.CancelFunc
	// address is there before a container is.
	address string
	// logs are those of the containers by their names.
	logs map[string]*record

	mu     sync.Mutex
	status status
	// changed has something when the status is to be written.
	changed chan struct{}
}

func (k *Kubelet) newLife(pod *corev1.Pod, end context.CancelFunc) *life {
	l := &life{kubelet: k, pod: pod, end: end, logs: map[string]*record{}, changed: make(chan struct{}, 1)}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		l.logs[c.Name] = newRecord(k.Clock)
	}
	l.status.start(pod, k)
	return l
}

// run ends when the pod is deleted, also where its containers have ended before.
func (l *life) run(ctx context.Context) {
	own, end := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { l.report(own) })
	defer writer.Wait()
	defer end()
	l.change(func(*status) {})
	l.work(ctx)
	<-ctx.Done()
}

func (l *life) work(ctx context.Context) {
	address := l.connected(ctx)
	if address == "" {
		return
	}
	l.address = address
	l.change(func(s *status) { s.address = address })
	policy := l.pod.Spec.RestartPolicy
	again := policy
	if policy != corev1.RestartPolicyNever {
		again = corev1.RestartPolicyOnFailure
	}
	for i := range l.pod.Spec.InitContainers {
		if !l.keep(ctx, &l.pod.Spec.InitContainers[i], again) {
			return
		}
	}
	l.change(func(s *status) { s.initialized = true })
	var all sync.WaitGroup
	defer all.Wait()
	for i := range l.pod.Spec.Containers {
		all.Go(func() { l.keep(ctx, &l.pod.Spec.Containers[i], policy) })
	}
}

// connected gives the pod its sandbox, again and again. Pods of the host's network, as HostProcess pods, need none.
func (l *life) connected(ctx context.Context) string {
	if l.pod.Spec.HostNetwork {
		return l.kubelet.HostIP
	}
	for last := (*corev1.Event)(nil); ; {
		address, err := l.kubelet.Runtime.Connect(ctx, l.pod)
		if err == nil {
			return address
		}
		if message := "Failed to create pod sandbox: " + err.Error(); last == nil || last.Message != message {
			last = l.event(ctx, "FailedCreatePodSandBox", message)
		} else {
			l.repeat(ctx, last)
		}
		if l.kubelet.Clock.Sleep(ctx, sandboxBackOff) != nil {
			return ""
		}
	}
}

// change does not wait for the API server, nor does a kubelet.
func (l *life) change(do func(*status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(&l.status)
	select {
	case l.changed <- struct{}{}:
	default: // it is about to be written anyway
	}
}

// reconcile writes the status again where somebody else has changed it (kubernetes v1.36.3, pkg/kubelet/status/status_manager.go,
// needsReconcile): the controller of node lives takes a pod's Ready away while its node is not ready.
func (l *life) reconcile(seen *corev1.Pod) {
	l.mu.Lock()
	ready := true
	for _, c := range l.pod.Spec.Containers {
		ready = ready && l.status.containers[c.Name].Ready
	}
	l.mu.Unlock()
	for _, is := range seen.Status.Conditions {
		if is.Type == corev1.PodReady && ready && is.Status != corev1.ConditionTrue {
			l.change(func(*status) {})
		}
	}
}

// report writes each change.
func (l *life) report(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
			l.write(ctx)
		}
	}
}

// write patches the status, as a kubelet does, until it is written.
func (l *life) write(ctx context.Context) {
	l.mu.Lock()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": l.pod.UID}, "status": l.status.object(l.pod, l.kubelet),
	})
	l.mu.Unlock()
	for err == nil {
		_, failed := l.kubelet.Client.CoreV1().Pods(l.pod.Namespace).
			Patch(ctx, l.pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if failed == nil || !passes(failed) || l.kubelet.Clock.Sleep(ctx, time.Second) != nil {
			return
		}
	}
}

// event is what kubectl describe shows. It is nil if the API server does not take it: a kubelet drops such an event, too.
func (l *life) event(ctx context.Context, reason, message string) *corev1.Event {
	now := metav1.NewTime(l.kubelet.Clock.Now())
	event, err := l.kubelet.Client.CoreV1().Events(l.pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", l.pod.Name, now.UnixNano()), Namespace: l.pod.Namespace},
		InvolvedObject: corev1.ObjectReference{
			Kind: "Pod", Namespace: l.pod.Namespace, Name: l.pod.Name, UID: l.pod.UID, APIVersion: "v1",
		},
		Reason: reason, Message: message, Type: corev1.EventTypeWarning, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "kubelet", Host: l.kubelet.Node},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	return event
}

// repeat counts an event that comes again (client-go, tools/record/events_cache.go: eventObserve).
func (l *life) repeat(ctx context.Context, event *corev1.Event) {
	event.Count++
	patch, err := json.Marshal(map[string]any{
		"count": event.Count, "lastTimestamp": metav1.NewTime(l.kubelet.Clock.Now()),
	})
	if err == nil {
		_, err = l.kubelet.Client.CoreV1().Events(event.Namespace).
			Patch(ctx, event.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	_ = err // the next one has the sum
}
