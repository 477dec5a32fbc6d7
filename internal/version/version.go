// Package version says which release a program is of.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker; hack/image does that for a release.
var release string

// Get returns the release, or what Go knows of the source.
func Get() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// Line is what a program prints when it is asked for its version.
func Line(program string) string {
	return fmt.Sprintf("%s %s, %s, %s/%s", program, Get(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
