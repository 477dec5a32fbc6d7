package guest

import (
	"context"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	containerdVersion = "v2.3.2"
	imagePause        = "registry.k8s.io/pause:3.10.2"
	imagesPath        = `C:\Program Files\containerd\ctr.exe`
)

// containerd listens on its pipe while it runs, and tells its version and its settings.
func containerd(ctx context.Context, call *windows.Call) int {
	command := strings.Join(call.Argv[1:], " ")
	if command == "--version" {
		call.Print("containerd github.com/containerd/containerd/v2 %s 0123456789abcdef", containerdVersion)
		return 0
	}
	settings, err := loadSettings(call.Machine)
	switch {
	case err != nil:
		return call.Fail("containerd: %v", err)
	case command == "config dump":
		call.Print("%s", settings.dump())
		return 0
	case call.Service == "":
		return call.Fail("containerd: failed to start: the service process could not connect to the service controller")
	}
	call.Machine.OpenPipe(containerdPipe)
	defer call.Machine.ClosePipe(containerdPipe)
	call.Running()
	<-ctx.Done()
	return 0
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
