package workload

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// mostSets are read at once.
	mostSets = 20
	// setsServe is how long one reading of the DaemonSets serves all machines of a Cluster.
	setsServe = time.Minute
)

// DaemonSets are some of a cluster's, or the first of them.
type DaemonSets struct {
	// Found has of each its name, what in its template decides where its pods go, and what its containers run.
	Found []appsv1.DaemonSet
	// More is true if the cluster has others, which were not read.
	More bool
	// Refused is what the cluster does not show.
	Refused []string
}

// HostProcesses returns the DaemonSets of a Cluster whose pods run as processes of Windows nodes, as they were in the last
// minute. The DaemonSets of all CNIs for Windows are such ones.
func (c *Clusters) HostProcesses(ctx context.Context, key client.ObjectKey) (DaemonSets, error) {
	api, err := c.GetClient(ctx, key)
	if err != nil {
		return DaemonSets{}, err
	}
	return c.cluster(key).sets.get(ctx, setsServe, func(ctx context.Context) (DaemonSets, error) {
		return readHostProcesses(ctx, api)
	})
}

func readHostProcesses(ctx context.Context, api client.Client) (found DaemonSets, err error) {
	next := ""
	for range mostPages {
		var page appsv1.DaemonSetList
		err := api.List(ctx, &page, client.Limit(mostSets), client.Continue(next))
		if apierrors.IsForbidden(err) {
			return DaemonSets{Refused: []string{"its DaemonSets"}}, nil
		}
		if err != nil {
			return DaemonSets{}, err
		}
		if len(page.Items) > mostSets {
			return DaemonSets{}, &UnreachableError{Why: "answers with more DaemonSets than were requested"}
		}
		for _, item := range page.Items {
			if hasHostProcess(item.Spec.Template.Spec) {
				found.Found = append(found.Found, running(item))
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	found.More = next != ""
	if kept, err := json.Marshal(found); err != nil || len(kept) > maxDNS {
		return DaemonSets{}, &UnreachableError{Why: "answers with more about its DaemonSets than the manager reads"}
	}
	return found, nil
}

// hasHostProcess reports whether one of the containers runs on the node itself, by its own settings or by those of the pod.
func hasHostProcess(pod corev1.PodSpec) bool {
	isHostProcess := func(w *corev1.WindowsSecurityContextOptions) bool { return w != nil && ptr.Deref(w.HostProcess, false) }
	return pod.SecurityContext != nil && isHostProcess(pod.SecurityContext.WindowsOptions) ||
		slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
			return c.SecurityContext != nil && isHostProcess(c.SecurityContext.WindowsOptions)
		})
}

// running is a DaemonSet without what matters neither to where its pods go nor to what they run.
func running(full appsv1.DaemonSet) appsv1.DaemonSet {
	kept := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: full.Namespace, Name: full.Name}}
	kept.Spec.Template.Spec = placed(full.Spec.Template.Spec)
	pod := &kept.Spec.Template.Spec
	pod.Containers = nil
	for _, c := range full.Spec.Template.Spec.Containers {
		pod.Containers = append(pod.Containers, corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args})
	}
	return kept
}
