package network

import (
	"fmt"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestWhoRunsDaemons: the defaults follow the CNI, and a spec that says who does is believed.
func TestWhoRunsDaemons(t *testing.T) {
	of := func(spec bootstrapv1.Network) string {
		return fmt.Sprintf("%s %q %v", KubeProxyRun(spec), flannelRunOf(spec), Labels(spec))
	}
	const proxied, flanneled = LabelKubeProxy + ":" + LabelService, LabelFlannel + ":" + LabelService
	for name, c := range map[string]struct {
		spec bootstrapv1.Network
		want string
	}{
		"no network":  {bootstrapv1.Network{}, `None "" map[]`},
		"mode None":   {bootstrapv1.Network{Mode: bootstrapv1.NetworkNone}, `None "" map[]`},
		"Transparent": {bootstrapv1.Network{Mode: bootstrapv1.NetworkTransparent}, `None "" map[]`},
		"Antrea":      {bootstrapv1.Network{CNI: bootstrapv1.CNIAntrea}, `None "" map[]`},
		"Calico":      {bootstrapv1.Network{CNI: bootstrapv1.CNICalico}, `DaemonSet "" map[]`},
		"AzureCNI":    {bootstrapv1.Network{CNI: bootstrapv1.CNIAzure}, `Service "" map[` + proxied + `]`},
		"Flannel":     {bootstrapv1.Network{CNI: bootstrapv1.CNIFlannel}, `Service "Service" map[` + flanneled + " " + proxied + `]`},
		"Calico, Service": {
			bootstrapv1.Network{CNI: bootstrapv1.CNICalico, KubeProxy: bootstrapv1.KubeProxy{Run: bootstrapv1.KubeProxyService}},
			`Service "" map[` + proxied + `]`,
		},
		"Flannel, all of the user's": {
			bootstrapv1.Network{
				CNI: bootstrapv1.CNIFlannel, KubeProxy: bootstrapv1.KubeProxy{Run: bootstrapv1.KubeProxyDaemonSet},
				Flannel: bootstrapv1.Flannel{Run: bootstrapv1.FlannelExternal},
			},
			`DaemonSet "External" map[]`,
		},
		"flannel with another CNI": {
			bootstrapv1.Network{CNI: bootstrapv1.CNICalico, Flannel: bootstrapv1.Flannel{Run: bootstrapv1.FlannelService}},
			`DaemonSet "" map[]`,
		},
	} {
		expect.Same(t, name, c.want, of(c.spec))
	}
}

// TestCNISource: each CNI names what a Node waits for.
func TestCNISource(t *testing.T) {
	external := bootstrapv1.Flannel{Run: bootstrapv1.FlannelExternal}
	for want, spec := range map[string]bootstrapv1.Network{
		"the Windows service flanneld":     {CNI: bootstrapv1.CNIFlannel},
		"your own flanneld":                {CNI: bootstrapv1.CNIFlannel, Flannel: external},
		"calico-node-windows":              {CNI: bootstrapv1.CNICalico},
		"antrea-agent-windows":             {CNI: bootstrapv1.CNIAntrea},
		"10-azure.conflist":                {CNI: bootstrapv1.CNIAzure},
		"the config names no CNI":          {Mode: bootstrapv1.NetworkNone},
		`C:\run\flannel\subnet.env, after`: {CNI: bootstrapv1.CNIFlannel},
	} {
		expect.Says(t, string(spec.CNI), fmt.Errorf("%s", CNISource(spec)), want)
	}
}
