package bootstrap

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	discoveryField = "WindowsBootstrapConfig spec.discovery.kubeconfigFrom.secret"
	discoveryFile  = step.JoinDirectory + `\discovery.yaml`
	// discoveryPath is discoveryFile as kubeadm needs it: kubeadm takes C: for the scheme of a URL and accepts https
	// only.
	discoveryPath = "/run/kubeadm/discovery.yaml"
)

// kubeconfigFile is the part of a kubeconfig that we read. A cluster is a map so that unknown keys can be refused.
type kubeconfigFile struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	Preferences    map[string]any   `json:"preferences,omitempty"`
	Clusters       []namedCluster   `json:"clusters"`
	Contexts       []map[string]any `json:"contexts"`
	CurrentContext string           `json:"current-context"`
	Users          []map[string]any `json:"users"`
}

type namedCluster struct {
	Name    string         `json:"name"`
	Cluster map[string]any `json:"cluster"`
}

// The only two keys of a cluster that are rendered.
const (
	serverKey    = "server"
	authorityKey = "certificate-authority-data"
)

// notOfDiscovery are other keys that a cluster may have, and what to do instead: kubeadm would drop some of them, and
// others are not safe.
var notOfDiscovery = map[string]string{
	"insecure-skip-tls-verify": "a node does not join a cluster that it cannot verify; remove it",
	"certificate-authority":    "that file is not on the node; use certificate-authority-data",
	"proxy-url":                "kubeadm ignores it; use spec.windows.proxy",
	"tls-server-name":          "kubeadm ignores it; use a server whose name or address is in its certificate",
}

// cluster is where the API server is, and whose certificates the node trusts.
type cluster struct {
	endpoint  clusterv1.APIEndpoint
	authority authority
	// discovery is the kubeconfig by which kubeadm finds the cluster; if it is empty, the token does that.
	discovery string
}

// readCluster reads the user's kubeconfig if the spec names one, else the Cluster and its CA.
func readCluster(in Input) (cluster, error) {
	var c cluster
	if sources := discoverySource(in.Config.Spec); len(sources) > 0 {
		data, err := step.Contents(in.Sources).Key(discoveryField, sources[0])
		if err != nil {
			return c, err
		}
		return discover(data)
	}
	var err error
	if c.endpoint, err = readEndpoint("Cluster spec.controlPlaneEndpoint", in.Cluster.Spec.ControlPlaneEndpoint); err != nil {
		return c, err
	}
	c.authority, err = readAuthority("Secret "+in.Cluster.Name+"-ca, key tls.crt", in.ClusterCA)
	return c, err
}

func readEndpoint(field string, endpoint clusterv1.APIEndpoint) (clusterv1.APIEndpoint, error) {
	if !endpoint.IsValid() {
		return endpoint, step.Invalid(field,
			"host or port is missing; set them, or wait until the cluster's infrastructure sets them")
	}
	host, good := readHost(endpoint.Host)
	if !good {
		return endpoint, step.Invalid(field,
			"host %q is neither a DNS name nor an IP address; use one without scheme, port and brackets",
			endpoint.Host)
	}
	if endpoint.Port < 1 || endpoint.Port > 65535 {
		return endpoint, step.Invalid(field, "port %d is not valid; use 1 to 65535", endpoint.Port)
	}
	endpoint.Host = host
	return endpoint, nil
}

// endsInNumber: such a host is an address to everything that reads a URL, and programs differ in which one.
var endsInNumber = regexp.MustCompile(`(^|\.)(\d+|0[xX][0-9a-fA-F]*)$`)

// readHost is a DNS name, or an address in the form that all programs write.
func readHost(host string) (string, bool) {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.String(), address.Zone() == "" && !address.Is4In6()
	}
	return host, validation.IsDNS1123Subdomain(strings.ToLower(host)) == nil && !endsInNumber.MatchString(host)
}

func discover(data []byte) (cluster, error) {
	var c cluster
	keys, err := discoveredCluster(data)
	if err != nil {
		return c, err
	}
	if c.endpoint, err = discoveredServer(keys); err != nil {
		return c, err
	}
	ca, err := discoveredAuthority(keys)
	if err != nil {
		return c, err
	}
	if c.authority, err = readAuthority(discoveryField, ca); err != nil {
		return c, err
	}
	c.discovery, err = c.discoveryText()
	return c, err
}

// maxDiscovery bytes have room for the CAs of many clusters. To read a YAML text that is made for it takes time that grows with
// the square of its size: a MiB takes 20 seconds.
const maxDiscovery = 64 << 10

