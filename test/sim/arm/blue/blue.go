// Package blue has what tests of the rooms of Azure share: a machine in the resource group blue, and an Azure that answers what a
// test wants.
package blue

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// Endpoint is where the cloud answers.
const Endpoint = "https://azure.example"

// The machine's group and another one, its VM and first adapter, and the time.
var (
	Group      = arm.GroupID(armsim.Subscription, "blue")
	OtherGroup = arm.GroupID(armsim.Subscription, "other")
	VM         = Group.VM("win-1")
	NIC        = Group.Adapter("win-1-node")
	Noon       = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// ID is an ID that Azure itself gives.
const ID = "11111111-aaaa-bbbb-cccc-555555555555"

// Machine is a machine with two adapters and a data disk.
func Machine() cloud.Machine {
	return cloud.Machine{
		Identity: cloud.Identity{Name: "win-1", ProviderID: arm.ProviderID(VM)}, Key: cloud.Key{Namespace: "team", Name: "m"},
		Cluster: cloud.ClusterMark{Name: "blue", UID: "u", Manager: "here"}, Proof: cloud.Proof{Own: true},
		Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
			Location: "spec", DataDisks: []infrav1.AzureDataDisk{{Name: "Data"}},
			NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node"}, {Name: "Pods"}},
		}},
	}
}

// Mark is that of the machine.
func Mark() cloud.Marked {
	m := Machine()
	return cloud.Marked{Key: m.Key, ProviderID: m.ProviderID, Cluster: m.Cluster}
}

// Says answers in the place of Azure: a status and a body. As Azure does, it gives an id.
type Says func(*http.Request) (int, string)

// Do implements policy.Transporter.
func (s Says) Do(r *http.Request) (*http.Response, error) {
	status, text := s(r)
	header := http.Header{"X-Ms-Request-Id": {"1"}}
	return &http.Response{StatusCode: status, Header: header, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// Fault is the body of one of Azure's errors.
func Fault(code string) string { return `{"error":{"code":"` + code + `","message":"no"}}` }

// Token is a credential that always has a token.
type Token struct{}

// GetToken implements azcore.TokenCredential.
func (Token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}
