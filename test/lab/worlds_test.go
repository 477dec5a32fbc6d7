package lab_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/lab/guest"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// bootstrapSpec has a short name here: most worlds need one.
type bootstrapSpec = bootstrapv1.WindowsBootstrapConfigSpec

// haste is how much faster time goes in the guests that fail: kubeadm and plans wait for minutes until they give up.
const haste = 20

// provoked is a reason that a node gives, and the world in which it does.
type provoked struct {
	reason string
	// in is what tells two worlds of one reason apart.
	in string
	// world spoils the guest, config is what its machine is asked for.
	world  func(g *guest.Simulated)
	config bootstrapv1.WindowsBootstrapConfigSpec
	// networks of its VM, as in a pool.
	networks string
	// phase in which it fails, and a part of what is told.
	phase, says string
	exitCode    int32
	// soft ones are warnings of a node that joins.
	soft bool
}

func (p provoked) pool() string { return strings.ToLower(p.reason) + p.in }

// provocations of all reasons.
func (j *joins) provocations() []provoked {
	all := slices.Concat(j.ofTheImage(), j.ofTheNetwork(), j.ofTheJoin(), j.ofTheSettings(), j.ofTheAgent())
	slices.SortFunc(all, func(a, b provoked) int { return strings.Compare(a.pool(), b.pool()) })
	return all
}

// ofTheImage: what is wrong was wrong before the first start.
func (j *joins) ofTheImage() []provoked {
	return []provoked{
		{
			reason: step.ReasonWindowsNotSupported, phase: "prepare", says: "Windows has build 14393",
			world: func(g *guest.Simulated) { g.Build = "14393.5000" },
		},
		{
			reason: step.ReasonWindowsPatchLevelTooLow, phase: "network",
			says:  "Windows has build 17763.100, overlay networks need 17763.379 or later",
			world: func(g *guest.Simulated) { g.Build = "17763.100" }, config: network(bootstrapv1.NetworkOverlay, bootstrapv1.CNIFlannel),
		},
		{
			reason: step.ReasonImageVersionMismatch, phase: "prepare", says: "the image has kubeadm 1.35, the Machine wants ",
			world: faulty(guest.Faults{Kubeadm: "v1.35.9"}),
		},
		{
			reason: step.ReasonNodeFilesFailed, phase: "prepare", says: "kubeadm",
			world: withFile(`C:\run\kubeadm`, "a file in the place of a folder"),
		},
		{
			reason: step.ReasonFilesFailed, phase: "prepare", says: `C:\app\settings.txt`,
			world: withFile(`C:\app\settings.txt\old`, "a folder in the place of a file"),
			config: bootstrapSpec{
				Custom: bootstrapv1.Custom{Files: []bootstrapv1.CustomFile{{Path: `C:\app\settings.txt`, Content: "new"}}},
			},
		},
		{
			reason: step.ReasonContainerdConfigFailed, phase: "container-runtime", says: "conf.d",
			world:  withFile(`C:\Program Files\containerd\conf.d`, "a file in the place of a folder"),
			config: bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "registry.k8s.io/pause:3.10.2"}},
		},
		{
			reason: step.ReasonContainerRuntimeNotReady, phase: "container-runtime", says: "containerd",
			world: func(g *guest.Simulated) {
				const path = `C:\Program Files\containerd\containerd.exe`
				g.Programs = map[string]windows.Program{path: func(_ context.Context, call *windows.Call) int {
					return call.Fail("containerd: failed to load TOML from config.toml")
				}}
			},
		},
		{
			reason: step.ReasonContainerdTooOld, phase: "prepare", says: "the image has containerd 1.6",
			world: running("containerd.exe", "--version",
				prints("containerd github.com/containerd/containerd v1.6.36 88c3d9bc5b5a193f40b7c14fa996d23532d6f956")),
		},
		{
			reason: step.ReasonPauseImageMissing, phase: "images", says: "localhost:1/pause:1", exitCode: 1,
			config: bootstrapSpec{Containerd: bootstrapv1.Containerd{PauseImage: "localhost:1/pause:1"}},
		},
		{
			reason: step.ReasonImageVersionMismatch, in: "-patch", says: "kubelet-patch-of-image: the image has kubelet ", soft: true,
			world: running("kubelet.exe", "--version", prints("Kubernetes v1.36.99")),
		},
		{
			reason: step.ReasonMachineTooSmall, says: "disk-free: disk C: has ", soft: true,
			world: func(g *guest.Simulated) { g.DiskFreeMiB = 15000 },
		},
		{
			reason: step.ReasonKubeletServiceFailed, phase: "kubelet", says: "sc.exe config kubelet", exitCode: 1072,
			world: image(func(s *windows.State) { s.Services["kubelet"].Doomed = true }),
		},
		{
			reason: step.ReasonPageFileMissing, phase: "windows", says: "Windows has no page file",
			world: image(func(s *windows.State) {
				s.SetValue(windows.ControlKey+`\Session Manager\Memory Management`, "PagingFiles", windows.MultiString(""))
			}),
		},
		{
			reason: step.ReasonDefenderFailed, says: "defender-exclusions: ", soft: true,
			world: image(func(s *windows.State) { s.Defender = nil }),
		},
		{
			reason: step.ReasonVMwareToolsFailed, says: "vmware-tools-restarted: ", soft: true,
			world: image(func(s *windows.State) { delete(s.Services, "VMTools") }),
		},
	}
}