// discoveredCluster never shows what it reads, which may hold secrets by mistake.
func discoveredCluster(data []byte) (map[string]any, error) {
	const write = "use one such as the key kubeconfig in the ConfigMap cluster-info of kube-public"
	if len(data) > maxDiscovery {
		return nil, step.Invalid(discoveryField, "the kubeconfig has %d bytes, of which at most %d are read; %s",
			len(data), maxDiscovery, write)
	}
	var file kubeconfigFile
	if err := yaml.UnmarshalStrict(data, &file); err != nil || file.Kind != "Config" {
		return nil, step.Invalid(discoveryField, "the content is not a kubeconfig; %s", write)
	}
	switch {
	case len(file.Users) > 0:
		return nil, step.Invalid(discoveryField,
			"the kubeconfig has users, whose credentials must not be on a node, "+
				"which joins with a token of its own; %s", write)
	case len(file.Clusters) != 1:
		return nil, step.Invalid(discoveryField,
			"the kubeconfig has %d clusters but must have exactly one; %s", len(file.Clusters), write)
	}
	cluster := file.Clusters[0].Cluster
	for _, key := range step.SortedKeys(cluster) {
		if advice := notOfDiscovery[key]; advice != "" {
			return nil, step.Invalid(discoveryField, "the cluster of the kubeconfig has %s: %s", key, advice)
		}
		if key != serverKey && key != authorityKey {
			return nil, step.Invalid(discoveryField,
				"the cluster of the kubeconfig must have %s and %s and nothing else; %s", serverKey, authorityKey, write)
		}
	}
	return cluster, nil
}

func discoveredServer(cluster map[string]any) (clusterv1.APIEndpoint, error) {
	const write = "use one such as https://api.example.com:6443"
	var endpoint clusterv1.APIEndpoint
	text, _ := cluster[serverKey].(string)
	parsed, err := url.Parse(text)
	if err != nil {
		return endpoint, step.Invalid(discoveryField, "the server of the kubeconfig is not a URL; %s", write)
	}
	plain := (parsed.Path == "" || parsed.Path == "/") && parsed.RawQuery == "" && parsed.Fragment == "" && parsed.User == nil
	if parsed.Scheme != "https" || parsed.Hostname() == "" || !plain {
		return endpoint, step.Invalid(discoveryField,
			"the server of the kubeconfig must be https, host and port only; %s", write)
	}
	port := parsed.Port()
	if port == "" {
		port = "443"
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil || number == 0 {
		return endpoint, step.Invalid(discoveryField, "the port of the kubeconfig's server is not valid; %s", write)
	}
	endpoint, err = readEndpoint(discoveryField, clusterv1.APIEndpoint{Host: parsed.Hostname(), Port: int32(number)})
	if err != nil {
		return endpoint, step.Invalid(discoveryField, "host or port of the kubeconfig's server is not valid; %s", write)
	}
	return endpoint, nil
}

func discoveredAuthority(cluster map[string]any) ([]byte, error) {
	text, _ := cluster[authorityKey].(string)
	ca, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(ca) == 0 {
		return nil, step.Invalid(discoveryField,
			"the cluster of the kubeconfig has no valid %s; use the cluster's CA in PEM, encoded as base64",
			authorityKey)
	}
	return ca, nil
}

// discoveryText has the form of the ConfigMap cluster-info: one cluster without a name, and no users.
func (c cluster) discoveryText() (string, error) {
	return c.kubeconfig("", []map[string]any{}, []map[string]any{})
}

// kubeconfig reaches the cluster.
func (c cluster) kubeconfig(current string, contexts, users []map[string]any) (string, error) {
	text, err := yaml.Marshal(kubeconfigFile{
		APIVersion: "v1", Kind: "Config",
		Clusters: []namedCluster{{Name: current, Cluster: map[string]any{
			serverKey: "https://" + c.endpoint.String(), authorityKey: base64.StdEncoding.EncodeToString(c.authority.pem),
		}}},
		Contexts: contexts, CurrentContext: current, Users: users,
	})
	if err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return string(text), nil
}

// discoveryFile writes the kubeconfig, readable by administrators only.
func (c cluster) discoveryFile() []plan.Step {
	if c.discovery == "" {
		return nil
	}
	return []plan.Step{&plan.File{
		Common: plan.Common{Name: "discovery", Reason: step.ReasonNodeFilesFailed},
		Path:   plan.Text(discoveryFile), Text: plan.Text(c.discovery), Access: plan.FileAdmin,
	}}
}
