package windows

import (
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const proxyField = windowsField + ".proxy"

// direct is what must not go through a proxy: this machine, and the addresses at which both clouds describe a machine to itself.
var direct = []string{"localhost", "127.0.0.1", "::1", "169.254.169.254", "168.63.129.16", ".svc"}

var (
	proxyURL = regexp.MustCompile(`^https?://([A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?)*` +
		`|\[[0-9A-Fa-f:.]+\])(:` + step.Port + `)?/?$`)
	// noProxyName is a host or a domain, with a port or without.
	noProxyName = regexp.MustCompile(`^\.?` + hostName + `(:` + step.Port + `)?$`)
	dottedPort  = regexp.MustCompile(`^[\d.:]+$`)
)

// proxy has the environment variables of the machine and of its services.
type proxy struct {
	variables map[string]plan.Value
	redact    []string
}

func readProxy(in Input) (setting, error) {
	wanted := in.Spec.Proxy
	if !HasProxy(wanted) {
		if len(wanted.NoProxy) > 0 || wanted.CredentialsRef.Name != "" {
			return nil, step.Invalid(proxyField, "there is no proxy for noProxy and credentialsRef; set http or https, or remove proxy")
		}
		return proxy{}, nil
	}
	login, err := readLogin(wanted.CredentialsRef, in.Sources)
	if err != nil {
		return nil, err
	}
	p := proxy{variables: map[string]plan.Value{}, redact: login.secrets()}
	for _, protocol := range []struct{ name, address string }{{"http", wanted.HTTP}, {"https", wanted.HTTPS}} {
		if protocol.address == "" {
			continue
		}
		if err := checkProxy(proxyField+"."+protocol.name, protocol.address); err != nil {
			return nil, err
		}
		p.variables[strings.ToUpper(protocol.name)+"_PROXY"] = plan.Text(login.addTo(protocol.address))
	}
	exceptions, err := noProxy(in.ClusterNames, wanted.NoProxy)
	if err != nil {
		return nil, err
	}
	p.variables["NO_PROXY"] = plan.Text(exceptions)
	return p, nil
}

// proxyLogin is the login of a proxy, empty if it needs none. containerd and the kubelet can get it only by the variables of the
// environment.
type proxyLogin struct{ user, password string }

func readLogin(ref bootstrapv1.SecretReference, contents step.Contents) (proxyLogin, error) {
	if ref.Name == "" {
		return proxyLogin{}, nil
	}
	user, password, err := contents.Credentials(proxyField+".credentialsRef", ref.Name)
	return proxyLogin{user, password}, err
}

// addTo writes user and password into a URL.
func (l proxyLogin) addTo(address string) string {
	if l == (proxyLogin{}) {
		return address
	}
	scheme, host, _ := strings.Cut(address, "//")
	return scheme + "//" + url.UserPassword(l.user, l.password).String() + "@" + host
}

// secrets is the password as it stands in a URL, and as it stands in the Secret. If it is too short to be hidden by
// itself, it is hidden together with what surrounds it.
func (l proxyLogin) secrets() []string {
	if l == (proxyLogin{}) {
		return nil
	}
	inURL := url.UserPassword(l.user, l.password).String()
	_, password, _ := strings.Cut(inURL, ":")
	for _, text := range []string{password, inURL, inURL + "@"} {
		if len(text) >= step.ShortestSecret {
			return slices.Compact(append([]string{text}, step.SecretText(l.password)...))
		}
	}
	return []string{"http://" + inURL + "@", "https://" + inURL + "@"}
}

// HasProxy reports whether a proxy is set; containerd must then be restarted.
func HasProxy(wanted bootstrapv1.Proxy) bool { return wanted.HTTP != "" || wanted.HTTPS != "" }

// addTo sets the variables of the machine, for kubeadm and scripts of the user, and those of the services, which
// would see the variables of the machine only after a restart of Windows. The kubelet gets its own after its service
// has been replaced.
func (x proxy) addTo(p *step.Part) {
	if len(x.variables) == 0 {
		return
	}
	var values []plan.Value
	for _, name := range slices.Sorted(maps.Keys(x.variables)) {
		value := x.variables[name]
		p.Add(step.PhaseWindows, &plan.Registry{
			Common: plan.Common{Name: "proxy-" + strings.ReplaceAll(name, "_", "-"), Reason: step.ReasonProxyFailed},
			Key:    machineVariables, ValueName: name, Value: value,
		})
		values = append(values, plan.Parts(plan.Text(name+"="), value))
	}
	p.Add(step.PhaseContainer, serviceVariables("containerd", values))
	p.Add(step.PhaseJoin, serviceVariables("kubelet", values))
	p.Redact = append(p.Redact, x.redact...)
}

const machineVariables = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`

// serviceVariables are all that a service has of its own.
func serviceVariables(service string, values []plan.Value) plan.Step {
	return &plan.Registry{
		Common:    plan.Common{Name: service + "-proxy", Reason: step.ReasonProxyFailed},
		Key:       `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\` + service,
		ValueName: "Environment", Type: plan.RegistryMultiString, Values: values,
	}
}

// checkProxy does not show a URL that may hold a password.
func checkProxy(field, address string) error {
	if strings.Contains(address, "@") {
		return step.Invalid(field,
			"user and password do not belong in a URL, where everybody who can read the config sees them; "+
				"write credentialsRef and remove them here")
	}
	if parsed, err := url.Parse(address); err != nil || parsed.Hostname() == "" || !proxyURL.MatchString(address) {
		return step.Invalid(field,
			"it is not the URL of a proxy; use scheme, host and port only, such as http://proxy.example.com:3128")
	}
	return nil
}

// noProxy lists what is reached without a proxy: this machine, the cluster, then what the user adds.
func noProxy(cluster, wanted []string) (string, error) {
	entries := slices.Concat(direct, cluster)
	for i, entry := range wanted {
		if !goodException(entry) {
			return "", step.Invalid(proxyField+".noProxy",
				"entry %d is not a host, domain, IP address or CIDR; use one such as .example.com or 10.0.0.0/8", i+1)
		}
		entries = append(entries, entry)
	}
	var hosts []string
	for _, entry := range entries {
		if !slices.Contains(hosts, entry) {
			hosts = append(hosts, entry)
		}
	}
	return strings.Join(hosts, ","), nil
}

// goodException reports whether every program reads an entry of NO_PROXY alike. A star is read by some only: Go takes *.local for
// .local, curl and .NET take it for the name of a host.
func goodException(entry string) bool {
	if _, err := netip.ParseAddr(entry); err == nil {
		return true
	}
	if cidr, err := netip.ParsePrefix(entry); err == nil {
		return cidr.Masked() == cidr
	}
	return noProxyName.MatchString(entry) && !dottedPort.MatchString(entry)
}
