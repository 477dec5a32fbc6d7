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
	since       map[corev1.PodConditionType]corev1.PodCondition
}

func (s *status) start(pod *corev1.Pod, k *Kubelet) {
	s.started = k.now()
	s.containers, s.since = map[string]*corev1.ContainerStatus{}, map[corev1.PodConditionType]corev1.PodCondition{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		s.containers[c.Name] = &corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Started: new(false),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		}
	}
}

func (s *status) running(name string, now metav1.Time) {
	c := s.containers[name]
	c.Started, c.ContainerID, c.ImageID = new(true), "containerd://"+name, c.Image
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
}

// completed is an init container that has done its work.
func (s *status) completed(name string, now metav1.Time) {
	c := s.containers[name]
	c.Ready, c.ContainerID = true, "containerd://"+name
	c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now}}
}

func (s *status) ready(name string, ready bool) { s.containers[name].Ready = ready }

func (s *status) crashed(name string, why error) {
	c := s.containers[name]
	c.Ready, c.Started = false, new(false)
	c.RestartCount++
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: why.Error()}}
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
		truth(corev1.ContainersReady, ready, "ContainersNotReady"), truth(corev1.PodReady, ready, "ContainersNotReady"),
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

// phase: a pod is Pending until each container has run once.
func (s *status) phase(pod *corev1.Pod) corev1.PodPhase {
	for _, c := range pod.Spec.Containers {
		if have := s.containers[c.Name]; have.State.Running == nil && have.RestartCount == 0 {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

func (k *Kubelet) now() metav1.Time { return metav1.NewTime(k.Clock.Now()) }

// passes says whether an error of the API may be over soon.
func passes(err error) bool {
	return !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err)
}