func (j *joins) ofTheNetwork() []provoked {
	l2bridge := network(bootstrapv1.NetworkL2Bridge, bootstrapv1.CNIFlannel)
	return []provoked{
		{
			reason: step.ReasonAddressesNotSet, phase: "prepare", says: "adapter", networks: pooledNetworks,
			world: image(func(s *windows.State) { s.Adapters[0].MAC = "00-50-56-3F-FF-FF" }),
		},
		{
			reason: step.ReasonStaleNetworks, phase: "network", says: "0x800706ba", config: l2bridge,
			world: throwing("Send-HnsCall", "HNS failed with error: the RPC server is unavailable (0x800706ba)"),
		},
		{
			reason: step.ReasonNetworkSettingsFailed, phase: "network", says: "service", config: l2bridge,
			world: throwing("New-NetFirewallRule", "the service cannot be started, because it is disabled"),
		},
		{
			reason: step.ReasonNetworkNotReady, phase: "network", says: "External", config: l2bridge,
			world: faulty(guest.Faults{NoDHCP: true}),
		},
		{
			reason: step.ReasonPodCIDRMissing, phase: "verify", says: "has no IPv4 pod CIDR of the size /24",
			world:  running("kubectl.exe", "--kubeconfig", withoutPodCIDRs),
			config: network(bootstrapv1.NetworkL2Bridge, bootstrapv1.CNIWinBridge),
		},
		{
			reason: step.ReasonAPIServerUnreachable, phase: "api-server", says: "unreachable network",
			world: faulty(guest.Faults{Unreachable: true}),
		},
		{
			reason: step.ReasonAPIServerCAMismatch, phase: "api-server", says: "another CA",
			world: faulty(guest.Faults{Redirect: j.otherServer()}),
		},
		{
			// The script that looks does not tell a wrong date from a wrong CA.
			reason: step.ReasonAPIServerCAMismatch, in: "-date", phase: "api-server", says: "another CA",
			world: faulty(guest.Faults{Ahead: -20 * 365 * 24 * time.Hour}),
		},
	}
}

