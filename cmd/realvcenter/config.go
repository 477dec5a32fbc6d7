package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// The environment variables with passwords that are not in files.
const (
	passwordVariable        = "CAPWIN_PASSWORD"
	limitedPasswordVariable = "CAPWIN_LIMITED_PASSWORD"
)

// config is what the operator writes. It has no passwords: these come from files or the environment.
type config struct {
	// Server is the vCenter: host or host:port.
	Server string `json:"server"`
	// Exactly one of Thumbprint (SHA-256) and CAFile (PEM) identifies the server.
	Thumbprint string `json:"thumbprint,omitempty"`
	CAFile     string `json:"caFile,omitempty"`

	user
	// Limited is a user with the role that our managers are to have, and nothing else.
	Limited *user `json:"limited,omitempty"`

	// VSphere is where VMs are made, as in spec.vsphere of a WindowsMachine.
	VSphere infrav1.VSphereVM `json:"vsphere"`
	// NoWindows is set if the template is not Windows with cloudbase-init: no check waits for its guest.
	NoWindows bool `json:"noWindows,omitempty"`
	// EarlierReport is the JSON of a run before the vCenter was restored from a backup.
	EarlierReport string `json:"earlierReport,omitempty"`

	ca string
}

// user of the vCenter.
type user struct {
	Username     string `json:"username"`
	PasswordFile string `json:"passwordFile,omitempty"`

	// password is a function, so that it is never printed.
	password func() string
}

func readConfig(file string, env func(string) string) (config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return config{}, fmt.Errorf("read config: %w; docs/contributing/realvcenter.md shows what to write into it", err)
	}
	var c config
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return config{}, fmt.Errorf("read config %s: %w", file, err)
	}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return config{}, fmt.Errorf("read caFile: %w", err)
		}
		c.ca = string(text)
	}
	if err := c.readPassword(env(passwordVariable), passwordVariable); err != nil {
		return config{}, err
	}
	if c.Limited != nil {
		if err := c.Limited.readPassword(env(limitedPasswordVariable), limitedPasswordVariable); err != nil {
			return config{}, fmt.Errorf("limited: %w", err)
		}
	}
	return c, c.check()
}

func (u *user) readPassword(fromEnv, variable string) error {
	secret := fromEnv
	if u.PasswordFile != "" {
		text, err := os.ReadFile(u.PasswordFile)
		if err != nil {
			return fmt.Errorf("read passwordFile: %w", err)
		}
		secret = strings.TrimRight(string(text), "\r\n")
	}
	if u.Username == "" || secret == "" {
		return fmt.Errorf("username or password is missing; set username, and passwordFile or the environment variable %s", variable)
	}
	u.password = func() string { return secret }
	return nil
}

func (c *config) check() error {
	v := c.VSphere
	switch {
	case c.Server == "":
		return errors.New("server is missing; write the host of the vCenter")
	case (c.Thumbprint == "") == (c.CAFile == ""):
		return errors.New("write exactly one of thumbprint (SHA-256) and caFile")
	case v.Datacenter == "" || v.Folder == "" || v.Image.Template == "":
		return errors.New("vsphere.datacenter, vsphere.folder or vsphere.image.template is missing; use a folder for tests only")
	}
	for _, adapter := range v.NetworkInterfaces {
		if len(adapter.AddressesFromPools) > 0 {
			return errors.New("vsphere.networkInterfaces[].addressesFromPools needs a cluster; leave it out, the VMs use DHCP")
		}
	}
	return nil
}

// credentials are as in the Secret of a WindowsMachine.
func (c *config) credentials(u user) map[string][]byte {
	data := map[string][]byte{
		"server": []byte(c.Server), "username": []byte(u.Username), "password": []byte(u.password()),
	}
	if c.ca != "" {
		data["ca.crt"] = []byte(c.ca)
	} else {
		data["thumbprint"] = []byte(c.Thumbprint)
	}
	return data
}

// private are the texts that no report has, and what stands for each.
func (c *config) private() map[string]string {
	words := map[string]string{
		c.Server: "SERVER", host(c.Server): "SERVER", c.Username: "USER", c.Thumbprint: "THUMBPRINT", c.PasswordFile: "FILE",
		c.CAFile: "FILE", c.VSphere.Datacenter: "DATACENTER", c.VSphere.Folder: "FOLDER", c.VSphere.ResourcePool: "POOL",
		c.VSphere.Datastore: "DATASTORE", c.VSphere.Image.Template: "TEMPLATE", c.EarlierReport: "FILE",
	}
	for _, adapter := range c.VSphere.NetworkInterfaces {
		words[adapter.Network] = "NETWORK"
	}
	for _, u := range []*user{&c.user, cmp.Or(c.Limited, &c.user)} {
		words[u.Username], words[u.password()] = "USER", "PASSWORD"
		words[u.PasswordFile] = "FILE"
		if name, _, found := strings.Cut(u.Username, "@"); found {
			words[name] = "USER"
		}
		if _, name, found := strings.Cut(u.Username, `\`); found {
			words[name] = "USER"
		}
	}
	return words
}

func host(server string) string {
	name, _, _ := strings.Cut(server, ":")
	return name
}
