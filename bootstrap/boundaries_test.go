package bootstrap_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Both sides of the borders of ports, packets, times and counts.
func TestBorders(t *testing.T) {
	none := func(changes ...change) change { return inNetwork("None", "", changes...) }
	one := withAdapters(staticAdapter("10.0.0.5/24"))
	for _, border := range []struct {
		name           string
		refused, taken change
		want           string
	}{
		{"room behind node ports", none(nodePorts(30000, 65281)), none(nodePorts(30000, 65280)), "too few ports are left"},
		{"lowest dynamic port", none(dynamicPorts(1024, 2000)), none(dynamicPorts(1025, 2000)), "all above 1024"},
		{"fewest dynamic ports", none(dynamicPorts(50000, 50253)), none(dynamicPorts(50000, 50254)), "at least 255 ports"},
		{"dynamic after node ports", none(dynamicPorts(32767, 40000)), none(dynamicPorts(32768, 40000)), "overlaps nodePorts"},
		{"dynamic before node ports", none(dynamicPorts(20000, 30000)), none(dynamicPorts(20000, 29999)), "overlaps nodePorts"},
		{"highest port", none(dynamicPorts(50000, 65536)), none(dynamicPorts(50000, 65535)), "is not a range of ports"},
		{"lowest port", none(nodePorts(-1, 9)), none(nodePorts(1, 9)), "is not a range of ports"},
		{"ports in their order", none(nodePorts(10, 9)), none(nodePorts(10, 10)), "is not a range of ports"},
		{"small packets", all(one, withWanted(`mtu: 1279`)), all(one, withWanted(`mtu: 1280`)), "use 1280 to 9000"},
		{"large packets", all(one, withWanted(`mtu: 9001`)), all(one, withWanted(`mtu: 9000`)), "use 1280 to 9000"},
		{
			"time of scripts", all(withScript(`{name: a, content: a, timeoutSeconds: 900}`), withDeadline(900)),
			all(withScript(`{name: a, content: a, timeoutSeconds: 899}`), withDeadline(900)), "the scripts may take 900 s together",
		},
		{
			"time of all scripts",
			spec(`custom: {preJoin: [{name: a, content: a, timeoutSeconds: 900}], postJoin: [{name: b, content: b, ` +
				`timeoutSeconds: 900}]}`),
			spec(`custom: {preJoin: [{name: a, content: a, timeoutSeconds: 900}], postJoin: [{name: b, content: b, ` +
				`timeoutSeconds: 899}]}`),
			"the scripts may take 1800 s together",
		},
		{
			"registry of something", withRegistry(`host: a.example.com`),
			all(withRegistry(`host: a.example.com, caFrom: {configMap: {name: a, key: b}}`), func(in *bootstrap.Input) {
				source(in, "configmap/a/b", string(firstCA))
			}), "has no mirrors",
		},
		{"verbosity", kubelet(`log: {verbosity: 11}`), kubelet(`log: {verbosity: 10}`), "use 0 to 10"},
		{"least verbosity", kubelet(`log: {verbosity: -1}`), kubelet(`log: {verbosity: 0}`), "use 0 to 10"},
		{"age of logs", kubelet(`log: {maxAgeHours: -1}`), kubelet(`log: {maxAgeHours: 1}`), "must not be negative"},
		{
			"star", ofWindows(`proxy: {http: 'http://p:1', noProxy: ['*']}`), ofWindows(`proxy: {http: 'http://p:1', noProxy: [.a]}`),
			"is not a host",
		},
		{"port of a proxy", withProxyURL("http://p:65536"), withProxyURL("http://p:65535"), "is not the URL of a proxy"},
		{"far port of a proxy", withProxyURL("http://p:99999999"), withProxyURL("http://p:1"), "is not the URL of a proxy"},
		{"no port of a proxy", withProxyURL("http://p:0"), withProxyURL("http://p"), "is not the URL of a proxy"},
	} {
		_, err := bootstrap.Render(plainInput(t, border.refused))
		if _, ok := errors.AsType[*bootstrap.InvalidError](err); !ok || !strings.Contains(err.Error(), border.want) {
			t.Errorf("%s: %v, want %s", border.name, err, border.want)
		}
		if _, err := bootstrap.Render(plainInput(t, border.taken)); err != nil {
			t.Errorf("%s: %v", border.name, err)
		}
	}
}

func withDeadline(seconds int32) change {
	return func(in *bootstrap.Input) { in.Config.Spec.BootstrapDeadlineSeconds = seconds }
}

// withBig is a file of so many bytes behind a small one, and a script.
func withBig(length int) change {
	return func(in *bootstrap.Input) {
		from := bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: "big", Key: "k"}}
		in.Config.Spec.Custom.Files = []bootstrapv1.CustomFile{
			{Path: `C:\x\small`, Content: "small"}, {Path: `C:\x\big`, ContentFrom: from},
		}
		in.Config.Spec.Custom.PostJoin = []bootstrapv1.CustomScript{{Name: "s", Content: "small"}}
		in.Sources = map[string][]byte{"configmap/big/k": bytes.Repeat([]byte("x"), length)}
	}
}

// A plan of a MiB is read; one byte more is refused, with the name of what to take away.
func TestPlansOfAMiB(t *testing.T) {
	const mebibyte = 1 << 20
	rest := len(expect.Got(render(t, plainInput(t, withBig(1000))).Plan().Encode())(t)) - 1000
	most := mebibyte - rest
	if got := len(expect.Got(render(t, plainInput(t, withBig(most))).Plan().Encode())(t)); got != mebibyte {
		t.Errorf("the largest plan has %d bytes", got)
	}
	_, err := bootstrap.Render(plainInput(t, withBig(most+1)))
	want := fmt.Sprintf("the plan of the node has %d bytes as JSON, and Windows reads %d at most; use fewer or shorter files, "+
		"scripts and other contents; the largest is spec.custom.files[1] with %d bytes", mebibyte+1, mebibyte, most+1)
	if _, ok := errors.AsType[*bootstrap.InvalidError](err); !ok || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Whatever is the largest content is named.
func TestTheLargestIsNamed(t *testing.T) {
	const big = `contentFrom: {configMap: {name: big, key: k}}`
	for field, change := range map[string]change{
		"custom.files[0]":                spec(`custom: {files: [{path: 'C:\a', ` + big + `}, {path: 'C:\b', content: small}]}`),
		"custom.preJoin[1]":              spec(`custom: {preJoin: [{name: a, content: small}, {name: b, ` + big + `}]}`),
		"custom.postJoin[0]":             spec(`custom: {postJoin: [{name: b, ` + big + `}], files: [{path: 'C:\b', content: small}]}`),
		"windows.trustedCertificates[0]": spec(`windows: {trustedCertificates: [{name: b, ` + big + `}]}`),
		"containerd.dropIns[0]":          spec(`containerd: {dropIns: [{name: b, ` + big + `}]}`),
	} {
		in := plainInput(t, change)
		in.Sources = map[string][]byte{"configmap/big/k": bytes.Repeat([]byte("x"), 1<<20+1)}
		_, err := bootstrap.Render(in)
		if want := "the largest is spec." + field + " with 1048577 bytes"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
