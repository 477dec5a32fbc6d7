package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// kubeadm's places on Windows.
const (
	kubeletConf       = `C:\etc\kubernetes\kubelet.conf`
	bootstrapConf     = `C:\etc\kubernetes\bootstrap-kubelet.conf`
	caFile            = `C:\etc\kubernetes\pki\ca.crt`
	kubeletDir        = `C:\var\lib\kubelet`
	kubeletConfigFile = kubeletDir + `\config.yaml`
	// healthz is where the kubelet answers; many nodes of a lab share this host's ports, so it is a name and not a port.
	healthz = "127.0.0.1:10248/healthz"
	// kubeletPort is where a kubelet serves; whoever listens there is in its way. It is a name for the same reason.
	kubeletPort = "0.0.0.0:10250"
)

// kubeadm is kubeadm.exe.
func (p *power) kubeadm(ctx context.Context, call *windows.Call) int {
	version := cmp.Or(p.guest.Faults.Kubeadm, p.guest.version())
	args := call.Argv[1:]
	switch {
	case len(args) == 3 && args[0] == "version" && (args[1] == "-o" || args[1] == "--output") && args[2] == "short":
		call.Print("%s", version)
		return 0
	case len(args) > 0 && args[0] == "join":
		return p.kubeadmJoin(ctx, call, args[1:])
	case len(args) > 0 && args[0] == "reset":
		return kubeadmReset(ctx, call, args[1:])
	}
	return call.Fail("unknown command %q for \"kubeadm\"", strings.Join(args, " "))
}

