package guest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta3"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
)

// joinConfig is what this kubeadm understands of a JoinConfiguration.
type joinConfig struct {
	name, criSocket      string
	endpoint             string
	bootstrapToken       string // for the TLS bootstrap
	tokenID, tokenSecret string // of the discovery
	caHashes             []string
	unsafeSkipCA         bool
	discoveryFile        string
	patches              string
	kubeletFlags         []string
	discovery            time.Duration
	kubeletHealth        time.Duration
	tlsBootstrap         time.Duration
}

const kubeadmGroup = "kubeadm.k8s.io/"

var tokenShape = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)

// readJoinConfig is strict where kubeadm only warns: an unknown field would be lost on a real node.
func readJoinConfig(text []byte, kubernetes string) (*joinConfig, error) {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("couldn't decode the configuration: %w", err)
	}
	if head.Kind != "JoinConfiguration" {
		return nil, fmt.Errorf("no JoinConfiguration found in config: kind is %q", head.Kind)
	}
	c := &joinConfig{discovery: 5 * time.Minute, kubeletHealth: 4 * time.Minute, tlsBootstrap: 5 * time.Minute}
	var err error
	switch head.APIVersion {
	case kubeadmGroup + "v1beta3":
		err = c.readV1Beta3(text)
	case kubeadmGroup + "v1beta4":
		if version.MustParseGeneric(kubernetes).LessThan(version.MajorMinor(1, 31)) {
			return nil, fmt.Errorf("kubeadm %s does not know %s", kubernetes, head.APIVersion)
		}
		err = c.readV1Beta4(text)
	default:
		err = fmt.Errorf("your configuration file uses an API version that is not supported: %q", head.APIVersion)
	}
	if err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *joinConfig) readV1Beta3(text []byte) error {
	var read upstreamv1beta3.JoinConfiguration
	if err := decodeStrict(text, &read); err != nil {
		return err
	}
	if read.ControlPlane != nil {
		return errNoControlPlane
	}
	found := read.Discovery
	c.discover((*upstreamv1beta4.BootstrapTokenDiscovery)(found.BootstrapToken),
		(*upstreamv1beta4.FileDiscovery)(found.File), found.TLSBootstrapToken)
	if read.Discovery.Timeout != nil {
		c.discovery = read.Discovery.Timeout.Duration
	}
	c.patches = cmp.Or(read.Patches, &upstreamv1beta3.Patches{}).Directory
	c.name, c.criSocket = read.NodeRegistration.Name, read.NodeRegistration.CRISocket
	c.flags(read.NodeRegistration.KubeletExtraArgs, read.NodeRegistration.Taints)
	return unplayed(read.CACertPath, read.SkipPhases, false)
}

func (c *joinConfig) readV1Beta4(text []byte) error {
	var read upstreamv1beta4.JoinConfiguration
	if err := decodeStrict(text, &read); err != nil {
		return err
	}
	if read.ControlPlane != nil {
		return errNoControlPlane
	}
	c.discover(read.Discovery.BootstrapToken, read.Discovery.File, read.Discovery.TLSBootstrapToken)
	c.patches = cmp.Or(read.Patches, &upstreamv1beta4.Patches{}).Directory
	if limits := read.Timeouts; limits != nil {
		for into, limit := range map[*time.Duration]*metav1.Duration{
			&c.discovery: limits.Discovery, &c.kubeletHealth: limits.KubeletHealthCheck, &c.tlsBootstrap: limits.TLSBootstrap,
		} {
			if limit != nil {
				*into = limit.Duration
			}
		}
	}
	c.name, c.criSocket = read.NodeRegistration.Name, read.NodeRegistration.CRISocket
	extra := map[string]string{}
	for _, arg := range read.NodeRegistration.KubeletExtraArgs {
		extra[arg.Name] = arg.Value
	}
	c.flags(extra, read.NodeRegistration.Taints)
	return unplayed(read.CACertPath, read.SkipPhases, read.DryRun)
}

var errNoControlPlane = errors.New("a Windows node can not be a control plane")

