package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

const repository = "../../.."

// tutorialPages are those whose commands run here, from an empty folder. What ends a pool or replaces managers comes last.
var tutorialPages = []string{
	"install.md", "quick-start.md", "install-azure.md", "networks.md", "windows-nodes.md", "placement.md", "vcenter.md",
	"day-two.md", "images.md",
}

// tutorialEnd are the sections that run after all others.
var tutorialEnd = []string{"Remove a pool", "Upgrade", "Uninstall"}

// A reader of the pages gets from an empty folder to a pool of nodes, changes it, and removes it, with the commands of the pages
// alone.
func TestTutorial(t *testing.T) {
	stories.Begin(t)
	ctx, l := started(t, lab.Options{BootTime: time.Second})
	r := newReader(t, l)
	r.installClusterAPI(ctx)
	kept := ""
	for _, b := range wantedOf(inOrder(tutorialBlocks(t))) {
		if b.section == "Uninstall" && kept == "" {
			kept = r.kept(ctx)
		}
		r.run(ctx, b)
	}
	(&story{T: t, lab: l}).assertNoVM()
	if t.Logf("before Uninstall, the workload cluster has of us:\n%s", kept); !strings.Contains(kept, "validatingadmissionpolicy") {
		t.Error("it has no policies of us, which Uninstall should remove")
	}
	expect.Same(t, "what the workload cluster has of us in the end", "", r.kept(ctx))
}

// reader is a platform engineer with a shell, who has kubectl and clusterctl, and no network.
type reader struct {
	t           *testing.T
	lab         *lab.Lab
	home        string
	environment []string
}

// kept are all objects in the workload cluster that have a label of ours, of whatever kind.
func (r reader) kept(ctx context.Context) string {
	r.t.Helper()
	file := filepath.Join(r.home, "kept")
	r.shell(ctx, `kinds=$(kubectl --kubeconfig workload.kubeconfig api-resources --verbs=list --output=name | paste -s -d , -)`+"\n"+
		"for label in app.kubernetes.io/managed-by=capwin capwin.io/policies; do\n"+
		`kubectl --kubeconfig workload.kubeconfig get "$kinds" --ignore-not-found --all-namespaces --output name -l "$label"`+"\n"+
		"done > "+file+"\nunset kinds label\n")
	return string(expect.Got(os.ReadFile(file))(r.t))
}

// block is some commands of a page.
type block struct{ page, section, text string }

//nolint:gocritic // because with m, ^ is the beginning of each line
var headsAndBlocks = regexp.MustCompile("(?m:^## (.*)$)|(?ms:^ *```([a-z]*)\n(.*?)^ *```$)")

func tutorialBlocks(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, page := range tutorialPages {
		content := string(expect.Got(os.ReadFile(filepath.Join(repository, "docs", page)))(t))
		section := ""
		for _, found := range headsAndBlocks.FindAllStringSubmatch(content, -1) {
			switch {
			case found[1] != "":
				section = found[1]
			case found[2] == "sh":
				all = append(all, block{page, section, strings.TrimLeft(found[3], " ")})
			case found[2] == "bash" || found[2] == "shell" || found[2] == "console":
				t.Errorf("%s: call a block of commands sh, so that it is run:\n%s", page, found[3])
			}
		}
	}
	return all
}

func inOrder(blocks []block) []block {
	slices.SortStableFunc(blocks, func(a, b block) int {
		return slices.Index(tutorialEnd, a.section) - slices.Index(tutorialEnd, b.section)
	})
	return blocks
}

// excuse is the entry of notRun for the block.
func (b block) excuse() string {
	if b.first() {
		return ""
	}
	for start := range notRun {
		if strings.HasPrefix(b.text, start) {
			return start
		}
	}
	return ""
}

