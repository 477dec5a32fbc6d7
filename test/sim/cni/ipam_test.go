package cni

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Calico gives a Windows node one block: after its last address a pod gets none until another one gives its own back.
func TestOneBlockOfCalico(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		block string
		pods  int
	}{{"10.244.3.0/26", 60}, {"10.244.3.0/25", 124}, {"10.244.3.64/26", 60}} {
		t.Run(c.block, func(t *testing.T) {
			t.Parallel()
			m := machineWith(t, "Overlay")
			for _, program := range []string{"calico", "calico-ipam"} {
				expect.OK(t, installed(m, program))
			}
			expect.OK(t, m.Put(calicoBlock, []byte(c.block)))
			expect.OK(t, m.Put(Folder+`\10-calico.conflist`, []byte(`{"cniVersion": "0.3.1", "name": "Calico", "plugins": [{
				"type": "calico", "mode": "vxlan", "nodename_file_optional": true, "windows_use_single_network": true,
				"ipam": {"type": "calico-ipam"}}]}`)))
			given := map[string]bool{}
			for i := range c.pods {
				given[expect.Got(Add(t.Context(), m, fmt.Sprintf("pod%d", i)))(t)] = true
			}
			_, err := Add(t.Context(), m, "late")
			const words = `plugin type="calico" failed (add): cannot allocate new block due to per host block limit`
			expect.Same(t, "the pod after the last address", words, fmt.Sprint(err))
			block := netip.MustParsePrefix(c.block)
			base := int(block.Addr().As4()[3])
			first, last := fmt.Sprintf("10.244.3.%d", base+3), fmt.Sprintf("10.244.3.%d", base+c.pods+2)
			expect.Same(t, "addresses, the first and the last", []any{c.pods, true, true}, []any{len(given), given[first], given[last]})
			expect.OK(t, Del(m, "pod7"))
			expect.Same(t, "the address that was given back", true, given[expect.Got(Add(t.Context(), m, "late"))(t)])
		})
	}
}

// The block has the size of the pool's blocks, 26 where the pool names none.
func TestBlockHasTheSizeOfItsPool(t *testing.T) {
	t.Parallel()
	const six = `{"spec": {"cidr": "fd00:10::/48", "blockSize": 122}}`
	for pools, want := range map[string]string{
		`{"items": [` + six + `, {"spec": {"cidr": "192.168.0.0/16", "blockSize": 25}}]}`: "10.244.3.0/25",
		`{"items": [{"spec": {"cidr": "192.168.0.0/16"}}]}`:                               "10.244.3.0/26",
		`{"items": [{"spec": {"cidr": "192.168.0.0/16", "blockSize": 25, "disabled": true}},
			{"spec": {"cidr": "192.168.0.0/16", "blockSize": 27}}]}`: "10.244.3.0/27",
		`{"items": [` + six + `]}`: "cannot find a qualified ippool",
		"":                         "10.244.3.0/26",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.URL.Path == "/api/v1/nodes/win-1":
				_ = json.NewEncoder(w).Encode(corev1.Node{Spec: corev1.NodeSpec{PodCIDR: "10.244.3.0/24"}})
			case pools != "" && r.URL.Path == "/apis/crd.projectcalico.org/v1/ippools":
				fmt.Fprint(w, pools)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		t.Cleanup(server.Close)
		c := &Container{Account: func() (kubernetes.Interface, error) {
			return kubernetes.NewForConfig(&rest.Config{Host: server.URL})
		}}
		block, err := c.firstBlock(t.Context(), "win-1")
		got := block.String()
		if err != nil {
			got = err.Error()
		}
		expect.Same(t, pools, want, got)
	}
}
