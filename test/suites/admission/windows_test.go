package admission

import "strings"

// fullImage requires the registry in an image name, because containerd and ctr do not add a default.
func fullImage(field string) rule {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]"),
		message: "must be the full name of an image including its registry, such as registry.k8s.io/pause:3.10.2",
		accepted: edits(field, "registry.k8s.io/pause:3.10.2", "registry.k8s.io/a/b", "registry:5000/a", "registry:65535/a",
			"10.0.0.1:5000/a_b/c:V1.0-a", "localhost/a",
			"docker.io/library/nginx"+digest, "a.b/c:1"+digest),
		refused: edits(field, "pause:3.10", "nginx", "library/nginx", "registry.k8s.io", "registry.k8s.io/",
			"registry.k8s.io/Pause", "a.b/c:",
			"a.b/c@sha256:0a", "A.b/c", "a.b:port/c",
			"a b", "a.b:65536/c", "a..b/c", "a.b//c", "a.b/../c", "https://a.b/c", "a.b/c ", "a.b/c@sha256:"+strings.Repeat("0A", 32)),
	}
}

// onWindows are rules that follow from Windows.
var onWindows = []rule{
	place("spec.custom.files[].path"), place("spec.kubelet.log.directory"),
	{
		at: "spec.windows.users[].name", field: "spec.windows.users[0].name", message: "Windows itself uses this name; use another one",
		accepted: edits("spec.windows.users[].name", "admin", "guest2"),
		refused: edits("spec.windows.users[].name", "Administrator", "GUEST", "DefaultAccount", "WDAGUtilityAccount", "System",
			"cloudbase-init"),
	},
	{
		at: "spec.windows.users", field: "spec.windows.users",
		message:  "two users have the same name (Windows ignores case); remove one of them",
		accepted: edits("spec.windows.users", []any{user("ops"), user("ops2")}),
		refused:  edits("spec.windows.users", []any{user("ops"), user("Ops")}),
	},
	{
		at: "spec.custom.files", field: "spec.custom.files",
		message:  "two files have the same path (Windows ignores case); remove one of them",
		accepted: edits("spec.custom.files", []any{file("a"), file("b")}),
		refused:  edits("spec.custom.files", []any{file("a"), file("A")}),
	},
}

// place is the rule for paths that are reserved for the bootstrap.
func place(field string) rule {
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]"),
		message: "this path is reserved for the bootstrap and the programs of the node; use another one",
		accepted: edits(field, `C:\k\app.json`, `C:\var\lib\kubelet\app`, `C:\run\capwin2`, `C:\data\run\capwin`,
			`C:\var\lib\kube-proxy\kubeconfig.conf`, `C:\k\acr-credential-provider.exe`, `C:\Program Files\containerd2`),
		refused: edits(field, `C:\run\capwin`, `c:\RUN\Capwin\a`, `C:\run\kubeadm\a`, `C:\run\cluster-api\a`, `C:\etc\kubernetes\a`,
			`C:\var\lib\kubelet\pki\a`, `C:\var\lib\kubelet\config.yaml`, `C:\ProgramData\capwin\a`, `C:\k\azure.json`,
			`C:\ProgramData\containerd\certs.d\a`, `C:\Program Files\containerd\conf.d\a`,
			`C:\ProgramData\VMware\VMware Tools\tools.conf`, `C:\Program Files\containerd\config.toml`,
			`C:\etc\kube-proxy\config.conf`, `C:\etc\kube-flannel`,
			`C:\etc\cni\net.d\10-flannel.conf`, `C:\K\kubelet.EXE`, `C:\k\kubeadm.exe`,
			`C:\k\kubectl.exe`, `C:\k\kube-log-runner.exe`, `C:\opt\cni\bin\flannel.exe`,
			`C:\var\lib\kubelet\instance-config.yaml`, `C:\var\lib\kubelet\kubeadm-flags.env`,
			`C:\Users\All Users\containerd\certs.d\a`, `C:\Documents and Settings\All Users\a`,
			`C:\ProgramData\Application Data\containerd\certs.d\a`, `C:\users\default user\a`),
	}
}

func user(name string) map[string]any {
	return map[string]any{"name": name, "sshAuthorizedKeys": []any{"ssh-rsa AAAA"}}
}
