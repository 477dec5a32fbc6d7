package lab_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// bootstrapSpec has a short name here: most worlds need one.
type bootstrapSpec = bootstrapv1.WindowsBootstrapConfigSpec

// haste is how much faster time goes in the guests that fail: kubeadm and plans wait for minutes until they give up.
const haste = 20

// provoked is a reason that a node gives, and the world in which it does.
type provoked struct {
	reason string
	// name is what tells two worlds of one reason apart.
	name string
	// world spoils the guest, config is what its machine is asked for.
	world  func(g *guest.Simulated)
	config bootstrapv1.WindowsBootstrapConfigSpec
	// networks of its VM, as in a pool.
	networks string
	// phase in which it fails, and a part of what is told.
	phase, says string
	exitCode    int32
	// soft ones are warnings of a node that joins, restarts those of its next start.
	soft, restarts bool
}

// fails is a node that fails in a phase for a reason, and tells this among other things.
func fails(phase, reason, text string) provoked {
	return provoked{reason: reason, phase: phase, says: text}
}

// warns is a node that joins, with a warning that begins so.
func warns(reason, text string) provoked { return provoked{reason: reason, says: text, soft: true} }

func (p provoked) called(name string) provoked { p.name = name; return p }

func (p provoked) exits(code int32) provoked { p.exitCode = code; return p }

func (p provoked) atNextStart() provoked { p.restarts = true; return p }

func (p provoked) on(networks string) provoked { p.networks = networks; return p }

func (p provoked) in(world func(g *guest.Simulated)) provoked { p.world = world; return p }

func (p provoked) with(config bootstrapSpec) provoked { p.config = config; return p }

func (p provoked) pool() string { return strings.ToLower(p.reason) + p.name }

// provocations of all reasons.
func (j *joins) provocations() []provoked {
	all := slices.Concat(j.ofTheImage(), j.ofTheNetwork(), j.ofTheJoin(), j.ofTheSettings(), j.ofTheAgent())
	slices.SortFunc(all, func(a, b provoked) int { return strings.Compare(a.pool(), b.pool()) })
	return all
}

