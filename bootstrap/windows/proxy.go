package windows

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const proxyField = windowsField + ".proxy"

// near is what must not go through a proxy: this machine, and the addresses at which both clouds describe a machine
// to itself.
var near = []string{"localhost", "127.0.0.1", "::1", "169.254.169.254", "168.63.129.16", ".svc"}

var noProxyEntry = regexp.MustCompile(`^[A-Za-z0-9.*:/_-]{1,253}$`)

// proxy has the environment variables of the machine and of its services.
type proxy struct {
	variables map[string]plan.Value
	redact    []string
}

func readProxy(in Input) (setting, error) {
	wanted := in.Spec.Proxy
	if !HasProxy(wanted) {
		if len(wanted.NoProxy) > 0 {
			return nil, step.Invalid(proxyField, "noProxy has no effect without a proxy; set http or https, or remove it")
		}
		return proxy{}, nil
	}
	variables := map[string]plan.Value{}
	for _, one := range []struct{ name, address string }{{"http", wanted.HTTP}, {"https", wanted.HTTPS}} {
		if one.address == "" {
			continue
		}
		if err := checkProxy(proxyField+"."+one.name, one.address); err != nil {
			return nil, err
		}
		variables[strings.ToUpper(one.name)+"_PROXY"] = plan.Text(one.address)
	}
	exceptions, err := noProxy(in.ClusterNames, wanted.NoProxy)
	if err != nil {
		return nil, err
	}
	variables["NO_PROXY"] = plan.Text(exceptions)
	return proxy{variables, slices.Concat(proxySecrets(wanted.HTTP), proxySecrets(wanted.HTTPS))}, nil
}

// HasProxy says whether a proxy is set; containerd must then be restarted.
func HasProxy(wanted bootstrapv1.Proxy) bool { return wanted.HTTP != "" || wanted.HTTPS != "" }

// addTo sets the variables of the machine, for kubeadm and scripts of the user, and those of the services, which
// would see the variables of the machine only after a restart of Windows. The kubelet gets its own after its service
// has been replaced.
func (x proxy) addTo(p *step.Part) {
	if len(x.variables) == 0 {
		return
	}
	set := func(name string, services ...string) plan.Step {
		return &plan.Environment{
			Common: plan.Common{Name: name, Reason: step.ReasonProxyFailed}, Variables: x.variables, Services: services,
		}
	}
	p.Add(step.PhaseWindows, set("proxy"))
	p.Add(step.PhaseContainer, set("containerd-proxy", "containerd"))
	p.Add(step.PhaseJoin, set("kubelet-proxy", "kubelet"))
	p.Redact = append(p.Redact, x.redact...)
}

// checkProxy does not show a URL that may hold a password.
func checkProxy(field, address string) error {
	parsed, err := url.Parse(address)
	if err != nil {
		return step.Invalid(field, "the proxy is not a URL; use one such as http://proxy.example.com:3128")
	}
	web := parsed.Scheme == "http" || parsed.Scheme == "https"
	plain := (parsed.Path == "" || parsed.Path == "/") && parsed.RawQuery == "" && parsed.Fragment == ""
	if !web || !plain || parsed.Hostname() == "" {
		return step.Invalid(field,
			"%q is not the URL of a proxy; use scheme, host and port only, such as http://proxy.example.com:3128",
			parsed.Redacted())
	}
	return nil
}

// noProxy lists what is reached without a proxy: this machine, the cluster, then what the user adds.
func noProxy(cluster, wanted []string) (string, error) {
	entries := slices.Concat(near, cluster)
	for _, entry := range wanted {
		if !noProxyEntry.MatchString(entry) {
			return "", step.Invalid(proxyField+".noProxy",
				"%q is not a host, domain or CIDR; use one such as .example.com or 10.0.0.0/8", entry)
		}
		entries = append(entries, entry)
	}
	var once []string
	for _, entry := range entries {
		if !slices.Contains(once, entry) {
			once = append(once, entry)
		}
	}
	return strings.Join(once, ","), nil
}

// proxySecrets is the password in a URL. If that is too short to be hidden by itself, it is hidden together with what
// surrounds it.
func proxySecrets(address string) []string {
	_, rest, _ := strings.Cut(address, "//")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return nil
	}
	_, password, found := strings.Cut(rest[:at], ":")
	for _, text := range []string{password, rest[:at], rest[:at+1]} {
		if found && len(text) >= step.ShortestSecret {
			return []string{text}
		}
	}
	return []string{address}
}