func newReader(t *testing.T, l *lab.Lab) reader {
	t.Helper()
	r := reader{t: t, lab: l, home: t.TempDir()}
	store := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(store.Close)
	credentials := l.VCenter.Credentials()
	names := map[string]string{
		"IMAGE":   strings.TrimPrefix(store.URL, "http://") + "/capwin/manager:v0.1.0",
		"CLUSTER": lab.ClusterName, "NAMESPACE": lab.Namespace, "KUBERNETES_VERSION": l.Workload.Version,
		"VSPHERE_SERVER": string(credentials["server"]), "VSPHERE_USERNAME": string(credentials["username"]),
		"VSPHERE_PASSWORD": string(credentials["password"]), "VSPHERE_TLS_THUMBPRINT_SHA256": string(credentials["thumbprint"]),
		"VSPHERE_DATACENTER": vcenter.Datacenter, "VSPHERE_FOLDER": vcenter.Folder, "VSPHERE_RESOURCE_POOL": vcenter.ResourcePool,
		"VSPHERE_NETWORK": "VM Network", "VSPHERE_WINDOWS_TEMPLATE": vcenter.Template,
	}
	wantNames(t, names)
	dir := t.TempDir()
	maps.Copy(names, map[string]string{ // for the pages besides install.md
		"CONFIG":       filepath.Join(dir, "cluster-api-provider-windows", "out", "repository", "clusterctl.yaml"),
		"WINDOWS_POOL": "quick", "VSPHERE_DATASTORE": "LocalDS_0",
	})
	source := expect.Got(filepath.Abs(repository))(t)
	r.environment = []string{
		"HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home, "PATH=" + l.Programs() + ":" + built(dir) + os.Getenv("PATH"),
		"KUBECONFIG=" + l.Management.KubeconfigFile,
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "TMPDIR=" + t.TempDir(),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + source + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://github.com/capwin/cluster-api-provider-windows",
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "GOROOT"} {
		value := expect.Got(exec.CommandContext(t.Context(), "go", "env", name).Output())(t)
		r.environment = append(r.environment, name+"="+strings.TrimSpace(string(value)))
	}
	for name, value := range names {
		r.environment = append(r.environment, name+"="+value)
	}
	expect.OK(t, os.WriteFile(filepath.Join(r.home, "shell"), []byte("cd "+dir+"\n"), 0o600))
	return r
}

// wantNames compares the names that the page tells the reader to write with those of the test.
func wantNames(t *testing.T, names map[string]string) {
	t.Helper()
	var listed []string
	for _, b := range tutorialBlocks(t) {
		if !strings.HasPrefix(b.text, "export IMAGE=") {
			continue
		}
		for _, found := range regexp.MustCompile(`(?:export|\s)\s*([A-Z0-9_]+)=`).FindAllStringSubmatch(b.text, -1) {
			listed = append(listed, found[1])
		}
	}
	slices.Sort(listed)
	expect.Same(t, "names of the reader's own", slices.Sorted(maps.Keys(names)), listed)
}

// installClusterAPI tells clusterctl of what runs in the lab: its own programs, whose release files are not available offline.
func (r reader) installClusterAPI(ctx context.Context) {
	r.t.Helper()
	core := filepath.Join(r.home, "cluster-api", "v1.14.2")
	expect.OK(r.t, os.MkdirAll(core, 0o755))
	for file, content := range map[string]string{
		"core-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: capi-system\n",
		"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n" +
			"releaseSeries:\n- {major: 1, minor: 14, contract: v1beta2}\n",
	} {
		expect.OK(r.t, os.WriteFile(filepath.Join(core, file), []byte(content), 0o600))
	}
	expect.OK(r.t, os.WriteFile(filepath.Join(r.home, "clusterctl.yaml"), []byte("providers:\n"+r.offline()), 0o600))
	standIns := expect.Got(filepath.Abs("../release/testdata/cert-manager-stand-ins.yaml"))(r.t)
	// clusterctl labels what it installs, and moves only objects whose kinds have the label.
	label := "kubectl label customresourcedefinitions --all clusterctl.cluster.x-k8s.io=\n"
	r.shell(ctx, label+"kubectl apply --server-side --filename "+standIns+"\nclusterctl --config "+r.home+"/clusterctl.yaml init "+
		"--core cluster-api:v1.14.2 --bootstrap - --control-plane -\n")
}

func (r reader) offline() string {
	return "- name: cluster-api\n  type: CoreProvider\n  url: file://" + r.home + "/cluster-api/v1.14.2/core-components.yaml\n" +
		"cert-manager:\n  externallyProvisioned: true\n"
}

