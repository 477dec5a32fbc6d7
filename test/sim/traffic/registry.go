package traffic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Registry is what the registries have. The zero value has every image for every node, and agnhost for the builds of Windows for
// which upstream makes it (kubernetes v1.36.3, test/images/agnhost/BASEIMAGE).
type Registry struct {
	mu      sync.Mutex
	missing []string
	limited map[string][]string
}

// agnhostBuilds are those of ltsc2019, ltsc2022 and ltsc2025.
var agnhostBuilds = []string{"linux/amd64", "linux/arm64", "windows/10.0.17763", "windows/10.0.20348", "windows/10.0.26100"}

// Remove takes the images away whose names have this part. An empty part gives all of them back.
func (r *Registry) Remove(part string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if part == "" {
		r.missing = nil
		return
	}
	r.missing = append(r.missing, part)
}

// Limit says for which platforms there are builds of images whose names have this part: "linux/amd64", "windows/10.0.20348".
func (r *Registry) Limit(part string, platforms ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limited == nil {
		r.limited = map[string][]string{}
	}
	r.limited[part] = platforms
}

// Pull says why a node of a platform does not get an image, in the words of containerd as the kubelet gets them by gRPC
// (containerd 002e1f67, core/transfer/local/pull.go; the second ones are in containerd's issue 6989).
func (r *Registry) Pull(image, platform string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	const code = "rpc error: code = NotFound desc = failed to pull and unpack image"
	if slices.ContainsFunc(r.missing, func(part string) bool { return strings.Contains(image, part) }) {
		return fmt.Errorf("%s %q: failed to resolve image: %s: not found", code, image, image)
	}
	builds := []string(nil)
	if IsAgnhost(image) {
		builds = agnhostBuilds
	}
	for part, platforms := range r.limited {
		if strings.Contains(image, part) {
			builds = platforms
		}
	}
	if builds != nil && !slices.ContainsFunc(builds, func(build string) bool { return fits(platform, build) }) {
		return fmt.Errorf("%s %q: no match for platform in manifest: not found", code, image)
	}
	return nil
}

// IsAgnhost says whether an image is agnhost, of whichever registry.
func IsAgnhost(image string) bool {
	name := image[strings.LastIndex(image, "/")+1:]
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	return name == "agnhost"
}

// The first releases of Windows Server whose images also run on later ones, in their order.
var compatible = []int{20348, 26100}

// fits is containerd's rule (containerd/platforms v1.0.0-rc.4, platform_windows_compat.go): before Server 2022 the builds must be
// the same; from then on an image may be as old as the long-term release before that of its node.
func fits(platform, build string) bool {
	system, version, _ := strings.Cut(platform, "/")
	otherSystem, otherVersion, _ := strings.Cut(build, "/")
	if system != "windows" || otherSystem != system {
		return platform == build
	}
	host, image := buildOf(version), buildOf(otherVersion)
	if host < compatible[0] {
		return host == image
	}
	oldest := compatible[0]
	for _, release := range compatible {
		if host > release {
			oldest = release
		}
	}
	return oldest <= image && image <= host
}

// buildOf is the third number of 10.0.20348.
func buildOf(version string) int {
	words := strings.Split(version, ".")
	build, err := strconv.Atoi(words[min(2, len(words)-1)])
	if err != nil {
		return 0
	}
	return build
}
