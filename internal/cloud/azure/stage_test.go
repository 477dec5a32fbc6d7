package azure

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// stage is a simulated Azure, and how our accounts reach it.
type stage struct {
	*armsim.Cloud
	t *testing.T
	// open counts the connections of all accounts.
	open atomic.Int32
	// through is what all calls of an account pass on their way, if anything.
	through func(*door) policy.Transporter
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{Cloud: armsim.New(t), t: t}
}

// login is how a test's credentials become a principal: secret and endpoint.
func (s *stage) login(credentials map[string][]byte) (*login.Principal, error) {
	endpoint := string(credentials["endpoint"])
	p := &login.Principal{
		Name: func() string { return string(credentials["secret"]) + "@" + endpoint }, TenantID: armsim.Tenant,
		Cloud: clouds.Cloud{ResourceManager: endpoint, Authority: endpoint + "/", Audience: endpoint},
	}
	var transport policy.Transporter = s.transport()
	if s.through != nil {
		transport = s.through(s.transport())
	}
	p.Transport = transport
	credential, err := azidentity.NewClientSecretCredential(armsim.Tenant, armsim.ClientID, string(credentials["secret"]),
		&azidentity.ClientSecretCredentialOptions{DisableInstanceDiscovery: true, ClientOptions: policy.ClientOptions{
			Cloud: p.Cloud.Configuration(), Transport: transport, Retry: policy.RetryOptions{MaxRetries: -1},
		}})
	p.Credential = told{credential}
	return p, err
}

func (s *stage) credentials() map[string][]byte {
	return map[string][]byte{"endpoint": []byte(s.Endpoint()), "secret": []byte(armsim.Secret)}
}

// transport is one of its own, as each account has. It counts what is open.
func (s *stage) transport() *door {
	d := &door{}
	inner := s.Client().Transport.(*http.Transport).Clone()
	inner.ForceAttemptHTTP2 = true
	inner.TLSClientConfig.InsecureSkipVerify = true // a second simulator has a certificate of its own
	inner.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		s.open.Add(1)
		one := &counted{Conn: c, open: &s.open}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.all = append(d.all, one)
		return one, nil
	}
	d.Client = &http.Client{Transport: inner}
	return d
}

// door is a transport that closes its connections at once. That of net/http may take one for busy whose call has just ended.
type door struct {
	*http.Client
	mu  sync.Mutex
	all []*counted
}

func (d *door) CloseIdleConnections() {
	d.Client.CloseIdleConnections()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		_ = one.Close()
	}
}

type counted struct {
	net.Conn
	open *atomic.Int32
	over atomic.Bool
}

func (c *counted) Close() error {
	if c.over.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// manager is the UID of the management cluster.
const manager = "here"

// account is one whose clock is the stage's.
func (s *stage) account() *account {
	s.t.Helper()
	a := expect.Got(open(expect.Got(s.login(s.credentials()))(s.t), s.Now))(s.t)
	a.manager = manager
	s.t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

func (s *stage) spec() infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
		SubscriptionID: armsim.Subscription, ResourceGroup: armsim.Group, Location: armsim.Location, VMSize: "Standard_D4s_v5",
		Image:             infrav1.AzureImage{ID: armsim.GalleryImage + "/versions/1.36.3"},
		NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node", Subnet: infrav1.AzureSubnet{ID: armsim.SubnetID}}},
	}}
}

// machine is one that was made just now.
func (s *stage) machine(name string) cloud.Machine {
	s.t.Helper()
	return s.machineIn(armsim.Group, name)
}

func (s *stage) machineIn(group, name string) cloud.Machine {
	s.t.Helper()
	o := &infrav1.WindowsMachine{Spec: s.spec()}
	o.Spec.Azure.ResourceGroup = group
	o.Namespace, o.Name, o.UID = "default", name, types.UID("uid of "+name)
	identity := expect.Got(Provider{}.Identify(o))(s.t)
	o.Spec.ProviderID = identity.ProviderID
	return cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: "default", Name: name}, Spec: o.Spec,
		UserData: cloud.UserData("#ps1\nhello").Read, Proof: cloud.Proof{Asked: cloud.NeverAsked, Own: true},
		Cluster: cloud.ClusterMark{Name: "blue", UID: "u", Manager: manager},
	}
}

// adapters are the IDs of the adapters of a VM.
func adapters(in *armsim.Inside, name string) (all []string) {
	r := in.World.Find(armsim.VMID(name))
	if r == nil {
		return nil
	}
	for _, nic := range doc.List(r.Body, "properties", "networkProfile", "networkInterfaces") {
		all = append(all, doc.Text(nic, "id"))
	}
	return all
}