// ofTheImage: what is wrong was wrong before the first start.
func (j *joins) ofTheImage() []provoked {
	return []provoked{
		fails("prepare", step.ReasonWindowsNotSupported, "Windows has build 14393").
			in(func(g *guest.Simulated) { g.Build = "14393.5000" }),
		fails("network", step.ReasonWindowsPatchLevelTooLow, "Windows has build 17763.100, overlay networks need 17763.379 or later").
			in(func(g *guest.Simulated) { g.Build = "17763.100" }).
			with(network(bootstrapv1.NetworkOverlay, bootstrapv1.CNIFlannel)),
		fails("prepare", step.ReasonImageVersionMismatch, "the image has kubeadm 1.35, the Machine needs ").
			in(faulty(guest.Faults{Kubeadm: "v1.35.9"})),
		fails("prepare", step.ReasonNodeFilesFailed, "kubernetes").
			in(withFile(`C:\etc\kubernetes`, "a file in the place of a folder")),
		fails("prepare", step.ReasonFilesFailed, `C:\app\settings.txt`).
			in(withFile(`C:\app\settings.txt\old`, "a folder in the place of a file")).
			with(bootstrapSpec{
				Custom: bootstrapv1.Custom{Files: []bootstrapv1.CustomFile{{Path: `C:\app\settings.txt`, Content: "new"}}},
			}),
		fails("container-runtime", step.ReasonContainerdConfigFailed, "conf.d").
			in(withFile(`C:\Program Files\containerd\conf.d`, "a file in the place of a folder")).
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "registry.k8s.io/pause:3.10.2"}}),
		fails("container-runtime", step.ReasonContainerdConfigIgnored, "containerd does not use its settings in conf.d").
			in(withFile(`C:\Program Files\containerd\config.toml`, "version = 3\n")).
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "registry.k8s.io/pause:3.10.2"}}),
		fails("container-runtime", step.ReasonContainerdConfigIgnored, "must have version 3").called("-version").exits(1).
			in(withFile(`C:\Program Files\containerd\config.toml`,
				"version = 2\nimports = ['C:\\Program Files\\containerd\\conf.d\\*.toml']\n")).
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "registry.k8s.io/pause:3.10.2"}}),
		fails("images", step.ReasonContainerdConfigIgnored, "another file in conf.d replaces it").called("-replaced").
			in(withFile(`C:\Program Files\containerd\conf.d\99-image.toml`,
				"version = 3\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'mcr.microsoft.com/pause:3.9'\n")).
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "registry.k8s.io/pause:3.10.2"}}),
		fails("container-runtime", step.ReasonContainerRuntimeNotReady, "containerd").
			in(func(g *guest.Simulated) {
				const path = `C:\Program Files\containerd\containerd.exe`
				g.Programs = map[string]windows.Program{path: func(_ context.Context, call *windows.Call) int {
					return call.Fail("containerd: failed to load TOML from config.toml")
				}}
			}),
		fails("prepare", step.ReasonContainerdTooOld, "the image has containerd 1.6").
			in(running("containerd.exe", "--version",
				prints("containerd github.com/containerd/containerd v1.6.36 88c3d9bc5b5a193f40b7c14fa996d23532d6f956"))),
		fails("images", step.ReasonPauseImageMissing, "localhost:1/pause:1").exits(1).
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "localhost:1/pause:1"}}),
		warns(step.ReasonImageVersionMismatch, "kubelet-patch-of-image: the image has kubelet ").called("-patch").
			in(running("kubelet.exe", "--version", prints("Kubernetes v1.36.99"))),
		warns(step.ReasonWindowsNotSupported, "windows-of-a-release: Windows has build 22631").called("-client").
			in(func(g *guest.Simulated) {
				g.Build = "22631.3000"
				g.Image = func(s *windows.State) {
					s.SetValue(windows.VersionKey, "InstallationType", windows.Text("Client"))
				}
			}),
		warns(step.ReasonWindowsNotSupported, "windows-server: Windows does not report that it is a server").called("-edition").
			in(image(func(s *windows.State) {
				s.SetValue(windows.VersionKey, "InstallationType", windows.Text("Client"))
			})),
		warns(step.ReasonWindowsPatchLevelTooLow, "windows-2019-update: Windows has update 17763.1000").called("-2019").
			in(func(g *guest.Simulated) { g.Build = "17763.1000" }),
		warns(step.ReasonWindowsTooOld, "windows-fresh: Windows got its last update on 05 Mar 2024, more than 6 months ago").
			in(func(g *guest.Simulated) { g.Updated = time.Date(2024, 3, 5, 1, 2, 3, 0, time.UTC) }),
		fails("windows", step.ReasonHypervisorNotRunning, "the hypervisor of Windows does not run").exits(1060).
			in(image(func(s *windows.State) { delete(s.Services, "vid") })).
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{HyperVIsolation: bootstrapv1.HyperVIsolationEnabled}}),
		warns(step.ReasonMachineTooSmall, "disk-free: disk C: has ").
			in(func(g *guest.Simulated) { g.DiskFreeMiB = 95366 }),
		warns(step.ReasonMachineTooSmall, "data-drive-free: disk E: has 95366 MiB free").called("-drive").
			in(image(func(s *windows.State) {
				s.Volumes, s.VolumesMiB = map[string]string{"E": "NTFS"}, map[string]int{"E": 95366}
			})).
			with(bootstrapSpec{Windows: bootstrapv1.Windows{DataDrive: bootstrapv1.DataDrive{Letter: "E"}}}),
		fails("kubelet", step.ReasonKubeletServiceFailed, "sc.exe config kubelet").exits(1072).
			in(image(func(s *windows.State) { s.Services["kubelet"].Doomed = true })),
		fails("windows", step.ReasonPageFileMissing, "Windows has no page file").
			in(image(func(s *windows.State) {
				s.SetValue(windows.ControlKey+`\Session Manager\Memory Management`, "PagingFiles", windows.MultiString(""))
			})),
		warns(step.ReasonDefenderFailed, "defender-exclusions: ").
			in(image(func(s *windows.State) { s.Defender = nil })),
		warns(step.ReasonVMwareToolsFailed, "vmware-tools-restarted: ").
			in(image(func(s *windows.State) { delete(s.Services, "VMTools") })),
	}
}

