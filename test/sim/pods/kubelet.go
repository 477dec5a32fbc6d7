// Package pods plays what a kubelet does with the pods that the real scheduler has bound to its node: it starts them, writes
// their status, and takes them away when they are deleted. What runs in them is the Runtime's. It has the Linux nodes of a
// workload cluster too, and the DaemonSets that users apply to theirs.
package pods

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Runtime is containerd with its CNI.
type Runtime interface {
	// Connect gives a pod its network and address. The error is what the kubelet tells of the sandbox.
	Connect(ctx context.Context, pod *corev1.Pod) (address string, err error)
	// Disconnect takes the network of a deleted pod back.
	Disconnect(pod *corev1.Pod)
	// Pull gets the image of a container, unless it is there.
	Pull(ctx context.Context, pod *corev1.Pod, container *corev1.Container) error
	// Run runs a program of a container until it ends or ctx does. A program that ends with another code than 0 is an ExitError, one
	// that does not start is agnhost.StartError.
	Run(ctx context.Context, process *Process) error
	// Probe asks the readiness probe of a container that has one.
	Probe(ctx context.Context, pod *corev1.Pod, container *corev1.Container) error
}

// Clock is the node's.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Kubelet is the part of a kubelet that runs pods.
type Kubelet struct {
	Node, HostIP string
	Client       kubernetes.Interface
	Runtime      Runtime
	Clock        Clock

	// Port is where the API server asks for logs; nil is a kubelet that nobody can ask.
	Port *Port

	mu    sync.Mutex
	lives map[types.UID]*life
	all   sync.WaitGroup
}

// Run runs the pods that are bound to the node until ctx ends, which leaves them as they are: the power is off.
func (k *Kubelet) Run(ctx context.Context) {
	k.lives = map[types.UID]*life{}
	if k.Port != nil {
		k.all.Go(func() { k.Port.serve(ctx, k) })
	}
	bound := cache.NewListWatchFromClient(k.Client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", k.Node))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: bound, ObjectType: &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { k.sync(ctx, object) },
			UpdateFunc: func(_, object any) { k.sync(ctx, object) },
			DeleteFunc: func(object any) { k.forget(object) },
		},
	})
	informer.RunWithContext(ctx)
	k.all.Wait()
}

// sync starts a pod that is new, and ends one that is to go.
func (k *Kubelet) sync(ctx context.Context, object any) {
	pod, ok := object.(*corev1.Pod)
	isOver := ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	if !ok || isOver && pod.DeletionTimestamp == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	runs := k.lives[pod.UID]
	switch {
	case pod.DeletionTimestamp != nil && runs != nil:
		runs.end()
	case pod.DeletionTimestamp != nil:
		k.all.Go(func() { k.remove(ctx, pod) })
	case runs != nil:
		runs.reconcile(pod)
	default:
		own, cancel := context.WithCancel(ctx)
		begun := k.newLife(pod.DeepCopy(), cancel)
		k.lives[pod.UID] = begun
		k.all.Go(func() {
			begun.run(own)
			if ctx.Err() == nil {
				k.remove(ctx, pod)
			}
		})
	}
}

// forget ends a pod that is gone, as one that was deleted by force.
func (k *Kubelet) forget(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if runs := k.lives[pod.UID]; runs != nil {
		delete(k.lives, pod.UID)
		runs.end()
	}
}

// find is the life of a pod by its name; the last one, if a new one has its name by now.
func (k *Kubelet) find(namespace, name string) *life {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found *life
	for _, one := range k.lives {
		newer := found == nil || found.pod.CreationTimestamp.Before(&one.pod.CreationTimestamp)
		if one.pod.Namespace == namespace && one.pod.Name == name && newer {
			found = one
		}
	}
	return found
}

// remove takes the Pod out of the API when nothing of it runs any more. One that is gone already is fine.
func (k *Kubelet) remove(ctx context.Context, pod *corev1.Pod) {
	k.Runtime.Disconnect(pod)
	err := k.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	_ = err // the informer tells of it again
}
