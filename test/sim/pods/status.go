package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is what a kubelet knows of a pod.
type status struct {
	address     string
	initialized bool
	started     metav1.Time
	containers  map[string]*corev1.ContainerStatus
	isInit      map[string]bool
	since       map[corev1.PodConditionType]corev1.PodCondition
}

func (s *status) start(pod *corev1.Pod, k *Kubelet) {
	s.started = k.now()
	s.containers, s.since = map[string]*corev1.ContainerStatus{}, map[corev1.PodConditionType]corev1.PodCondition{}
	s.isInit = map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		s.isInit[c.Name] = true
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		s.containers[c.Name] = &corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Started: new(false),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		}
	}
}

// running is a container that runs, for the first time or after so many restarts.
func (s *status) running(name string, restarts int32, now metav1.Time) {
	c := s.containers[name]
	c.RestartCount, c.Started, c.ContainerID, c.ImageID = restarts, new(true), "containerd://"+name, c.Image
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
}

// end is a container that has ended; an init container that has ended well is ready.
func (s *status) end(name string, restarts int32, state *corev1.ContainerStateTerminated) {
	c := s.containers[name]
	c.RestartCount, c.Started, c.ContainerID = restarts, new(false), state.ContainerID
	c.Ready = s.isInit[name] && state.ExitCode == 0
	c.State = corev1.ContainerState{Terminated: state}
}

func (s *status) ready(name string, ready bool) { s.containers[name].Ready = ready }

// wait is a container that does not run, and keeps in mind how it has ended.
func (s *status) wait(name, reason, message string) {
	c := s.containers[name]
	c.Ready, c.Started = false, new(false)
	if c.State.Terminated != nil {
		c.LastTerminationState = c.State
	}
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// object is the status as the API has it.
func (s *status) object(pod *corev1.Pod, k *Kubelet) corev1.PodStatus {
	out := corev1.PodStatus{Phase: s.phase(pod), HostIP: k.HostIP, StartTime: &s.started, QOSClass: pod.Status.QOSClass}
	if k.HostIP != "" {
		out.HostIPs = []corev1.HostIP{{IP: k.HostIP}}
	}
	if s.address != "" {
		out.PodIP, out.PodIPs = s.address, []corev1.PodIP{{IP: s.address}}
	}
	ready := true
	for _, c := range pod.Spec.InitContainers {
		out.InitContainerStatuses = append(out.InitContainerStatuses, *s.containers[c.Name])
	}
	for _, c := range pod.Spec.Containers {
		out.ContainerStatuses = append(out.ContainerStatuses, *s.containers[c.Name])
		ready = ready && s.containers[c.Name].Ready
	}
	for _, is := range []corev1.PodCondition{
		truth(corev1.PodReadyToStartContainers, s.address != "", ""),
		truth(corev1.PodInitialized, s.initialized, "ContainersNotInitialized"),
		truth(corev1.ContainersReady, ready, notReady(out.Phase)), truth(corev1.PodReady, ready, notReady(out.Phase)),
		truth(corev1.PodScheduled, true, ""),
	} {
		is.LastTransitionTime = k.now()
		if was, known := s.since[is.Type]; known && was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		s.since[is.Type] = is
		out.Conditions = append(out.Conditions, is)
	}
	return out
}

func truth(kind corev1.PodConditionType, holds bool, reason string) corev1.PodCondition {
	if holds {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue}
	}
	return corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason}
}

// phase is that of the kubelet's getPhase (kubernetes v1.36.3, pkg/kubelet/kubelet_pods.go): a pod is Pending until each
// container has run once, and over when none will run again.
func (s *status) phase(pod *corev1.Pod) corev1.PodPhase {
	policy := pod.Spec.RestartPolicy
	for _, c := range pod.Spec.InitContainers {
		if s.failed(c.Name) && policy == corev1.RestartPolicyNever {
			return corev1.PodFailed
		}
	}
	runs, failed := policy == "" || policy == corev1.RestartPolicyAlways, false
	for _, c := range pod.Spec.Containers {
		state, last := s.containers[c.Name].State, s.containers[c.Name].LastTerminationState
		if state.Waiting != nil && last.Terminated == nil {
			return corev1.PodPending
		}
		failed = failed || s.failed(c.Name)
		runs = runs || state.Terminated == nil || s.failed(c.Name) && policy == corev1.RestartPolicyOnFailure
	}
	switch {
	case runs:
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// failed is a container that has ended, and not well.
func (s *status) failed(name string) bool {
	end := s.containers[name].State.Terminated
	return end != nil && end.ExitCode != 0
}

// notReady is why a pod is not ready whose containers are not.
func notReady(phase corev1.PodPhase) string {
	switch phase {
	case corev1.PodSucceeded:
		return "PodCompleted"
	case corev1.PodFailed:
		return "PodFailed"
	}
	return "ContainersNotReady"
}

func (k *Kubelet) now() metav1.Time { return metav1.NewTime(k.Clock.Now()) }

// passes says whether an error of the API may be over soon.
func passes(err error) bool {
	return !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err)
}