func (j *joins) ofTheNetwork() []provoked {
	l2bridge := network(bootstrapv1.NetworkL2Bridge, bootstrapv1.CNIFlannel)
	return []provoked{
		fails("prepare", step.ReasonAddressesNotSet, "adapter").on(pooledNetworks).
			in(image(func(s *windows.State) { s.Adapters[0].MAC = "00-50-56-3F-FF-FF" })),
		fails("network", step.ReasonStaleNetworks, "0x800706ba").
			in(throwing("Send-HnsCall", "HNS failed with error: the RPC server is unavailable (0x800706ba)")).
			with(l2bridge),
		fails("network", step.ReasonNetworkSettingsFailed, "Windows Defender Firewall service").exits(1).
			in(image(func(s *windows.State) { s.Services["mpssvc"] = &windows.Service{State: windows.Stopped} })).
			with(l2bridge),
		fails("network", step.ReasonNetworkNotReady, "External").in(faulty(guest.Faults{NoDHCP: true})).with(l2bridge),
		fails("network", step.ReasonAddressMissing, "no IPv4 address outside of 169.254.0.0/16").in(image(withoutLease)).with(l2bridge),
		fails("verify", step.ReasonPodCIDRMissing, "has no IPv4 pod CIDR of size /24").
			in(func(g *guest.Simulated) {
				running("kubectl.exe", "--kubeconfig", withoutPodCIDRs)(g)
				withPlugins(g)
			}).
			with(l2bridge),
		fails("kubelet", step.ReasonCNIProgramMissing, `C:\opt\cni\bin\win-bridge.exe of Flannel does not exist`).
			in(func(g *guest.Simulated) { withPlugins(g); delete(g.Files, `C:\opt\cni\bin\win-bridge.exe`) }).
			with(l2bridge),
		fails("kubelet", step.ReasonNodeProgramMissing, `C:\k\kube-proxy.exe of the service kube-proxy does not exist`).
			in(func(g *guest.Simulated) { withPlugins(g); g.Without = []string{`C:\k\kube-proxy.exe`} }).
			with(l2bridge),
		fails("kubelet", step.ReasonNodeServiceFailed, "sc.exe create kube-proxy").exits(1072).
			in(func(g *guest.Simulated) {
				withPlugins(g)
				g.Image = func(s *windows.State) {
					s.Services["kube-proxy"] = &windows.Service{State: windows.Stopped, Doomed: true}
				}
			}).
			with(l2bridge),
		fails("api-server", step.ReasonAPIServerUnreachable, "unreachable network").
			in(faulty(guest.Faults{Unreachable: true})),
		fails("api-server", step.ReasonAPIServerCAMismatch, "another CA").
			in(faulty(guest.Faults{Redirect: j.otherServer()})),
		fails("api-server", step.ReasonClockWrong, "s behind the API server's").called("-date").
			in(faulty(guest.Faults{Ahead: -20 * 365 * 24 * time.Hour})),
	}
}

// withPlugins is an image with the programs of Flannel.
func withPlugins(g *guest.Simulated) {
	g.Files = map[string]string{}
	bring(g, "flannel", "win-bridge", "host-local")
}

// ofTheJoin: what kubeadm and the kubelet say.
func (j *joins) ofTheJoin() []provoked {
	return []provoked{
		fails("join", step.ReasonTokenRejected, "token").exits(1).
			in(func(*guest.Simulated) { j.replaceToken(strings.ToLower(step.ReasonTokenRejected)) }),
		// A date that is wrong from the start is found before, so it goes wrong when kubeadm starts.
		fails("join", step.ReasonClockWrong, "not valid at the node's time").exits(1).
			in(atJoin(func(call *windows.Call) windows.Program {
				call.Machine.SetTime(20 * 365 * 24 * time.Hour)
				return nil
			})),
		fails("join", step.ReasonPreflightFailed, "preflight").exits(1).
			in(withService("other", func(ctx context.Context, call *windows.Call) int {
				call.Machine.OpenPipe("0.0.0.0:10250")
				call.Running()
				<-ctx.Done()
				return 0
			})),
		fails("join", step.ReasonNodeNameTaken, "a Ready Node of this name").exits(1).
			in(func(g *guest.Simulated) { j.takeName(filepath.Base(g.Dir)) }),
		fails("join", step.ReasonTLSBootstrapFailed, "no certificate").exits(1).
			in(faulty(guest.Faults{Blocked: []string{"kubelet.exe"}})),
		fails("join", step.ReasonKubeletNotHealthy, "kubelet").exits(1).
			in(faulty(guest.Faults{KubeletSick: true})),
		fails("join", step.ReasonJoinFailed, "kubeadm.exe").exits(dllNotFound).
			in(atJoin(func(*windows.Call) windows.Program {
				return func(context.Context, *windows.Call) int { return dllNotFound }
			})),
		fails("verify", step.ReasonNodeNotRegistered, "the API server does not show the Node").exits(1).
			with(bootstrapSpec{Node: bootstrapv1.NodeRegistration{Labels: map[string]bootstrapv1.LabelValue{refusedLabel: ""}}}),
		fails("verify", step.ReasonKubeletArgsNotApplied, "the service kubelet was changed during the join").
			in(func(g *guest.Simulated) {
				withService("repair", repairKubelet)(g)
				g.Speed = 1
			}),
	}
}

