//go:build unix && !linux

package servers

import "syscall"

// childAttributes put a child into its own process group. Only Linux can also tie its life to ours.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
