package network

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	overlayFlannel  = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNIFlannel}
	l2bridgeFlannel = bootstrapv1.Network{Mode: bootstrapv1.NetworkL2Bridge, CNI: bootstrapv1.CNIFlannel}
)

// TestFlannelMismatch has what Linux nodes may use beside Windows nodes.
func TestFlannelMismatch(t *testing.T) {
	ownVNI := overlayFlannel
	ownVNI.VNI = 5000
	for name, c := range map[string]struct {
		spec     bootstrapv1.Network
		settings string
		says     string // nothing when empty
	}{
		"a VXLAN":             {overlayFlannel, `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`, ""},
		"in other letters":    {overlayFlannel, `{"backend":{"type":"VXLAN","vni":4096,"port":4789}}`, ""},
		"a VNI of the user's": {ownVNI, `{"Backend":{"Type":"vxlan","VNI":5000,"Port":4789}}`, ""},
		"routes":              {l2bridgeFlannel, `{"Backend":{"Type":"host-gw"}}`, ""},
		"stock": {
			overlayFlannel, `{"Network":"10.244.0.0/16","EnableNFTables":false,"Backend":{"Type":"vxlan"}}`,
			`has VNI 1, Port 8472; pods on Windows need Backend.Type "vxlan", VNI 4096 (spec.network.vni) and Port 4789`,
		},
		"VNI 1":         {overlayFlannel, `{"Backend":{"Type":"vxlan","VNI":1,"Port":4789}}`, "has VNI 1; "},
		"another VNI":   {ownVNI, `{"Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`, "has VNI 4096; "},
		"another port":  {overlayFlannel, `{"Backend":{"Type":"vxlan","VNI":4096,"Port":8472}}`, "has Port 8472; "},
		"WireGuard":     {overlayFlannel, `{"Backend":{"Type":"wireguard"}}`, `has Backend.Type "wireguard"; `},
		"other mode":    {l2bridgeFlannel, `{"Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`, `need Backend.Type "host-gw". `},
		"no backend":    {l2bridgeFlannel, `{}`, `has Backend.Type ""; `},
		"no settings":   {overlayFlannel, ``, "cannot be read (the key is missing or empty)"},
		"null":          {overlayFlannel, `null`, "cannot be read (it is null)"},
		"a list":        {overlayFlannel, `[]`, "cannot be read (json: cannot unmarshal array"},
		"half a text":   {overlayFlannel, `{"Backend":`, "cannot be read (unexpected end of JSON input)"},
		"a VNI in text": {overlayFlannel, `{"Backend":{"Type":"vxlan","VNI":"4096"}}`, "cannot be read (json: cannot unmarshal string"},
	} {
		told := FlannelMismatch(c.spec, "kube-flannel", c.settings)
		if c.says == "" {
			expect.Same(t, name, "", told)
			continue
		}
		expect.Says(t, name, errors.New(told), c.says)
		if !strings.Contains(told, "kubectl patch configmap -n kube-flannel kube-flannel-cfg --type merge -p '{") &&
			!strings.Contains(told, "kubectl edit configmap -n kube-flannel kube-flannel-cfg") {
			t.Errorf("%s: no command in %q", name, told)
		}
	}
}

// TestFlannelPatch: what the command writes is good, keeps what else is set, and is inert in a shell, whatever the settings have.
func TestFlannelPatch(t *testing.T) {
	hostile := `{"Network":"10.244.0.0/16","x'; reboot #":"` + "\u202e😀'$(reboot)`" + `","Backend":{"Type":"vxlan","VNI":1},` +
		`"backend":{"Type":"udp"}}` // flanneld, too, reads a key in any case, and the last one counts
	for _, spec := range []bootstrapv1.Network{overlayFlannel, l2bridgeFlannel} {
		told := FlannelMismatch(spec, "kube-system", strings.Replace(hostile, `"vxlan"`, `"udp"`, 1))
		_, rest, _ := strings.Cut(told, " -p '")
		text, after, _ := strings.Cut(rest, "'")
		expect.Same(t, "after the command", ", and then kubectl rollout restart daemonset -n kube-system kube-flannel-ds", after)
		for _, r := range told {
			if r < ' ' || r > '~' {
				t.Errorf("%q is in %q", r, told)
			}
		}
		var patch struct{ Data map[string]string }
		expect.OK(t, json.Unmarshal([]byte(text), &patch))
		expect.Same(t, "after the patch", "", FlannelMismatch(spec, "kube-system", patch.Data[FlannelConfigKey]))
		var was, is map[string]any
		expect.OK(t, json.Unmarshal([]byte(hostile), &was))
		expect.OK(t, json.Unmarshal([]byte(patch.Data[FlannelConfigKey]), &is))
		delete(was, "Backend")
		delete(was, "backend")
		delete(is, "Backend")
		expect.Same(t, "other settings", was, is)
	}
	long := `{"x":"` + strings.Repeat("y", 2*longestPatch) + `","Backend":{}}`
	told := errors.New(FlannelMismatch(overlayFlannel, "kube-flannel", long))
	expect.Says(t, "long settings", told, "kubectl edit configmap -n kube-flannel ")
}
