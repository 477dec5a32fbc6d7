package guest

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// AzureHost is what a VM in Azure has, and one in a vCenter has not.
type AzureHost interface {
	VM
	// Drive is the content of ovf-env.xml and of CustomData.bin on the provisioning drive; nil is no such file.
	Drive() (environment, customData []byte)
	// Instance names the VM in the goal state of its host.
	Instance() string
	// Health is what the host agent hears: that the guest is ready, or why not.
	Health(ready bool, description string)
	// Serial is the first serial port, whose text boot diagnostics keep.
	Serial(text []byte)
}

// serial leads the first serial port to the host, as the only one.
func serial(host AzureHost) func(port string, text []byte) {
	return func(port string, text []byte) {
		if port == "COM1" {
			host.Serial(text)
		}
	}
}

// wireServerAddress is where each guest in Azure finds its host.
const wireServerAddress = "http://168.63.129.16/"

// environment is the part of ovf-env.xml that cloudbase-init reads.
type environment struct {
	ComputerName string `xml:"ProvisioningSection>WindowsProvisioningConfigurationSet>ComputerName"`
	CustomData   string `xml:"ProvisioningSection>WindowsProvisioningConfigurationSet>CustomData"`
}

// azureService is AzureService of cloudbase-init 1.1.4 (metadata/services/azureservice.py): it takes the name from ovf-env.xml,
// the instance from the goal state and the user data from CustomData.bin, which it alone of all services never unpacks.
func (p *power) azureService(host AzureHost) (*instance, error) {
	text, customData := host.Drive()
	if text == nil {
		return nil, errors.New("no drive containing file E6DA6616-8EC4-48E0-BE93-58CE6ACE3CFB.tag could be found")
	}
	var env environment
	if err := xml.Unmarshal(text, &env); err != nil {
		return nil, err
	}
	if customData == nil && env.CustomData != "" {
		return nil, errors.New("custom data configuration exists, but the custom data file is not present")
	}
	return &instance{
		metadata: map[string]any{"instance-id": host.Instance(), "local-hostname": env.ComputerName},
		userData: customData, packed: true,
	}, nil
}

// wireServer is the host of a VM in Azure, for programs in the guest. All else is the network behind it.
type wireServer struct {
	windows.Network
	host AzureHost
}

// Web is part of windows.Network.
func (w wireServer) Web(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	path, local := strings.CutPrefix(url, wireServerAddress)
	switch {
	case !local:
		return w.Network.Web(ctx, method, url, body)
	case method == http.MethodPost && path == "provisioning/health":
		return nil, w.health(body)
	}
	return nil, fmt.Errorf("%s %s: 400 Bad Request", method, url)
}

// health is a report of the guest, as azure-init's libazureinit/src/health.rs sends it. Only Ready, and a failure of the
// provisioning, end the provisioning.
func (w wireServer) health(body []byte) error {
	var said struct {
		State   string
		Details struct{ SubStatus, Description string }
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return fmt.Errorf("400 Bad Request: %w", err)
	}
	switch {
	case said.State == "Ready":
		w.host.Health(true, "")
	case said.Details.SubStatus == "ProvisioningFailed":
		w.host.Health(false, said.Details.Description)
	}
	return nil
}