// dllNotFound is how Windows ends a program whose libraries are not there: 0xC0000135.
const dllNotFound = -1073741515

// repairKubelet is a program of an image that makes the kubelet's service its own once the node has joined.
func repairKubelet(ctx context.Context, call *windows.Call) int {
	call.Running()
	for !call.Machine.FileExists(`C:\etc\kubernetes\kubelet.conf`) {
		if call.Machine.Clock.Sleep(ctx, 10*time.Millisecond) != nil {
			return 0
		}
	}
	done, err := call.Machine.Run(ctx, windows.Command{
		Argv: []string{"sc.exe", "config", "kubelet", "binPath=", `C:\k\kubelet.exe --config=C:\k\old.yaml`}, Limit: time.Minute,
	})
	if err != nil {
		return call.Fail("%v", err)
	}
	<-ctx.Done()
	return done.ExitCode
}

// ofTheSettings: what a config asks of Windows, and what it brings of its own.
func (j *joins) ofTheSettings() []provoked {
	const noAccess = "requested registry access is not allowed"
	settings := func(w bootstrapv1.Windows) bootstrapv1.WindowsBootstrapConfigSpec {
		return bootstrapSpec{Windows: w}
	}
	script := []bootstrapv1.CustomScript{{
		Name: "check", Type: bootstrapv1.ScriptCmd, Content: "@echo off\r\necho the licence server does not answer\r\nexit /b 7\r\n",
	}}
	return []provoked{
		fails("windows", step.ReasonPageFileFailed, noAccess).
			in(locked(windows.ControlKey + `\Session Manager\Memory Management`)).
			with(settings(bootstrapv1.Windows{PageFile: bootstrapv1.PageFile{Policy: bootstrapv1.PageFileFixed, SizeMiB: 4096}})),
		fails("windows", step.ReasonDataDriveFailed, "0 disks have no partitions").exits(1).
			in(image(func(s *windows.State) { s.Disks = []windows.Disk{{Partitions: 1}} })).
			with(settings(bootstrapv1.Windows{DataDrive: bootstrapv1.DataDrive{Letter: "D", Format: bootstrapv1.DataDriveIfEmpty}})),
		fails("windows", step.ReasonDataDriveFailed, "drive D: is not a disk").called("-cdrom").exits(1).
			in(image(func(s *windows.State) {
				s.Disks, s.Volumes = []windows.Disk{{}}, map[string]string{"D": windows.CDROM}
			})).
			with(settings(bootstrapv1.Windows{DataDrive: bootstrapv1.DataDrive{Letter: "D", Format: bootstrapv1.DataDriveIfEmpty}})),
		fails("windows", step.ReasonTrustFailed, "CertUtil: -addstore command FAILED: 0x80070005").exits(-2147024891).
			in(locked(`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\SystemCertificates\ROOT`)).
			with(settings(bootstrapv1.Windows{
				TrustedCertificates: []bootstrapv1.TrustedCertificate{{Name: "corp", Content: string(j.lab.Workload.CA)}},
			})),
		fails("windows", step.ReasonProxyFailed, noAccess).
			in(locked(windows.ControlKey + `\Session Manager\Environment`)).
			with(settings(bootstrapv1.Windows{Proxy: bootstrapv1.Proxy{HTTPS: "http://proxy.example.com:3128"}})),
		fails("windows", step.ReasonTimeFailed, "sc.exe start w32time").exits(1058).
			in(image(func(s *windows.State) { s.SetValue(windows.ServicesKey+`\w32time`, "Start", windows.DWord(4)) })).
			with(settings(bootstrapv1.Windows{NTPServers: []string{"time.example.com"}})),
		fails("windows", step.ReasonFeatureFailed, "No-Such-Feature").
			with(settings(bootstrapv1.Windows{Features: []string{"No-Such-Feature"}})),
		fails("windows", step.ReasonUserFailed, "password").
			in(throwing("New-LocalUser", "the password does not meet the policy")).
			with(settings(bootstrapv1.Windows{Users: []bootstrapv1.LocalUser{{Name: "ops", SSHAuthorizedKeys: []string{publicKey}}}})),
		fails("kubelet", step.ReasonCSIProxyFailed, `C:\k\csi-proxy.exe`).
			with(settings(bootstrapv1.Windows{CSIProxy: bootstrapv1.CSIProxy{Path: `C:\k\csi-proxy.exe`}})),
		fails("kubelet", step.ReasonGMSAPluginFailed, "the gMSA plug-in").
			with(settings(bootstrapv1.Windows{GMSAPlugin: bootstrapv1.GMSAPlugin{ClassID: "CCC2A336-D7F3-4818-A213-272B7924213E"}})),
		fails("windows", step.ReasonDomainJoinFailed, "domain").exits(1).
			with(settings(bootstrapv1.Windows{Domain: bootstrapv1.Domain{
				Name: "corp.example.com", CredentialsRef: bootstrapv1.SecretReference{Name: domainSecret},
			}})),
		fails("pre-join", step.ReasonPreJoinScriptFailed, "licence server").exits(7).
			with(bootstrapSpec{Custom: bootstrapv1.Custom{PreJoin: script}}),
		fails("post-join", step.ReasonPostJoinScriptFailed, "licence server").exits(7).
			with(bootstrapSpec{Custom: bootstrapv1.Custom{PostJoin: script}}),
		warns(step.ReasonEveryBootScriptFailed, "run-check: ").atNextStart().
			with(bootstrapSpec{Custom: bootstrapv1.Custom{EveryBoot: []bootstrapv1.BootScript{
				{Name: script[0].Name, Type: script[0].Type, Content: script[0].Content},
			}}}),
		warns(step.ReasonImagePullFailed, "pull-1: ").
			with(bootstrapSpec{Containerd: bootstrapv1.Containerd{PrepullImages: []string{"localhost:1/app:1"}}}),
	}
}

