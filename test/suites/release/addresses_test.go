package release

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// kube-vip puts the address of the API server on a machine of the control plane, beside the machine's own. vSphere's cloud
// provider takes the first that it is shown: with the file that the flavors give it, never that one. A machine of which nothing
// else is shown yet is initialised once its own address is.
func TestAddressesOfTheControlPlane(t *testing.T) {
	needsServers(t)
	t.Parallel()
	u, v := offline(t), vcenter.New(t)
	door := v.Open()
	t.Cleanup(door.Close)
	cloud := servers.VSphere{
		Server: door.Listener.Addr().String(), Thumbprint: soap.ThumbprintSHA256(door.Certificate()),
		Username: vcenter.CloudProvider, Password: vcenter.Password, Datacenter: vcenter.Datacenter,
	}
	cloud.Conf = u.cloudConf(cloud)
	w := expect.Got(servers.StartWorkload(t.Context(), servers.WorkloadOptions{
		Binaries: u.binaries, Dir: t.TempDir(), WithoutNode: true,
	}))(t)
	t.Cleanup(func() { expect.Fine(t, w.Stop()) })
	shared, owner := variables["CONTROL_PLANE_ENDPOINT_IP"], v.Owner(t)
	show := func(name string, addresses ...string) {
		v.ReportGuest(owner.VM(name).Reference(), name, []types.GuestNicInfo{{
			Network: "VM Network", MacAddress: "00:50:56:00:00:01", IpAddress: addresses, Connected: true, DeviceConfigId: 4000,
		}})
	}
	api := expect.Got(kubernetes.NewForConfig(w.Config))(t)
	for name, addresses := range map[string][]string{
		"first":    {shared, "192.0.2.21"},
		"last":     {"192.0.2.22", shared},
		"families": {"2001:db8::23", shared, "192.0.2.23"},
		"alone":    {shared},
		"worker":   {"192.0.2.25"},
	} {
		owner.Occupy(name)
		show(name, addresses...)
		expect.Got(api.CoreV1().Nodes().Create(t.Context(), waiting(name, owner), metav1.CreateOptions{}))(t)
	}
	expect.OK(t, w.StartCloudController(t.Context(), cloud))
	for name, own := range map[string]string{
		"first": "192.0.2.21", "last": "192.0.2.22", "families": "192.0.2.23", "worker": "192.0.2.25",
	} {
		wantAddress(t, api, name, own)
	}
	wait.Until(t, "the cloud provider to refuse the Node of which it knows no address", func() (any, bool) {
		said := expect.Got(w.CloudControllerPrinted())(t)
		refused := "unable to find suitable IP address for node " + owner.Read("alone", "config.uuid").Config.Uuid
		return said[max(0, len(said)-4000):], strings.Contains(said, refused)
	})
	show("alone", shared, "192.0.2.24")
	wantAddress(t, api, "alone", "192.0.2.24")
}

// cloudConf is the file by which the cloud provider finds the vCenter: both flavors write the same.
func (u user) cloudConf(cloud servers.VSphere) []byte {
	u.t.Helper()
	_, port, err := net.SplitHostPort(cloud.Server)
	expect.OK(u.t, err)
	u.variables = map[string]string{
		"WINDOWS_CLOUD": "vsphere", "VSPHERE_SERVER": cloud.Server, "VSPHERE_PORT": port,
		"VSPHERE_DATACENTER": cloud.Datacenter, "VSPHERE_TLS_THUMBPRINT_SHA256": cloud.Thumbprint,
	}
	var all []string
	for _, flavor := range []string{"windows", "windows-vsphere"} {
		var outer, inner corev1.ConfigMap
		take(u.t, u.generate("demo", "--flavor", flavor), "ConfigMap/demo-vsphere-cloud-config", &outer)
		expect.OK(u.t, yaml.UnmarshalStrict([]byte(outer.Data["cloud-config.yaml"]), &inner))
		all = append(all, inner.Data["vsphere.conf"])
	}
	expect.Same(u.t, "vsphere.conf of both flavors", all[0], all[1])
	return []byte(all[0])
}

// waiting is the Node of a VM whose kubelet waits for a cloud provider, as kubelets do with --cloud-provider=external.
func waiting(name string, owner *vcenter.Owner) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec: corev1.NodeSpec{
			ProviderID: "vsphere://" + owner.Read(name, "config.uuid").Config.Uuid,
			Taints:     []corev1.Taint{{Key: uninitialised, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		},
	}
}

const uninitialised = "node.cloudprovider.kubernetes.io/uninitialized"

func waits(taint corev1.Taint) bool { return taint.Key == uninitialised }

// wantAddress waits until the cloud provider has initialised a Node: it has no address but its own.
func wantAddress(t *testing.T, api kubernetes.Interface, name, own string) {
	t.Helper()
	var addresses []corev1.NodeAddress
	wait.Eventually(t, "the Node "+name+" to be initialised", func(ctx context.Context) error {
		node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && slices.ContainsFunc(node.Spec.Taints, waits) {
			err = fmt.Errorf("it has the taints %v", node.Spec.Taints)
		}
		if err == nil && len(node.Status.Addresses) == 0 {
			err = errors.New("it has no address yet, which the cloud provider writes after it has taken its taint")
		}
		if err == nil {
			addresses = node.Status.Addresses
		}
		return err
	})
	expect.Same(t, "addresses of "+name, []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name},
		{Type: corev1.NodeInternalIP, Address: own},
		{Type: corev1.NodeExternalIP, Address: own},
	}, addresses)
}