func (p *power) kubeadmJoin(ctx context.Context, call *windows.Call, args []string) int {
	flags := newFlags("kubeadm")
	config := flags.String("config", "", "")
	ignore := flags.StringSlice("ignore-preflight-errors", nil, "")
	flags.IntP("v", "v", 0, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *config == "" {
		return call.Fail("kubeadm join in the lab wants --config FILE: %v", err)
	}
	j := &joining{
		call: call, machine: call.Machine, faults: p.guest.Faults, ignore: *ignore,
		version: cmp.Or(p.guest.Faults.Kubeadm, p.guest.version()),
	}
	if err := j.join(ctx, *config); err != nil {
		call.Fail("error: %v", err)
		return call.Fail("To see the stack trace of this error execute with --v=5 or higher")
	}
	call.Print("\nThis node has joined the cluster:\n* Certificate signing request was sent to apiserver and a " +
		"response was received.")
	call.Print("* The Kubelet was informed of the new secure connection details.")
	return 0
}

// joining is one run of kubeadm join.
type joining struct {
	call    *windows.Call
	machine *windows.Machine
	faults  Faults
	ignore  []string
	version string
	config  *joinConfig
}

// join is kubeadm's phases for a worker, with its words.
func (j *joining) join(ctx context.Context, file string) error {
	text, err := j.machine.ReadFile(file)
	if err != nil {
		return fmt.Errorf("unable to read config from %q: %w", file, err)
	}
	if j.config, err = readJoinConfig(text, j.version); err != nil {
		return err
	}
	j.call.Print("[preflight] Running pre-flight checks")
	if err := j.preflight(); err != nil {
		return fmt.Errorf("error execution phase preflight: %w", err)
	}
	bootstrap, err := j.discover(ctx)
	if err != nil {
		return fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	client, err := j.client(bootstrap)
	if err != nil {
		return err
	}
	kubelet, err := j.downloadConfig(ctx, client)
	if err != nil {
		return fmt.Errorf("error execution phase preflight: %w", err)
	}
	if err := j.startKubelet(ctx, client, bootstrap, kubelet); err != nil {
		return fmt.Errorf("error execution phase kubelet-start: %w", err)
	}
	if err := j.waitForKubelet(ctx); err != nil {
		return fmt.Errorf("error execution phase kubelet-wait-bootstrap: %w", err)
	}
	return nil
}

// preflight: leftovers of another join, a kubelet that runs, and no container runtime.
func (j *joining) preflight() error {
	var problems strings.Builder
	for _, path := range []string{kubeletConf, bootstrapConf, caFile} {
		check := "FileAvailable-" + strings.ReplaceAll(path[2:], `\`, "-")
		if j.machine.FileExists(path) && !j.ignored(check) {
			fmt.Fprintf(&problems, "\t[ERROR %s]: %s already exists\n", check, path[2:])
		}
	}
	if !runtimeAnswers(j.machine, j.config.criSocket) {
		fmt.Fprintf(&problems, "\t[ERROR CRI]: could not connect to the container runtime: failed to create new CRI runtime service: "+
			"validate service connection: validate CRI v1 runtime API for endpoint %q: rpc error: code = Unavailable\n",
			j.config.criSocket)
	}
	if taken, err := j.machine.PipeAnswers(kubeletPort); (err != nil || taken) && !j.ignored("Port-10250") {
		fmt.Fprint(&problems, "\t[ERROR Port-10250]: Port 10250 is in use\n")
	}
	if problems.Len() == 0 {
		return nil
	}
	j.call.Fail("[preflight] Some fatal errors occurred:\n%s[preflight] If you know what you are doing, you can make a "+
		"check non-fatal "+
		"with `--ignore-preflight-errors=...`", problems.String())
	return errors.New("preflight checks failed")
}

func runtimeAnswers(m *windows.Machine, endpoint string) bool {
	pipe, named := strings.CutPrefix(endpoint, "npipe:////./pipe/")
	answers, err := m.PipeAnswers(pipe)
	return named && err == nil && answers
}

func (j *joining) ignored(check string) bool {
	return slices.ContainsFunc(j.ignore, func(one string) bool {
		return strings.EqualFold(one, "all") || strings.EqualFold(one, check)
	})
}

func (j *joining) client(config *clientcmdapi.Config) (kubernetes.Interface, error) {
	rest, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("could not create client from bootstrap kubeconfig: %w", err)
	}
	return connect(j.machine, rest, j.faults.dialer("kubeadm.exe"))
}

// startKubelet leaves the files that the kubelet reads, and starts it.
func (j *joining) startKubelet(
	ctx context.Context, client kubernetes.Interface, bootstrap *clientcmdapi.Config, kubelet []byte,
) error {
	text, err := clientcmd.Write(*bootstrap)
	if err != nil {
		return err
	}
	if err := j.machine.Put(bootstrapConf, text); err != nil {
		return fmt.Errorf("couldn't save bootstrap-kubelet.conf to disk: %w", err)
	}
	for _, cluster := range bootstrap.Clusters {
		if j.machine.FileExists(caFile) {
			continue // it is another cluster's, if that check was ignored
		}
		if err := j.machine.Put(caFile, cluster.CertificateAuthorityData); err != nil {
			return fmt.Errorf("couldn't save the CA certificate to disk: %w", err)
		}
	}
	if err := j.nameIsFree(ctx, client); err != nil {
		return err
	}
	if _, err := j.sc(ctx, "stop"); err != nil {
		return err
	}
	if err := j.writeKubeletConfig(kubelet); err != nil {
		return err
	}
	j.call.Print("[kubelet-start] Starting the kubelet")
	code, err := j.sc(ctx, "start")
	if err == nil && code != 0 {
		j.call.Fail("[kubelet-start] WARNING: unable to start the kubelet service: [exit code %d]", code)
		j.call.Fail("[kubelet-start] Please ensure kubelet is reloaded and running manually.")
	}
	return err
}

// nameIsFree: a Ready Node of this name is another machine.
func (j *joining) nameIsFree(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Get(ctx, j.config.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot get Node %q: %w", j.config.name, err)
	}
	if ready(node) {
		return fmt.Errorf("a Node with name %q and status %q already exists in the cluster. "+
			"You must delete the existing Node or change the name of this new joining Node", j.config.name, corev1.NodeReady)
	}
	return nil
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// sc starts or stops the kubelet's service and gives the answer of Windows.
func (j *joining) sc(ctx context.Context, verb string) (int, error) {
	done, err := j.machine.Run(ctx, windows.Command{Argv: []string{"sc.exe", verb, "kubelet"}, Limit: time.Minute})
	if err != nil || verb != "stop" {
		return done.ExitCode, err
	}
	for range 40 {
		state, err := j.machine.ServiceState("kubelet")
		if err != nil || state == windows.Stopped || state == windows.Absent {
			return 0, err
		}
		if err := j.machine.Clock.Sleep(ctx, 250*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// waitForKubelet waits for its health first, then for the certificate it asks for.
func (j *joining) waitForKubelet(ctx context.Context) error {
	defer func() { _ = j.machine.Remove(bootstrapConf) }() // as kubeadm does, with the same indifference
	begin := j.machine.Clock.Now()
	health := func() bool { answers, err := j.machine.PipeAnswers(healthz); return err == nil && answers }
	if !j.poll(ctx, j.config.kubeletHealth, health) {
		j.call.Print("[kubelet-check] The kubelet is not healthy after %v", j.machine.Clock.Now().Sub(begin))
		j.call.Print("\nUnfortunately, an error has occurred, likely caused by:\n\t- The kubelet is not running")
		return errors.New(`failed while waiting for the kubelet to start: The HTTP call equal to 'curl -sSL ` +
			`http://127.0.0.1:10248/healthz' ` +
			`returned error: Get "http://127.0.0.1:10248/healthz": dial tcp 127.0.0.1:10248: connectex: No connection could be made`)
	}
	j.call.Print("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap")
	if !j.poll(ctx, j.config.tlsBootstrap, func() bool { return hasClient(j.machine, kubeletConf) }) {
		return errors.New("failed while waiting for TLS bootstrap: context deadline exceeded")
	}
	return nil
}

// poll looks twice a second.
func (j *joining) poll(ctx context.Context, limit time.Duration, holds func() bool) bool {
	for end := j.machine.Clock.Now().Add(limit); ; {
		if holds() {
			return true
		}
		if !j.machine.Clock.Now().Before(end) || j.machine.Clock.Sleep(ctx, 500*time.Millisecond) != nil {
			return false
		}
	}
}

// kubeadmReset takes back what join has left.
func kubeadmReset(ctx context.Context, call *windows.Call, args []string) int {
	flags := newFlags("kubeadm")
	force := flags.BoolP("force", "f", false, "")
	flags.String("cri-socket", "", "")
	flags.IntP("v", "v", 0, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return call.Fail("error: %v", err)
	}
	if !*force {
		return call.Fail("error: error execution phase preflight: won't proceed; the user didn't answer (Y|y) in order to continue")
	}
	j := &joining{call: call, machine: call.Machine}
	call.Print("[reset] Stopping the kubelet service")
	if _, err := j.sc(ctx, "stop"); err != nil {
		return call.Fail("error: %v", err)
	}
	for _, pattern := range []string{kubeletConf, bootstrapConf, `C:\etc\kubernetes\pki\*`, kubeletDir + `\*`} {
		paths, err := call.Machine.Match(pattern)
		for _, path := range paths {
			err = errors.Join(err, call.Machine.Remove(path))
		}
		if err != nil {
			return call.Fail("error: %v", err)
		}
	}
	return 0
}