// publicKey has no private key that we know.
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA nobody"

// ofTheAgent: what has nothing to do with a step.
func (j *joins) ofTheAgent() []provoked {
	return []provoked{
		fails("", step.ReasonPlanNotUnderstood, "#").in(faulty(guest.Faults{BadBlock: true})),
		fails("join", step.ReasonBootstrapTimeout, "300 s").in(atJoin(func(*windows.Call) windows.Program {
			return func(ctx context.Context, _ *windows.Call) int { <-ctx.Done(); return -1 }
		})).with(bootstrapSpec{BootstrapDeadlineSeconds: 300}),
		fails("windows", step.ReasonTooManyReboots, "features").in(func(g *guest.Simulated) {
			g.Faults.Features = windows.FeatureFaults{NeedsReboot: true, NeverDone: true}
			g.Image = func(s *windows.State) { s.Features["Web-Server"] = "Available" }
		}).with(bootstrapSpec{Windows: bootstrapv1.Windows{Features: []string{"Web-Server"}}}),
		fails("windows", step.ReasonRebootFailed, "the machine cannot be restarted").exits(5).in(func(g *guest.Simulated) {
			g.Faults.Features = windows.FeatureFaults{NeedsReboot: true}
			g.Image = func(s *windows.State) { s.Features["Web-Server"] = "Available" }
			g.Faults.Instead = func(call *windows.Call) windows.Program {
				if windows.Base(call.Argv[0]) != "shutdown.exe" {
					return nil
				}
				return func(context.Context, *windows.Call) int { return 5 }
			}
		}).with(bootstrapSpec{Windows: bootstrapv1.Windows{Features: []string{"Web-Server"}}}),
		// The clock hurries: two attempts of 360 s are 36 s.
		fails("windows", step.ReasonStepHung, "Windows has not answered for 360 s").
			in(faulty(guest.Faults{Unanswered: map[string]int{"New-LocalUser": 9}})).
			with(bootstrapSpec{Windows: bootstrapv1.Windows{
				Users: []bootstrapv1.LocalUser{{Name: "ops", SSHAuthorizedKeys: []string{publicKey}}},
			}}),
		fails("", step.ReasonFactsUnavailable, "Invalid class").in(throwing("Get-CimInstance", "Invalid class")),
		fails("", step.ReasonInternalError, "marked for deletion").
			in(throwing("Test-BootMarker", "illegal operation attempted on a registry key that has been marked for deletion")),
	}
}