// run runs a block, and what the lab does in place of the internet.
func (r reader) run(ctx context.Context, b block) {
	r.t.Helper()
	if b.excuse() != "" {
		b.showExcuse()
		return
	}
	begin := time.Now()
	text := strings.ReplaceAll(b.text, "make repository", "repository")
	text = strings.Replace(text, "\nclusterctl --config \"$CONFIG\" init", "\noffline\nclusterctl --config \"$CONFIG\" init", 1)
	// Of the block that makes a pod, smoke alone needs kube-proxy on the node; TestSmoke runs it where one is.
	text = strings.Replace(text, "\nclusterctl windows smoke --kubeconfig workload.kubeconfig", "", 1)
	switch b.section {
	case "Install the providers":
		// clusterctl fails when the namespace goes that it tried cert-manager in, for Cluster API, a moment ago.
		text = "kubectl wait --for=delete --timeout=1m namespace/cert-manager-test\n" + text
	case "Upgrade":
		// The image that was built to install is pushed once more, under its new name: a build takes long.
		text = strings.ReplaceAll(text, "make push", "make push --assume-old=image")
	}
	if b.section == "Uninstall" && strings.Contains(b.text, "\nclusterctl ") {
		defer r.endManagers(ctx)()
	}
	said := r.shell(ctx, text)
	b.show(said)
	if strings.Contains(said, "Warning: ") {
		r.t.Errorf("%s, %s: a command of ours draws a warning:\n%s", b.page, b.section, tail(said))
	}
	for start, texts := range wantPrinted {
		for _, want := range texts {
			if strings.HasPrefix(b.text, start) && !strings.Contains(said, want) {
				r.t.Errorf("%s, %s: the commands do not print %q, but\n%s", b.page, b.section, want, tail(said))
			}
		}
	}
	if strings.Contains(said, "No resources found") {
		r.t.Errorf("%s, %s: the commands find nothing:\n%s", b.page, b.section, tail(said))
	}
	r.t.Logf("%5.1f s  %s, %s", time.Since(begin).Seconds(), b.page, b.section)
}

// endManagers asks each manager to end when its Deployment is deleted, as a kubelet does. One that stayed would lose its lease
// with its roles, and end with an error. It begins at once, and ended waits for both.
func (r reader) endManagers(ctx context.Context) (ended func()) {
	api := expect.Got(kubernetes.NewForConfig(r.lab.Management.Config))(r.t)
	ctx, cancel := wait.Within(ctx, wait.Patience) // as the commands have: they may fail before they delete anything
	var managers errgroup.Group
	for _, component := range servers.Components {
		ours := metav1.ListOptions{LabelSelector: "cluster.x-k8s.io/provider=" + component + "-windows"}
		managers.Go(func() error {
			err := wait.Poll(ctx, func(ctx context.Context) error {
				list, err := api.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, ours)
				if err == nil && len(list.Items) > 0 {
					err = fmt.Errorf("the Deployment of component %s is still there", component)
				}
				return err
			})
			return errors.Join(err, r.lab.Management.Pause(component))
		})
	}
	return func() {
		defer cancel()
		expect.OK(r.t, managers.Wait())
	}
}

// helpers are the two places where the lab differs from the internet: the clone gets what is not committed yet, and clusterctl
// finds Cluster API's own provider on the disk.
func (r reader) helpers() string {
	source := expect.Got(filepath.Abs(repository))(r.t)
	return "git() { command git \"$@\"; (cd " + source + " && command git ls-files -co --exclude-standard -z | " +
		"xargs -0 sh -c 'for f; do test ! -e \"$f\" || echo \"$f\"; done' sh | tar -cf - -T -) | " +
		"tar -xf - -C cluster-api-provider-windows; }\n" +
		"offline() { cat >> \"$CONFIG\" <<'END'\n" + r.offline() + "END\n}\n" +
		"repository() { make repository \"$@\"; offline; }\n"
}

// shell runs commands where the last ones ended, and with the variables that they exported.
func (r reader) shell(ctx context.Context, commands string) (printed string) {
	r.t.Helper()
	state := filepath.Join(r.home, "shell")
	script := "set -eo pipefail\nsource " + state + "\n" + r.helpers() + "set " + tracing() + "\n" + commands +
		"\n{ set +xv; } 2>/dev/null\n{ echo cd \"$PWD\"; export -p; } > " + state + "\n"
	ctx, cancel := wait.Within(ctx, patienceOf(commands))
	defer cancel()
	command := exec.CommandContext(ctx, "bash")
	command.Stdin, command.Env = strings.NewReader(script), r.environment
	// What bash waits for ends with it; it would hold the output open otherwise, and the test with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		r.t.Fatalf("%v (%v)\n%s\n%s", err, context.Cause(ctx), tail(said.String()), r.machines())
	}
	return said.String()
}

// patienceOf is how long commands may take. The reader waits up to an hour for real machines; those here need seconds. Without a
// cache, programs take minutes to build.
func patienceOf(commands string) time.Duration {
	if strings.Contains(commands, "\nmake ") {
		return 20 * time.Minute
	}
	return wait.Patience
}

func tail(text string) string { return text[max(0, len(text)-6000):] }

// machines is what the reader would look at next.
func (r reader) machines() string {
	command := exec.CommandContext(r.t.Context(), filepath.Join(r.lab.Programs(), "kubectl"),
		"--kubeconfig", r.lab.Management.KubeconfigFile, "--request-timeout=10s", "get", "-A", "-o", "wide",
		"clusters,machinedeployments,machinesets,machines,windowsmachines,windowsbootstrapconfigs")
	said, err := command.CombinedOutput()
	return fmt.Sprintf("%s%v", said, err)
}
