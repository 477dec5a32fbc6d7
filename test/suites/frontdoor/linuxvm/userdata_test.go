package linuxvm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What cloud-init fills in, it fills in; what it does not know is an error, as a host name that stays a template would be.
func TestRead(t *testing.T) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	expect.Got(writer.Write([]byte("packed")))(t)
	expect.OK(t, writer.Close())
	const head = "## template: jinja\n#cloud-config\n\nwrite_files:\n"
	data := expect.Got(read([]byte(head+
		"- path: /a\n  content: '{{ ds.meta_data.hostname }} or {{ local_hostname }}, {{ ds.meta_data[\"local_hostname\"] }}'\n"+
		"- path: /b\n  encoding: gzip+base64\n  content: "+base64.StdEncoding.EncodeToString(packed.Bytes())+"\n"+
		"runcmd:\n- hostnamectl set-hostname \"{{ ds.meta_data.hostname }}\"\n"), "vm-1"))(t)
	expect.Same(t, "names", "vm-1 or vm-1, vm-1", data.files[0].Content)
	expect.Same(t, "what was packed", "packed", data.files[1].Content)
	expect.Same(t, "commands", []string{`hostnamectl set-hostname "vm-1"`}, data.commands)

	_, err := read([]byte(head+"- {path: /a, content: '{{ ds.meta_data.region }}'}\n"), "vm-1")
	expect.Says(t, "an unknown name", err, "ds.meta_data.region")
	_, err = read([]byte("#!/bin/sh\n"), "vm-1")
	expect.Says(t, "a script", err, "no #cloud-config")
}

// Commands find the files of the image below its root, and change nothing of this machine. What they write into files is for the
// image.
func TestDisk(t *testing.T) {
	d := disk{root: filepath.Join(t.TempDir(), "vm"), programs: t.TempDir()}
	manifest := "  path: /etc/kubernetes/admin.conf\n"
	expect.OK(t, d.lay([]file{
		{Path: initFile, Content: "init"},
		{Path: kubeVIPFile, Content: manifest},
		{Path: "/etc/once.sh", Content: "#!/bin/bash\ntouch /run/once\n"},
	}))
	for _, command := range []string{
		`hostnamectl set-hostname "vm-1"`,
		`echo "127.0.0.1 vm-1" >>/etc/hosts`,
		"if [ -f /run/kubeadm/kubeadm.yaml ]; then\n" +
			"  sed -i 's# path: /etc/kubernetes/admin.conf# path: /etc/kubernetes/super-admin.conf#' " + kubeVIPFile + "\nfi\n",
		"/etc/once.sh",
	} {
		expect.OK(t, d.run(t.Context(), command))
	}
	expect.Same(t, "hosts", "127.0.0.1 vm-1\n", string(expect.Got(d.read("/etc/hosts"))(t)))
	want := strings.Replace(manifest, "admin.conf", "super-admin.conf", 1)
	expect.Same(t, "manifest", want, string(expect.Got(d.read(kubeVIPFile))(t)))
	expect.Got(os.Stat(d.path("/run/once")))(t)
	expect.Says(t, "a command that fails", d.run(t.Context(), "false"), `run "false"`)
}

// kube-vip takes its address only with a login that has rights while kubeadm init runs.
func TestKubeVIP(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: kube-vip\n    env:\n" +
		"    - {name: address, value: 192.0.2.9}\n    - {name: port, value: \"6443\"}\n" +
		"  volumes:\n  - name: kubeconfig\n    hostPath: {path: /etc/kubernetes/LOGIN}\n"
	for login, want := range map[string]string{"super-admin.conf": "192.0.2.9:6443", "admin.conf": ""} {
		vm := &VM{disk: disk{root: t.TempDir()}}
		expect.OK(t, vm.disk.lay([]file{{Path: kubeVIPFile, Content: strings.Replace(pod, "LOGIN", login, 1)}}))
		got, err := vm.kubeVIP()
		expect.Same(t, "address with "+login, want, got)
		if want == "" {
			expect.Says(t, "the wrong login", err, "admin.conf, which has no rights yet")
		}
	}
	vm := &VM{disk: disk{root: t.TempDir()}}
	got, err := vm.kubeVIP()
	expect.OK(t, err)
	expect.Same(t, "address without kube-vip", "", got)
}
