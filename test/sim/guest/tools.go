package guest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// kubectl is kubectl.exe; played are `kubectl --kubeconfig FILE get node NAME --output jsonpath=TEMPLATE` and
// `kubectl --kubeconfig FILE --request-timeout TIME replace --raw PATH -f OBJECT`.
func (p *power) kubectl(ctx context.Context, call *windows.Call) int {
	flags := newFlags("kubectl")
	file, output := flags.String("kubeconfig", "", ""), flags.StringP("output", "o", "", "")
	raw, object := flags.String("raw", "", ""), flags.StringP("filename", "f", "", "")
	limit := flags.Duration("request-timeout", 0, "")
	if err := flags.Parse(call.Argv[1:]); err != nil {
		return call.Fail("error: %v", err)
	}
	template, isPath := strings.CutPrefix(*output, "jsonpath=")
	var answer string
	var err error
	switch {
	case flags.NArg() == 3 && flags.Arg(0) == "get" && flags.Arg(1) == "node" && isPath:
		answer, err = p.askNode(ctx, *file, flags.Arg(2), template)
	case flags.NArg() == 1 && flags.Arg(0) == "replace" && *raw != "" && *limit > 0:
		answer, err = p.replaceRaw(ctx, *file, *raw, *object, *limit)
	default:
		err = fmt.Errorf("error: the lab's kubectl does not know %q", call.Argv[1:])
	}
	if err != nil {
		return call.Fail("%v", err)
	}
	_, _ = fmt.Fprint(call.Stdout, answer)
	return 0
}

// replaceRaw puts a file to a path as it is, and prints what the server answers.
func (p *power) replaceRaw(ctx context.Context, file, path, object string, limit time.Duration) (string, error) {
	body, err := p.machine.ReadFile(object)
	if err != nil {
		return "", fmt.Errorf("error: %w", err)
	}
	client, err := p.client(file, "kubectl.exe")
	if err != nil {
		return "", fmt.Errorf("error: %w", err)
	}
	answer, err := client.CoreV1().RESTClient().Put().AbsPath(path).Timeout(limit).Body(body).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("error: %w", err)
	}
	return string(answer), nil
}

func (p *power) askNode(ctx context.Context, file, name, template string) (string, error) {
	client, err := p.client(file, "kubectl.exe")
	if err != nil {
		return "", fmt.Errorf("error: %w", err)
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("error: ask the server: %w", err)
	}
	return printPath(node, template)
}

// printPath prints what a JSONPath finds in the JSON of an object, as kubectl does.
func printPath(object any, template string) (string, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	path, out := jsonpath.New("out").AllowMissingKeys(true), &strings.Builder{}
	if err := path.Parse(template); err != nil {
		return "", err
	}
	err = path.Execute(out, tree)
	return out.String(), err
}

// ctr is ctr.exe; played is `ctr --namespace NAME images pull [--hosts-dir FOLDER] IMAGE`, up to the manifest.
func (p *power) ctr(ctx context.Context, call *windows.Call) int {
	flags := newFlags("ctr")
	flags.String("namespace", "default", "")
	flags.String("hosts-dir", "", "")
	if err := flags.Parse(call.Argv[1:]); err != nil || flags.NArg() != 3 || flags.Arg(0) != "images" || flags.Arg(1) != "pull" {
		return call.Fail("ctr: the lab does not know %q (%v)", call.Argv[1:], err)
	}
	image := flags.Arg(2)
	if err := p.pull(ctx, image); err != nil {
		return call.Fail("ctr: failed to resolve reference %q: %v", image, err)
	}
	call.Print("done: %s", image)
	return 0
}

var imageParts = regexp.MustCompile(`^([^/]+)/([^:@]+)(?::([^@]+))?`)

// pull asks the registry for the manifest. A registry on this machine is spoken to without TLS, as containerd does.
func (p *power) pull(ctx context.Context, image string) error {
	parts := imageParts.FindStringSubmatch(image)
	if parts == nil {
		return fmt.Errorf("invalid reference format")
	}
	host, name, tag := parts[1], parts[2], cmp.Or(parts[3], "latest")
	scheme := "https"
	if only, _, _ := net.SplitHostPort(host); only == "localhost" || host == "localhost" {
		scheme = "http"
	}
	url := scheme + "://" + host + "/v2/" + name + "/manifests/" + tag
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: p.guest.Faults.dialer("ctr.exe"), DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("failed to do request: %w", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("unexpected status from HEAD request to %s: %s", url, response.Status)
	}
	return nil
}
