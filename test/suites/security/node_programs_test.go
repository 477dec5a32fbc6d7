package security

import (
	"context"
	"fmt"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// imageAttacks begin with what an image has left open.
func imageAttacks() []attack {
	const everyone = "O:BAD:AI(A;OICI;FA;;;BU)"
	var all []attack
	for _, one := range []struct{ what, folder, file string }{
		{"programs", `C:\k`, "kubeadm.exe"},
		{"plug-ins of the CNI", `C:\opt\cni\bin`, "win-bridge.exe"},
		{"configurations of the CNI", `C:\etc\cni\net.d`, "10-image.conf"},
		{"static pods", `C:\etc\kubernetes\manifests`, "pod.yaml"},
		{"registries of containerd", `C:\ProgramData\containerd\certs.d\docker.io`, "hosts.toml"},
		{"addresses of pods", `C:\var\lib\cni\networks`, "10.0.0.1"},
		{"logs of pods", `C:\var\log\pods`, "0.log"},
	} {
		all = append(all, attack{"node user", "changes " + one.what + " that an image has left open to all", func(t *testing.T) string {
			n, path := newNode(t), one.folder+`\`+one.file
			expect.OK(t, n.machine.Put(path, []byte("of the image")))
			expect.OK(t, n.machine.Protect(one.folder, everyone))
			expect.OK(t, n.machine.Protect(path, everyone))
			expect.OK(t, n.user.Write(one.folder+`\version.dll`, evil)) // the user is the owner
			n.succeeded(n.run("vsphere"))
			n.denied("change it", n.user.Write(path, evil))
			n.denied("replace it", n.user.Replace(path, evil))
			n.denied("change what was theirs", n.user.Write(one.folder+`\version.dll`, evil))
			n.denied("make something beside it", n.user.Write(one.folder+`\more.dll`, evil))
			n.denied("link it", n.user.Link(one.folder+`\more`, `C:\Users\mallory`))
			return "access is denied: all in the folder belongs to administrators"
		}})
	}
	return append(all, programAttacks()...)
}

// programAttacks are about what SYSTEM runs, and about what it does for a user.
func programAttacks() []attack {
	return []attack{
		{"node user", "links a program of ours to one of their own", func(t *testing.T) string {
			n := newNode(t)
			expect.OK(t, n.machine.MakeDirectory(`C:\k`))
			expect.OK(t, n.machine.Protect(`C:\k`, "O:BAD:AI(A;OICI;FA;;;BU)"))
			expect.OK(t, n.user.Link(`C:\k\kubeadm.exe`, `C:\Users\mallory`))
			n.succeeded(n.run("vsphere"))
			expect.Same(t, "there is a link", false, n.machine.IsLink(`C:\k\kubeadm.exe`))
			return "the link is removed"
		}},
		{"node user", "puts a program into a folder of PATH, under a name that SYSTEM runs", func(t *testing.T) string {
			n := newNode(t)
			n.machine.Intercept = nil
			n.own(`C:\tools`)
			expect.OK(t, n.user.Write(`C:\tools\kubectl.exe`, evil))
			expect.OK(t, n.machine.Install(`C:\tools\kubectl.exe`, func(_ context.Context, call *windows.Call) int {
				t.Error("it ran")
				return call.Fail("")
			}))
			expect.OK(t, n.machine.Setup(func(s *windows.State) {
				s.SetValue(windows.ControlKey+`\Session Manager\Environment`, "Path", windows.Text(`C:\tools`))
			}))
			report := n.carryOut(planOf(&plan.Run{Common: plan.Common{Name: "r"}, Argv: plan.Texts("kubectl.exe")}))
			expect.Same(t, "message", "The system cannot find the file specified: kubectl.exe", report.Message)
			return "bare names are looked for among Windows' own programs"
		}},
		{"node user", "gets a folder from SYSTEM, by a junction in place of their SSH keys", func(t *testing.T) string {
			n := newNode(t)
			expect.OK(t, n.machine.MakeDirectory(`C:\k`))
			expect.OK(t, n.machine.Protect(`C:\k`, windows.AdminOnly))
			expect.OK(t, n.machine.Setup(func(s *windows.State) {
				s.Users["mallory"] = &windows.User{SID: mallory, Groups: []string{"S-1-5-32-545"}}
			}))
			expect.OK(t, n.user.Link(`C:\Users\mallory\.ssh`, `C:\k`))
			report := n.carryOut(planOf(&plan.LocalUser{
				Common: plan.Common{Name: "u"}, User: "mallory", Groups: plan.Texts("S-1-5-32-545"),
				SSHKeys: plan.Texts("ssh-ed25519 AAAA x"),
			}))
			expect.Same(t, "message", "a link is in the way: .ssh; make it a folder", report.Message)
			n.denied("write there", n.user.Write(`C:\k\evil.exe`, evil))
			return "refused: " + report.Reason
		}},
		{"node user", "reads a secret in the node's report, wrapped as a console wraps it", func(t *testing.T) string {
			n := newNode(t)
			const secret = "correct horse battery staple"
			n.machine.Intercept = func(*windows.Call) windows.Program {
				return func(_ context.Context, call *windows.Call) int {
					return call.Fail("bad key: %s\r\n    %s", secret[:11], secret[11:])
				}
			}
			file := &plan.File{
				Common: plan.Common{Name: "f"}, Path: plan.Text(`C:\k\key`), Text: plan.Text(secret),
				Access: plan.FileAdmin, Secret: true,
			}
			report := n.carryOut(planOf(file, &plan.Run{Common: plan.Common{Name: "r"}, Argv: plan.Texts(`C:\k\a.exe`)}))
			expect.Same(t, "last lines", "[bad key: [redacted]]", fmt.Sprint(report.LastLines))
			return "the secret is left out"
		}},
	}
}
