package pods

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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

	mu     sync.Mutex
	status status
	// changed has something when the status is to be written.
	changed chan struct{}
}

func (l *life) run(ctx context.Context) {
	l.changed = make(chan struct{}, 1)
	own, end := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { l.report(own) })
	defer writer.Wait()
	defer end()
	l.change(func(s *status) { s.start(l.pod, l.kubelet) })
	l.work(ctx)
}

func (l *life) work(ctx context.Context) {
	address := l.connected(ctx)
	if address == "" {
		return
	}
	l.change(func(s *status) { s.address = address })
	for i := range l.pod.Spec.InitContainers {
		if !l.initialize(ctx, &l.pod.Spec.InitContainers[i]) {
			return
		}
	}
	l.change(func(s *status) { s.initialized = true })
	var all sync.WaitGroup
	defer all.Wait()
	for i := range l.pod.Spec.Containers {
		all.Go(func() { l.keep(ctx, &l.pod.Spec.Containers[i]) })
	}
}

// connected gives the pod its sandbox, again and again. Pods of the host's network, as HostProcess pods, need none.
func (l *life) connected(ctx context.Context) string {
	if l.pod.Spec.HostNetwork {
		return l.kubelet.HostIP
	}
	for told := ""; ; {
		address, err := l.kubelet.Runtime.Connect(ctx, l.pod)
		if err == nil {
			return address
		}
		if why := err.Error(); why != told {
			told = why
			l.event(ctx, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+why)
		}
		if l.kubelet.Clock.Sleep(ctx, sandboxBackOff) != nil {
			return ""
		}
	}
}

// initialize runs an init container until it has ended well.
func (l *life) initialize(ctx context.Context, container *corev1.Container) bool {
	for wait := crashBackOff; ; wait = min(2*wait, longestBackOff) {
		err := l.kubelet.Runtime.Run(ctx, l.pod, container, func() {})
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			l.change(func(s *status) { s.completed(container.Name, l.kubelet.now()) })
			return true
		}
		l.change(func(s *status) { s.crashed(container.Name, err) })
		l.event(ctx, "BackOff", fmt.Sprintf("Back-off restarting failed container %s: %v", container.Name, err))
		if l.kubelet.Clock.Sleep(ctx, wait) != nil {
			return false
		}
	}
}

// keep runs a container, and again when it has ended.
func (l *life) keep(ctx context.Context, container *corev1.Container) {
	for wait := crashBackOff; ; wait = min(2*wait, longestBackOff) {
		own, end := context.WithCancel(ctx)
		var probe sync.WaitGroup
		started := sync.OnceFunc(func() {
			l.change(func(s *status) { s.running(container.Name, l.kubelet.now()) })
			probe.Go(func() { l.probe(own, container) })
		})
		err := l.kubelet.Runtime.Run(own, l.pod, container, started)
		end()
		probe.Wait()
		if ctx.Err() != nil {
			return
		}
		err = cmp.Or(err, error(ended{}))
		l.change(func(s *status) { s.crashed(container.Name, err) })
		l.event(ctx, "BackOff", fmt.Sprintf("Back-off restarting failed container %s: %v", container.Name, err))
		if l.kubelet.Clock.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// ended is a container that has nothing more to do.
type ended struct{}

func (ended) Error() string { return "the container ended with exit code 0" }

// probe says whether a running container is ready; without a probe it is.
func (l *life) probe(ctx context.Context, container *corev1.Container) {
	if container.ReadinessProbe == nil {
		l.change(func(s *status) { s.ready(container.Name, true) })
		return
	}
	period := time.Duration(max(1, container.ReadinessProbe.PeriodSeconds)) * time.Second
	for told, was := "", false; ; {
		err := l.kubelet.Runtime.Probe(ctx, l.pod, container)
		if ctx.Err() != nil {
			return
		}
		if is := err == nil; is != was {
			was = is
			l.change(func(s *status) { s.ready(container.Name, is) })
		}
		if err != nil && err.Error() != told {
			told = err.Error()
			l.event(ctx, "Unhealthy", "Readiness probe failed: "+told)
		}
		if l.kubelet.Clock.Sleep(ctx, period) != nil {
			return
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

// event tells what kubectl describe shows.
func (l *life) event(ctx context.Context, reason, message string) {
	now := metav1.NewTime(l.kubelet.Clock.Now())
	_, err := l.kubelet.Client.CoreV1().Events(l.pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: l.pod.Name + ".", Namespace: l.pod.Namespace},
		InvolvedObject: corev1.ObjectReference{
			Kind: "Pod", Namespace: l.pod.Namespace, Name: l.pod.Name, UID: l.pod.UID, APIVersion: "v1",
		},
		Reason: reason, Message: message, Type: corev1.EventTypeWarning, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "kubelet", Host: l.kubelet.Node},
	}, metav1.CreateOptions{})
	_ = err // a kubelet drops what it cannot tell, too
}
