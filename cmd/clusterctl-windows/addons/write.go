package addons

import (
	"bytes"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// Manifests are the objects for a workload cluster itself.
func (a *Addons) Manifests() ([]byte, error) {
	return a.write("Apply this to the cluster of the pools, not to the management cluster.", a.Objects)
}

// ResourceSet are a ClusterResourceSet and its ConfigMap for a management cluster, by which Cluster API applies the objects to
// the workload cluster, and again when they change. What is no longer among them stays there.
func (a *Addons) ResourceSet(cluster Cluster) ([]byte, error) {
	if problems := validation.IsDNS1123Label(cluster.Name); len(problems) > 0 {
		return nil, fmt.Errorf("%q is not the name of a Cluster: %s", cluster.Name, objects.WithoutPattern(problems[0]))
	}
	manifests, err := encode(a.Objects)
	if err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name + "-windows-addons"}
	var objects []*unstructured.Unstructured
	for _, object := range []runtime.Object{
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta,
			Data: map[string]string{"addons.yaml": string(manifests)},
		},
		&addonsv1.ClusterResourceSet{
			TypeMeta: metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"}, ObjectMeta: meta,
			Spec: addonsv1.ClusterResourceSetSpec{
				ClusterSelector: metav1.LabelSelector{MatchLabels: Label(cluster)},
				Resources:       []addonsv1.ResourceRef{{Kind: "ConfigMap", Name: meta.Name}},
				Strategy:        string(addonsv1.ClusterResourceSetStrategyReconcile),
			},
		},
	} {
		plain, err := withoutStatus(object)
		if err != nil {
			return nil, err
		}
		objects = append(objects, plain)
	}
	return a.write("Apply this to the management cluster. Objects that an earlier version of this file created, and this "+
		"one no longer lists, are not deleted.", objects)
}

// Label is that by which the ClusterResourceSet finds its Cluster. The flavors of Cluster API's vSphere provider have it.
func Label(cluster Cluster) map[string]string {
	return map[string]string{clusterv1.ClusterNameLabel: cluster.Name}
}

func (a *Addons) write(note string, objects []*unstructured.Unstructured) ([]byte, error) {
	var text bytes.Buffer
	for _, line := range append([]string{"What the Windows nodes need of their cluster. " + note}, a.Pools...) {
		fmt.Fprintf(&text, "# %s\n", strings.Join(strings.Fields(line), " ")) // in one line, whatever a name has
	}
	manifests, err := encode(objects)
	text.Write(manifests)
	return text.Bytes(), err
}

func encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var texts [][]byte
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		texts = append(texts, text)
	}
	return bytes.Join(texts, []byte("---\n")), nil
}
