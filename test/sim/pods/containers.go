package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// shown is how long the kubelet leaves ErrImagePull until its next look at the pod.
const shown = 2 * time.Second

// keep runs a container, and again when it has ended if the pod's restart policy says so. It says whether the container has ended
// well and stays so.
func (l *life) keep(ctx context.Context, container *corev1.Container, policy corev1.RestartPolicy) bool {
	wait := crashBackOff
	for restarts := int32(0); ; restarts++ {
		if !l.pull(ctx, container) {
			return false
		}
		err := l.once(ctx, container, restarts)
		if ctx.Err() != nil {
			return false
		}
		if policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && err == nil {
			return err == nil
		}
		name := fmt.Sprintf("%s_%s(%s)", l.pod.Name, l.pod.Namespace, l.pod.UID)
		l.change(func(s *status) {
			s.wait(container.Name, "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s",
				wait, container.Name, name))
		})
		message := fmt.Sprintf("Back-off restarting failed container %s in pod %s", container.Name, name)
		if _, is := errors.AsType[ExitError](err); err != nil && !is {
			message += ": " + err.Error() // the lab's scripts have no log that a person would look into
		}
		l.event(ctx, "BackOff", message)
		if l.kubelet.Clock.Sleep(ctx, wait) != nil {
			return false
		}
		wait = min(2*wait, longestBackOff)
	}
}

// pull gets the image, again and again, with the words of kubernetes v1.36.3, pkg/kubelet/images/image_manager.go.
func (l *life) pull(ctx context.Context, container *corev1.Container) bool {
	image := container.Image
	for wait := crashBackOff; ; wait = min(2*wait, longestBackOff) {
		err := l.kubelet.Runtime.Pull(ctx, l.pod, container)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		l.change(func(s *status) { s.wait(container.Name, "ErrImagePull", err.Error()) })
		l.event(ctx, "Failed", fmt.Sprintf("Failed to pull image %q: %v", image, err))
		l.event(ctx, "Failed", "Error: ErrImagePull")
		if l.kubelet.Clock.Sleep(ctx, shown) != nil {
			return false
		}
		l.change(func(s *status) {
			s.wait(container.Name, "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %v", image, err))
		})
		l.event(ctx, "BackOff", fmt.Sprintf("Back-off pulling image %q", image))
		if l.kubelet.Clock.Sleep(ctx, wait) != nil {
			return false
		}
	}
}

// once is one life of a container.
func (l *life) once(ctx context.Context, container *corev1.Container, restarts int32) error {
	own, end := context.WithCancel(ctx)
	log := l.logs[container.Name]
	log.begin()
	var probe sync.WaitGroup
	begin := l.kubelet.now()
	started := sync.OnceFunc(func() {
		l.change(func(s *status) { s.running(container.Name, restarts, l.kubelet.now()) })
		probe.Go(func() { l.probe(own, container) })
	})
	err := l.kubelet.Runtime.Run(own, &Process{
		Pod: l.pod, Container: container, Address: l.address, Stdout: log, Stderr: log, Started: started,
	})
	end()
	probe.Wait()
	log.end()
	if ctx.Err() == nil {
		state := terminated(container, err, log, begin, l.kubelet.now())
		l.change(func(s *status) { s.end(container.Name, restarts, state) })
	}
	return err
}

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
