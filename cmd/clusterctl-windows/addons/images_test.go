package addons

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	proxyOf1363 = "docker.io/sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess"
	csiProxy112 = "ghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.1.2"
)

// TestImages: all that the nodes pull, once each, with full names, and where the copies belong.
func TestImages(t *testing.T) {
	const mirror = "registry.example.com:5000/mirror"
	own := calico(named("own"), func(p *Pool) {
		p.PauseImage = "mcr.microsoft.com/oss/kubernetes/pause:3.10"
		p.Prepulled = []string{
			"registry.example.com:5000/mirror/app:1", "nginx", "localhost/a:1", "team/app@sha256:" + strings.Repeat("a", 64),
		}
	})
	for name, c := range map[string]struct {
		pools   []Pool
		options Options
		want    []string
	}{
		"nothing but kube-proxy": {[]Pool{calico()}, Options{}, []string{proxyOf1363}},
		"kube-proxy as a service": {
			[]Pool{calico(with("Overlay", "Calico", "Service"))}, Options{}, nil,
		},
		"two pools": {[]Pool{calico(), own}, Options{CSIProxy: true}, []string{
			"docker.io/library/nginx", proxyOf1363, "docker.io/team/app@sha256:" + strings.Repeat("a", 64), csiProxy112,
			"localhost/a:1", "mcr.microsoft.com/oss/kubernetes/pause:3.10", "registry.example.com:5000/mirror/app:1",
		}},
		"with a mirror, where one is already": {[]Pool{own}, Options{Registry: mirror}, []string{
			"docker.io/library/nginx " + mirror + "/library/nginx",
			proxyOf1363 + " " + mirror + "/sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess",
			"docker.io/team/app@sha256:" + strings.Repeat("a", 64) + " " + mirror + "/team/app@sha256:" + strings.Repeat("a", 64),
			"localhost/a:1 " + mirror + "/a:1",
			"mcr.microsoft.com/oss/kubernetes/pause:3.10 " + mirror + "/oss/kubernetes/pause:3.10",
		}},
	} {
		var got []string
		for _, one := range expect.Got(Images(c.pools, c.options))(t) {
			got = append(got, one.String())
		}
		expect.Same(t, name, c.want, got)
	}
	_, err := Images([]Pool{calico()}, Options{Registry: "https://a"})
	expect.Same(t, "a wrong registry",
		`--registry "https://a" is not the beginning of an image's name; write one such as registry.example.com/mirror`, textOf(err))
}

// TestImagesAreThoseOfTheObjects: with a mirror, the objects name the copies that the list has, and no other.
func TestImagesAreThoseOfTheObjects(t *testing.T) {
	options := Options{CSIProxy: true, Registry: "registry.example.com/mirror"}
	var named []string
	for _, set := range daemonSets(t, expect.Got(Build([]Pool{calico()}, options))(t)) {
		named = append(named, set.Spec.Template.Spec.Containers[0].Image)
	}
	var listed []string
	for _, one := range expect.Got(Images([]Pool{calico()}, options, "registry.k8s.io/e2e-test-images/agnhost:2"))(t) {
		listed = append(listed, one.Mirror)
	}
	expect.Same(t, "copies", append(named, "registry.example.com/mirror/e2e-test-images/agnhost:2"), listed)
}

// TestNotListed: each pool gets a note for what the list lacks: the pause image of its image, and the images of its CNI.
func TestNotListed(t *testing.T) {
	const pool = "MachineDeployment default/a"
	const pause = ": spec.containerd.pauseImage is not set, so the pause image is the one that the machine's image names and " +
		"usually has; it is not listed"
	const cni = ": the images of Calico itself are not listed; docs/air-gap.md names the command that prints them for Calico"
	own := func(p *Pool) { p.PauseImage = "mcr.microsoft.com/oss/kubernetes/pause:3.10" }
	for name, c := range map[string]struct {
		pool Pool
		want []string
	}{
		"both":      {calico(named("a")), []string{pool + pause, pool + cni}},
		"no CNI":    {calico(named("a"), with("Overlay", "", "")), []string{pool + pause}},
		"its pause": {calico(named("a"), own), []string{pool + cni}},
	} {
		expect.Same(t, name, c.want, NotListed([]Pool{c.pool}))
	}
}
