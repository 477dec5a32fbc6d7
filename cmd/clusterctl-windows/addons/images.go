package addons

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Image is one that nodes pull.
type Image struct {
	// Source is its full name, with the registry. Mirror is where a copy belongs; empty without --registry.
	Source, Mirror string
}

// String is a line of the list: a program that copies images takes the two names in this order.
func (i Image) String() string {
	if i.Mirror == "" {
		return i.Source
	}
	return i.Source + " " + i.Mirror
}

// dockerHub is the registry of a name without one, and officialImages the folder there of a name without a folder.
const (
	dockerHub      = "docker.io"
	officialImages = "library"
)

// Images has what the nodes of these pools pull beside what kubeadm names: the images in the objects that For returns, those of
// the pools' own fields, and others that the caller names. An image that is at the mirror already is not listed.
func Images(pools []Pool, options Options, extra ...string) ([]Image, error) {
	found, err := Build(pools, Options{Releases: options.Releases, HyperV: options.HyperV, CSIProxy: options.CSIProxy})
	if err != nil {
		return nil, err
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	names := map[string]Image{}
	for _, name := range slices.Concat(found.images(), ofPools(pools), extra) {
		host, path := splitImage(name)
		image := Image{Source: host + "/" + path}
		if options.Registry != "" {
			image.Mirror = mirrored(options.Registry, name)
		}
		if !strings.HasPrefix(image.Source, options.Registry+"/") {
			names[image.Source] = image
		}
	}
	var images []Image
	for _, source := range slices.Sorted(maps.Keys(names)) {
		images = append(images, names[source])
	}
	return images, nil
}

// NotListed has a sentence for what these pools pull and Images cannot know.
func NotListed(pools []Pool) (notes []string) {
	for _, p := range pools {
		if p.PauseImage == "" {
			notes = append(notes, fmt.Sprintf("%s: spec.containerd.pauseImage is not set, so the pause image is the one that the "+
				"machine's image names and usually has; it is not listed", p.name()))
		}
		if p.Network.CNI != "" {
			notes = append(notes, fmt.Sprintf("%s: the images of %s itself are not listed; docs/air-gap.md names the command that "+
				"prints them for Calico", p.name(), p.Network.CNI))
		}
	}
	return notes
}

// images are those of all containers in the objects.
func (a *Addons) images() (names []string) {
	for _, object := range a.Objects {
		names = append(names, imagesIn(object.Object)...)
	}
	return names
}

// imagesIn looks for the field of containers. No other object of ours has a field of this name.
func imagesIn(node any) (names []string) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if name, ok := value.(string); ok && key == "image" {
				names = append(names, name)
				continue
			}
			names = append(names, imagesIn(value)...)
		}
	case []any:
		for _, item := range node {
			names = append(names, imagesIn(item)...)
		}
	}
	return names
}

func ofPools(pools []Pool) (names []string) {
	for _, p := range pools {
		names = append(names, p.Prepulled...)
		if p.PauseImage != "" {
			names = append(names, p.PauseImage)
		}
	}
	return names
}

// mirrored is the name of a copy: the mirror stands in place of the registry, and the path stays. So the same copies serve
// containerd, which asks the mirrors of spec.containerd.registries for the path of an image.
func mirrored(mirror, image string) string {
	_, path := splitImage(image)
	return mirror + "/" + path
}

// splitImage finds the registry of an image as containerd does: what stands before the first slash, if it looks like a host.
func splitImage(image string) (host, path string) {
	host, path, found := strings.Cut(image, "/")
	switch {
	case !found:
		return dockerHub, officialImages + "/" + image
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		return dockerHub, image
	}
	return host, path
}