// ofTheJoin: what kubeadm and the kubelet say.
func (j *joins) ofTheJoin() []provoked {
	return []provoked{
		{
			reason: step.ReasonTokenRejected, phase: "join", says: "token", exitCode: 1,
			world: func(*guest.Simulated) { j.replaceToken(strings.ToLower(step.ReasonTokenRejected)) },
		},
		{
			// A date that is wrong from the start is found before, so it goes wrong when kubeadm starts.
			reason: step.ReasonClockWrong, phase: "join", says: "not valid at the node's time", exitCode: 1,
			world: atJoin(func(call *windows.Call) windows.Program {
				call.Machine.SetTime(20 * 365 * 24 * time.Hour)
				return nil
			}),
		},
		{
			reason: step.ReasonPreflightFailed, phase: "join", says: "preflight", exitCode: 1,
			world: withService("other", func(ctx context.Context, call *windows.Call) int {
				call.Machine.OpenPipe("0.0.0.0:10250")
				call.Running()
				<-ctx.Done()
				return 0
			}),
		},
		{
			reason: step.ReasonNodeNameTaken, phase: "join", says: "a Ready Node of this name", exitCode: 1,
			world: func(g *guest.Simulated) { j.takeName(filepath.Base(g.Dir)) },
		},
		{
			reason: step.ReasonTLSBootstrapFailed, phase: "join", says: "no certificate", exitCode: 1,
			world: faulty(guest.Faults{Blocked: []string{"kubelet.exe"}}),
		},
		{
			reason: step.ReasonKubeletNotHealthy, phase: "join", says: "kubelet", exitCode: 1,
			world: faulty(guest.Faults{KubeletSick: true}),
		},
		{
			reason: step.ReasonJoinFailed, phase: "join", says: "kubeadm.exe", exitCode: dllNotFound,
			world: atJoin(func(*windows.Call) windows.Program {
				return func(context.Context, *windows.Call) int { return dllNotFound }
			}),
		},
		{
			reason: step.ReasonNodeNotRegistered, phase: "verify", says: "the API server does not show the Node", exitCode: 1,
			config: bootstrapSpec{Node: bootstrapv1.NodeRegistration{Labels: []bootstrapv1.NodeLabel{{Name: refusedLabel}}}},
		},
		{
			reason: step.ReasonKubeletArgsNotApplied, phase: "verify", says: "the service kubelet was changed during the join",
			world: func(g *guest.Simulated) {
				withService("repair", repairKubelet)(g)
				g.Speed = 1
			},
		},
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
		{
			reason: step.ReasonPageFileFailed, phase: "windows", says: noAccess,
			world:  locked(windows.ControlKey + `\Session Manager\Memory Management`),
			config: bootstrapSpec{PageFile: bootstrapv1.PageFile{Policy: bootstrapv1.PageFileFixed, SizeMiB: 4096}},
		},
		{
			reason: step.ReasonTrustFailed, phase: "windows", says: "CertUtil: -addstore command FAILED: 0x80070005",
			exitCode: -2147024891,
			world:    locked(`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\SystemCertificates\ROOT`),
			config: settings(bootstrapv1.Windows{
				TrustedCertificates: []bootstrapv1.TrustedCertificate{{Name: "corp", Content: string(j.lab.Workload.CA)}},
			}),
		},
		{
			reason: step.ReasonProxyFailed, phase: "windows", says: noAccess,
			world:  locked(windows.ControlKey + `\Session Manager\Environment`),
			config: settings(bootstrapv1.Windows{Proxy: bootstrapv1.Proxy{HTTPS: "http://proxy.example.com:3128"}}),
		},
		{
			reason: step.ReasonTimeFailed, phase: "windows", says: "sc.exe start w32time", exitCode: 1058,
			world:  image(func(s *windows.State) { s.SetValue(windows.ServicesKey+`\w32time`, "Start", windows.DWord(4)) }),
			config: settings(bootstrapv1.Windows{NTPServers: []string{"time.example.com"}}),
		},
		{
			reason: step.ReasonFeatureFailed, phase: "windows", says: "No-Such-Feature",
			config: settings(bootstrapv1.Windows{Features: []string{"No-Such-Feature"}}),
		},
		{
			reason: step.ReasonUserFailed, phase: "windows", says: "password",
			world:  throwing("New-LocalUser", "the password does not meet the policy"),
			config: settings(bootstrapv1.Windows{Users: []bootstrapv1.LocalUser{{Name: "ops", SSHKeys: []string{publicKey}}}}),
		},
		{
			reason: step.ReasonCSIProxyFailed, phase: "kubelet", says: `C:\k\csi-proxy.exe`,
			config: settings(bootstrapv1.Windows{CSIProxy: bootstrapv1.CSIProxy{Path: `C:\k\csi-proxy.exe`}}),
		},
		{
			reason: step.ReasonGMSAPluginFailed, phase: "kubelet", says: "the gMSA plug-in", exitCode: 1,
			config: settings(bootstrapv1.Windows{GMSAPlugin: bootstrapv1.GMSAPlugin{ClassID: "CCC2A336-D7F3-4818-A213-272B7924213E"}}),
		},
		{
			reason: step.ReasonDomainJoinFailed, phase: "windows", says: "domain", exitCode: 1,
			config: settings(bootstrapv1.Windows{Domain: bootstrapv1.Domain{
				Name: "corp.example.com", CredentialsRef: bootstrapv1.SecretReference{Name: domainSecret},
			}}),
		},
		{
			reason: step.ReasonPreJoinScriptFailed, phase: "pre-join", says: "licence server", exitCode: 7,
			config: bootstrapSpec{Custom: bootstrapv1.Custom{PreJoin: script}},
		},
		{
			reason: step.ReasonPostJoinScriptFailed, phase: "post-join", says: "licence server", exitCode: 7,
			config: bootstrapSpec{Custom: bootstrapv1.Custom{PostJoin: script}},
		},
		{
			reason: step.ReasonImagePullFailed, says: "pull-1: ", soft: true,
			config: bootstrapSpec{Containerd: bootstrapv1.Containerd{PrepullImages: []string{"localhost:1/app:1"}}},
		},
	}
}

// publicKey has no private key that we know.
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA nobody"

// ofTheAgent: what has nothing to do with a step.
func (j *joins) ofTheAgent() []provoked {
	return []provoked{
		{
			reason: step.ReasonPlanNotUnderstood, says: "#", world: faulty(guest.Faults{BadBlock: true}),
		},
		{
			reason: step.ReasonBootstrapTimeout, phase: "join", says: "300 s",
			world: atJoin(func(*windows.Call) windows.Program {
				return func(ctx context.Context, _ *windows.Call) int { <-ctx.Done(); return -1 }
			}),
			config: bootstrapSpec{DeadlineSeconds: 300},
		},
		{
			reason: step.ReasonTooManyReboots, phase: "windows", says: "features",
			world: func(g *guest.Simulated) {
				g.Faults.Features = windows.FeatureFaults{NeedsReboot: true, NeverDone: true}
				g.Image = func(s *windows.State) { s.Features["Web-Server"] = "Available" }
			},
			config: bootstrapSpec{Windows: bootstrapv1.Windows{Features: []string{"Web-Server"}}},
		},
		{
			reason: step.ReasonFactsUnavailable, says: "Invalid class", world: throwing("Get-CimInstance", "Invalid class"),
		},
		{
			reason: step.ReasonInternalError, says: "marked for deletion",
			world: throwing("Test-BootMarker", "illegal operation attempted on a registry key that has been marked for deletion"),
		},
	}
}
