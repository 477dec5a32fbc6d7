// Package addons computes what a cluster needs beside its pools, so that pods run on their Windows nodes: kube-proxy where no
// service of the node is one, RuntimeClasses, csi-proxy, and settings for a Calico that is installed already. Everything follows
// from the pools.
package addons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Pool is what matters of machines that are alike.
type Pool struct {
	// Name is the object that defines the pool; empty if only flags define it.
	Name string
	// Version of Kubernetes, such as v1.36.3.
	Version string
	Network bootstrapv1.Network
	// Taints of the Nodes; nil are those by default.
	Taints *[]bootstrapv1.NodeTaint
	// HyperV: pods may be isolated by Hyper-V. CSIProxy: it is a service of the nodes.
	HyperV, CSIProxy bool
	// MaxPods is how many pods a node takes; 0 if neither a file nor a flag sets it.
	MaxPods int
	// PauseImage and Prepulled are the images that its config names.
	PauseImage string
	Prepulled  []string
	// Conflicts are what the files contradict each other in.
	Conflicts []string
}

// Cluster is what matters of the pools' Cluster. What is empty is not known.
type Cluster struct {
	Namespace, Name string
	// Labelled: the Cluster has the label by which a ClusterResourceSet finds it.
	Labelled bool
	// Host and Port are where the API server is.
	Host string
	Port int32
	// Pods and Services are networks.
	Pods, Services []string
}

// Options are what a person wants, whatever the pools are.
type Options struct {
	// Releases of Windows Server that get a RuntimeClass; without any, all do.
	Releases []string
	// HyperV and CSIProxy ask for their objects.
	HyperV, CSIProxy bool
	// Registry has copies of upstream's images, by their paths there; empty for upstream's own.
	Registry string
}

// Addons are the objects that a workload cluster needs.
type Addons struct {
	Objects []*unstructured.Unstructured
	// Pools has a sentence for each pool: what runs kube-proxy on its nodes.
	Pools []string
}

// Build returns what the cluster of these pools needs. Pools that need different things of one kind are refused.
func Build(pools []Pool, options Options) (*Addons, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	a := &Addons{}
	for _, pool := range pools {
		runner, err := pool.proxy()
		if err != nil {
			return nil, err
		}
		a.Pools = append(a.Pools, pool.pair()+": "+runner.says+".")
	}
	for _, decide := range []func([]Pool, Options) ([]runtime.Object, error){kubeProxy, csiProxy, runtimeClasses} {
		objects, err := decide(pools, options)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			plain, err := withoutStatus(object)
			if err != nil {
				return nil, err
			}
			a.Objects = append(a.Objects, plain)
		}
	}
	return a, nil
}

// withoutStatus is an object as a person would write it: without the fields that have no value.
func withoutStatus(object runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("write a %s: %w", object.GetObjectKind().GroupVersionKind().Kind, err)
	}
	delete(content, "status")
	prune(content)
	return &unstructured.Unstructured{Object: content}, nil
}

// prune removes empty fields. In these objects no field has a meaning when it is empty.
func prune(content map[string]any) {
	for name, value := range content {
		switch value := value.(type) {
		case nil:
			delete(content, name)
		case map[string]any:
			if prune(value); len(value) == 0 {
				delete(content, name)
			}
		case []any:
			for _, item := range value {
				if child, ok := item.(map[string]any); ok {
					prune(child)
				}
			}
		}
	}
}

// name is how sentences call the pool.
func (p Pool) name() string { return cmp.Or(p.Name, "The pool") }

// pair is the pool with its mode and CNI.
func (p Pool) pair() string {
	switch {
	case p.Network.Mode == "":
		return p.name() + " (no mode)"
	case p.Network.CNI == "":
		return fmt.Sprintf("%s (%s without cni)", p.name(), p.Network.Mode)
	}
	return fmt.Sprintf("%s (%s with %s)", p.name(), p.Network.Mode, p.Network.CNI)
}

// disagree is for pools of which each wants something else where a cluster has only one.
func disagree(field string, pools []Pool, value func(Pool) string) error {
	for _, p := range pools[min(1, len(pools)):] {
		if first := pools[0]; value(p) != value(first) {
			return fmt.Errorf("%s: %s is %s, but for %s it is %s, and a cluster has one for all; choose a pool with --machine",
				p.name(), field, value(p), first.name(), value(first))
		}
	}
	return nil
}

// list is a list for people.
func list(words []string) string {
	return cmp.Or(strings.Join(slices.Sorted(slices.Values(words)), ", "), "none")
}
