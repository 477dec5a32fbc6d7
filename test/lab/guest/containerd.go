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
	imagesPath        = `C:\Program Files\containerd\ctr.exe`
	dropIns           = `C:\Program Files\containerd\conf.d\*.toml`
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

// images is ctr.exe; played is `images list name==IMAGE`: the image has its own pause image and no other. What else
// ctr does is the other program's; without one, all is pulled.
func images(other windows.Program) windows.Program {
	return func(ctx context.Context, call *windows.Call) int {
		list := []string{"--namespace", "k8s.io", "images", "list"}
		if len(call.Argv) == 6 && slices.Equal(call.Argv[1:5], list) {
			call.Print("REF\tTYPE\tDIGEST\tSIZE\tPLATFORMS\tLABELS\t")
			if call.Argv[5] == "name=="+imagePause {
				call.Print("%s\tapplication/vnd.oci.image.index.v1+json\tsha256:00\t1.0 MiB\twindows/amd64\t-\t", imagePause)
			}
			return 0
		}
		if other != nil {
			return other(ctx, call)
		}
		call.Print("%s: done", call.Argv[len(call.Argv)-1])
		return 0
	}
}
