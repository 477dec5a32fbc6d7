package guest

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

const (
	containerdVersion = "v2.3.2"
	imagePause        = "registry.k8s.io/pause:3.10.2"
	dropIns           = `C:\Program Files\containerd\conf.d\*.toml`
	// pulledImages is what ctr has pulled, one on each line: there are no images in this containerd.
	pulledImages = `C:\ProgramData\containerd\lab-images.txt`
)

// containerd listens on its pipe while it runs, and tells its version and its pause image.
func containerd(ctx context.Context, call *windows.Call) int {
	switch strings.Join(call.Argv[1:], " ") {
	case "--version":
		call.Print("containerd github.com/containerd/containerd/v2 %s 0123456789abcdef", containerdVersion)
		return 0
	case "config dump":
		pause, err := pauseImage(call.Machine)
		if err != nil {
			return call.Fail("containerd: %v", err)
		}
		call.Print("version = 3\n\n[plugins]\n  [plugins.'io.containerd.cri.v1.images'.pinned_images]\n    sandbox = '%s'", pause)
		return 0
	}
	if call.Service == "" {
		return call.Fail("containerd: failed to start: the service process could not connect to the service controller")
	}
	call.Machine.OpenPipe(containerdPipe)
	defer call.Machine.ClosePipe(containerdPipe)
	call.Running()
	<-ctx.Done()
	return 0
}

var sandboxLine = regexp.MustCompile(`(?m)^\s*sandbox = '([^']+)'`)

// pauseImage is the image's own, or that of the last drop-in that names one. Nothing else of a drop-in is played.
func pauseImage(machine *windows.Machine) (string, error) {
	paths, err := machine.Match(dropIns)
	if err != nil {
		return "", err
	}
	slices.Sort(paths)
	pause := imagePause
	for _, path := range paths {
		text, err := machine.ReadFile(path)
		if err != nil {
			return "", err
		}
		if found := sandboxLine.FindSubmatch(text); found != nil {
			pause = string(found[1])
		}
	}
	return pause, nil
}

// ctr is ctr.exe, of which it plays `images list name==IMAGE` and `images pull IMAGE`. A pull reaches every registry.
func ctr(_ context.Context, call *windows.Call) int {
	args := call.Argv[1:]
	if len(args) < 5 || strings.Join(args[:3], " ") != "--namespace k8s.io images" {
		return call.Fail("ctr: the lab's plays images list and images pull of the namespace k8s.io")
	}
	image := args[len(args)-1]
	switch args[3] {
	case "list":
		image = strings.TrimPrefix(image, "name==")
		call.Print("REF\tTYPE\tDIGEST\tSIZE\tPLATFORMS\tLABELS\t")
		pulled, _ := call.Machine.ReadFile(pulledImages) // nothing is pulled yet
		if image == imagePause || slices.Contains(strings.Split(string(pulled), "\n"), image) {
			call.Print("%s\tapplication/vnd.oci.image.index.v1+json\tsha256:00\t1.0 MiB\twindows/amd64\t-\t", image)
		}
		return 0
	case "pull":
		if err := call.Machine.Append(pulledImages, []byte(image+"\n")); err != nil {
			return call.Fail("ctr: %v", err)
		}
		call.Print("%s: resolved", image)
		return 0
	}
	return call.Fail("ctr: the lab's plays images list and images pull")
}