// discover takes what is the same in all versions.
func (c *joinConfig) discover(
	token *upstreamv1beta4.BootstrapTokenDiscovery, file *upstreamv1beta4.FileDiscovery, bootstrapToken string,
) {
	if token != nil {
		c.bootstrapToken, c.endpoint = token.Token, token.APIServerEndpoint
		c.caHashes, c.unsafeSkipCA = token.CACertHashes, token.UnsafeSkipCAVerification
		if parts := tokenShape.FindStringSubmatch(token.Token); parts != nil {
			c.tokenID, c.tokenSecret = parts[1], parts[2]
		}
	}
	if file != nil {
		c.discoveryFile = file.KubeConfigPath
	}
	c.bootstrapToken = cmp.Or(bootstrapToken, c.bootstrapToken)
}

// check is kubeadm's validation, and the promises of ours that a Windows worker needs.
func (c *joinConfig) check() error {
	switch {
	case c.name == "":
		return errors.New("nodeRegistration.name is empty: the lab's kubeadm does not guess")
	case len(validation.IsDNS1123Subdomain(c.name)) > 0:
		return fmt.Errorf("nodeRegistration.name: Invalid value: %q: %s", c.name, validation.IsDNS1123Subdomain(c.name)[0])
	case c.discoveryFile != "" && c.endpoint != "":
		return errors.New("discovery: Invalid value: \"\": bootstrapToken and file cannot both be set")
	case c.discoveryFile != "":
		return checkDiscoveryFile(c.discoveryFile)
	case c.endpoint == "":
		return errors.New("discovery: Invalid value: \"\": bootstrapToken or file must be set")
	case c.tokenID == "":
		return errors.New("discovery.bootstrapToken.token: Invalid value: the bootstrap token is invalid")
	case len(c.caHashes) == 0 && !c.unsafeSkipCA:
		return errors.New("discovery.bootstrapToken: Invalid value: using token-based discovery without caCertHashes can be unsafe. " +
			"Set unsafeSkipCAVerification to continue")
	}
	if _, _, err := net.SplitHostPort(c.endpoint); err != nil {
		return fmt.Errorf("discovery.bootstrapToken.apiServerEndpoint: Invalid value: %q: %w", c.endpoint, err)
	}
	return nil
}

// checkDiscoveryFile is kubeadm's: it takes the drive of a Windows path for the scheme of a URL. URLs are not played.
func checkDiscoveryFile(path string) error {
	parsed, err := url.Parse(path)
	switch {
	case err != nil:
		return fmt.Errorf("discovery.file.kubeConfigPath: Invalid value: %q: not a valid HTTPS URL or a file on disk", path)
	case parsed.Scheme == "https":
		return errors.New("the lab's kubeadm does not fetch a discovery file by https")
	case parsed.Scheme != "":
		return fmt.Errorf("discovery.file.kubeConfigPath: Invalid value: %q: if a URL is used, the scheme must be https", path)
	}
	return nil
}

// decodeStrict takes YAML whose fields are all known by their exact names, none of them twice.
func decodeStrict(text []byte, into any) error {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	if err = errors.Join(append(strict, err)...); err != nil {
		return fmt.Errorf("strict decoding error: %w", err)
	}
	return nil
}

// flags is the kubelet's command line as kubeadm writes it for services that read it. Ours does not.
func (c *joinConfig) flags(extra map[string]string, taints []corev1.Taint) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		c.kubeletFlags = append(c.kubeletFlags, "--"+name+"="+extra[name])
	}
	var texts []string
	for _, taint := range taints {
		texts = append(texts, taint.ToString())
	}
	if len(texts) > 0 {
		c.kubeletFlags = append(c.kubeletFlags, "--register-with-taints="+strings.Join(texts, ","))
	}
}

// unplayed are fields that a real kubeadm heeds and this one does not: better no node than another one.
func unplayed(caPath string, skipPhases []string, dryRun bool) error {
	if len(skipPhases) > 0 || dryRun || caPath != "" && !strings.HasSuffix(caPath, "/etc/kubernetes/pki/ca.crt") {
		return errors.New("the lab's kubeadm plays neither skipPhases nor dryRun nor another caCertPath")
	}
	return nil
}
