package servers

import "syscall"

// childAttributes put a child into its own process group, so that Ctrl-C reaches us and we stop children in order, and let
// the kernel kill it when we die, so that a killed test leaks nothing.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
