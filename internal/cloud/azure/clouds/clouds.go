// Package clouds is the address book of Azure's clouds. It promises:
//
//   - The public clouds have the addresses that Microsoft publishes. No file and no Secret renames or replaces them.
//   - Each address is https and a host, with nothing else in it: no user, path, query or other spelling.
//   - The manager's file is read once. An error in it names the file and the key.
//   - A cloud from a Secret is marked (Chosen): the manager's own proofs must never be sent to it.
package clouds

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// Cloud is one of Azure's clouds, or one that speaks like them. Its field tags are the keys of the manager's file.
type Cloud struct {
	Name string `json:"name"`
	// ResourceManager is where Azure Resource Manager answers, and Authority is where Entra ID gives tokens.
	ResourceManager string `json:"resourceManagerEndpoint"`
	Authority       string `json:"authority"`
	// Audience is whom a token is for; the default is ResourceManager.
	Audience string `json:"audience,omitempty"`
	// CABundle has the certificates to trust instead of the system's, in PEM form.
	CABundle string `json:"caBundle,omitempty"`
	// StorageSuffix is how the names of the storage service end, where boot logs are.
	StorageSuffix string `json:"storageSuffix,omitempty"`
	// ComputeAPIVersion is the api-version for virtual machines; the default is the SDK's.
	ComputeAPIVersion string `json:"computeAPIVersion,omitempty"`

	chosen bool
}

// The names of the public clouds, as an AzureCluster has them.
const (
	Public       = "AzurePublicCloud"
	USGovernment = "AzureUSGovernmentCloud"
	China        = "AzureChinaCloud"
)

// conservative is an api-version that sovereign clouds have for sure. It knows adapters in the request for a VM, and conditions.
const conservative = "2024-07-01"

var public = []Cloud{
	{
		Name: Public, ResourceManager: "https://management.azure.com", Authority: "https://login.microsoftonline.com/",
		Audience: "https://management.core.windows.net/", StorageSuffix: "core.windows.net",
	},
	{
		Name: USGovernment, ResourceManager: "https://management.usgovcloudapi.net", Authority: "https://login.microsoftonline.us/",
		Audience: "https://management.core.usgovcloudapi.net/", StorageSuffix: "core.usgovcloudapi.net",
		ComputeAPIVersion: conservative,
	},
	{
		Name: China, ResourceManager: "https://management.chinacloudapi.cn", Authority: "https://login.chinacloudapi.cn/",
		Audience: "https://management.core.chinacloudapi.cn/", StorageSuffix: "core.chinacloudapi.cn",
		ComputeAPIVersion: conservative,
	},
}

// managedStorage is where public clouds keep the boot logs of VMs without a storage account of their own.
const managedStorage = "storage.azure.net"

// Book has the clouds that go by a name. The zero value has the public ones.
type Book struct{ added []Cloud }

// Named finds a cloud by its name; without one it is AzurePublicCloud.
func (b Book) Named(name string) (Cloud, bool) {
	name = cmp.Or(name, Public)
	list := slices.Concat(public, b.added)
	index := slices.IndexFunc(list, func(c Cloud) bool { return c.Name == name })
	if index < 0 {
		return Cloud{}, false
	}
	return list[index], true
}

// Names are those of all clouds of the book.
func (b Book) Names() []string {
	var names []string
	for _, c := range slices.Concat(public, b.added) {
		names = append(names, c.Name)
	}
	return names
}

// Choose checks a cloud that a user wrote into a Secret, and marks it as chosen. The error names the key.
func Choose(c Cloud) (Cloud, error) {
	c, err := c.check()
	c.Name, c.chosen = "", true
	return c, err
}

// Chosen reports whether a user chose the addresses.
func (c Cloud) Chosen() bool { return c.chosen }

// String is the cloud's name, or its address if it has none.
func (c Cloud) String() string {
	return cmp.Or(c.Name, c.ResourceManager)
}

// Text is different for different clouds: it has all but the name, because two names may mean one cloud.
func (c Cloud) Text() string {
	return fmt.Sprintf("%q", []string{c.ResourceManager, c.Authority, c.Audience, c.CABundle, c.StorageSuffix, c.ComputeAPIVersion})
}

// Configuration is the cloud as Azure's SDK wants it.
func (c Cloud) Configuration() azcloud.Configuration {
	return azcloud.Configuration{
		ActiveDirectoryAuthorityHost: c.Authority,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: c.ResourceManager, Audience: c.Audience},
		},
	}
}

// Hosts are those that get requests with tokens and proofs, and no other may.
func (c Cloud) Hosts() []string {
	bare := func(address string) string { return strings.TrimSuffix(strings.TrimPrefix(address, "https://"), "/") }
	return []string{bare(c.ResourceManager), bare(c.Authority)}
}

// Stores reports whether an address, such as that of a boot log, is of the cloud's storage service.
func (c Cloud) Stores(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" {
		return false
	}
	host := strings.ToLower(u.Host)
	suffixes := []string{strings.ToLower(c.StorageSuffix)}
	if slices.ContainsFunc(public, func(p Cloud) bool { return p.Name == c.Name }) {
		suffixes = append(suffixes, managedStorage)
	}
	return slices.ContainsFunc(suffixes, func(suffix string) bool {
		return suffix != "" && (strings.HasSuffix(host, "."+suffix) || host == suffix)
	})
}

// leastVersion is the first in which one DELETE takes the adapters and disks along.
const leastVersion = "2021-03-01"

var (
	suffixes = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?$`)
	versions = regexp.MustCompile(`^20\d\d-\d\d-\d\d(-preview)?$`)
)

// check completes a cloud that is not a public one.
func (c Cloud) check() (Cloud, error) {
	var err error
	if c.ResourceManager, err = origin("resourceManagerEndpoint", c.ResourceManager); err != nil {
		return Cloud{}, err
	}
	if c.Authority, err = origin("authority", c.Authority); err != nil {
		return Cloud{}, err
	}
	c.Authority += "/"
	c.Audience = cmp.Or(c.Audience, c.ResourceManager)
	for _, p := range public {
		if p.ResourceManager == c.ResourceManager {
			return Cloud{}, fmt.Errorf("resourceManagerEndpoint: this is the address of %s: use that cloud by its name", p.Name)
		}
	}
	switch {
	case !audience(c.Audience):
		return Cloud{}, fmt.Errorf("audience: this must be a URI such as https://management.example.com/")
	case c.CABundle != "" && !certificates(c.CABundle):
		return Cloud{}, fmt.Errorf("caBundle: this must be certificates in PEM form, at most %d KiB", maxBundle>>10)
	case c.StorageSuffix != "" && !suffixes.MatchString(c.StorageSuffix):
		return Cloud{}, fmt.Errorf("storageSuffix: this must be the end of a host name, such as core.windows.net")
	case c.ComputeAPIVersion != "" && !versions.MatchString(c.ComputeAPIVersion):
		return Cloud{}, fmt.Errorf("computeAPIVersion: this must be a date such as %s", conservative)
	case c.ComputeAPIVersion != "" && c.ComputeAPIVersion < leastVersion:
		return Cloud{}, fmt.Errorf("computeAPIVersion: a cloud older than %s leaves disks and network adapters behind when a VM is "+
			"deleted, so it is not supported: use a newer cloud", leastVersion)
	}
	return c, nil
}
