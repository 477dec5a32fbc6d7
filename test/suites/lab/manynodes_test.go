package lab_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// manyNodes need longer for their policies than the 10 s for which kube-proxy waits.
const (
	manyNodes   = 80
	policyTakes = 300 * time.Millisecond
)

// A pod on a new node, and on one that has started again, reaches a Service with a pod on each of many nodes: flanneld gives HNS
// a route to them one by one, and kube-proxy looks for the route of a pod once.
func TestServicesOfManyNodes(t *testing.T) {
	stories.Begin(t)
	w := podCluster(t, nil)
	w.services[pods.LinuxNodes[0]] = w.onEachNode(t)
	w.giveRights(t, nil)
	<-w.given
	for i, condition := range []string{allThere, rebooted} {
		c := &cell{
			pair: pairOf(t, "Overlay Flannel"), year: "2022", condition: condition, number: i, clock: windows.NewFastClock(10),
			policyTakes: policyTakes,
		}
		if r := w.try(t, c); !r.service {
			t.Errorf("%s: %+v", condition, r)
		}
	}
}

func pairOf(t *testing.T, name string) pair {
	t.Helper()
	for _, p := range pairs {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("there is no pair %s", name)
	return pair{}
}

// onEachNode makes nodes that flanneld knows as its own (pkg/subnet/kube/kube.go, nodeToLease), and a Service with a pod on each.
func (w *podWorld) onEachNode(t *testing.T) string {
	t.Helper()
	const name, flannel = "far", "flannel.alpha.coreos.com/"
	part := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32(80))}},
	}
	for i := range manyNodes {
		subnet := fmt.Sprintf("10.244.%d.", 150+i)
		expect.Got(w.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("far-%d", i), Annotations: map[string]string{
				flannel + "backend-type": "vxlan", flannel + "backend-data": `{"VNI":4096,"VtepMAC":"0a:00:00:00:00:01"}`,
				flannel + "public-ip": fmt.Sprintf("198.51.99.%d", 10+i), flannel + "kube-subnet-manager": "true",
			}},
			Spec: corev1.NodeSpec{PodCIDR: subnet + "0/24", PodCIDRs: []string{subnet + "0/24"}},
		}, metav1.CreateOptions{}))(t)
		part.Endpoints = append(part.Endpoints, discoveryv1.Endpoint{Addresses: []string{subnet + "7"}})
	}
	service := expect.Got(w.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
	expect.Got(w.client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), part, metav1.CreateOptions{}))(t)
	return service.Spec.ClusterIP
}
