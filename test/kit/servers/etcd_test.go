package servers

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// A member that joins learns first, then votes, and shows a certificate of etcd's authority to those who have one.
func TestEtcdJoins(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	binaries := expect.Got(Ensure(t.Context(), t.Output()))(t)
	pki, ca := t.TempDir(), expect.Got(newAuthority("etcd-ca"))(t)
	// As that of kubeadm, also for a client: etcd's gateway logs in to etcd with it.
	template := certificate(pkix.Name{CommonName: "vm-1"})
	template.IPAddresses = []net.IP{net.ParseIP(loopback)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	serving, client := expect.Got(ca.sign(template))(t), expect.Got(ca.client("kubeadm"))(t)
	folder := expect.Got(newGroup(filepath.Join(pki, "etcd")))(t).dir
	expect.OK(t, errors.Join(pair{certificate: ca.pem}.write(folder, "ca"), serving.write(folder, "server")))

	first := expect.Got(StartEtcd(t.Context(), EtcdOptions{Binaries: binaries, Dir: t.TempDir(), Name: "vm-1", PKI: pki}))(t)
	t.Cleanup(func() { expect.Fine(t, first.Stop()) })
	second := expect.Got(StartEtcd(t.Context(), EtcdOptions{
		Binaries: binaries, Dir: t.TempDir(), Name: "vm-2", PKI: pki, Of: first,
	}))(t)
	t.Cleanup(func() { expect.Fine(t, second.Stop()) })

	var answer struct {
		Members []struct {
			ID, Name  string
			IsLearner bool `json:"isLearner"`
		}
	}
	expect.OK(t, second.ask(t.Context(), "member/list", map[string]any{}, &answer))
	names := map[string]bool{}
	for _, member := range answer.Members {
		names[member.Name] = member.IsLearner
	}
	expect.Same(t, "members, and whether they learn", map[string]bool{"vm-1": false, "vm-2": false}, names)

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.pem)
	login := expect.Got(tls.X509KeyPair(client.certificate, client.key))(t)
	for who, certificates := range map[string][]tls.Certificate{"with a certificate": {login}, "without": nil} {
		connection, err := tls.Dial("tcp", second.Address, &tls.Config{RootCAs: roots, Certificates: certificates})
		if err == nil {
			expect.OK(t, connection.SetDeadline(time.Now().Add(patience)))
			_, err = connection.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
			if err == nil {
				_, err = connection.Read(make([]byte, 1)) // TLS 1.3 tells here that a certificate is wanted
			}
			_ = connection.Close() // the server may have ended it
		}
		expect.Same(t, "answers "+who, certificates != nil, err == nil)
	}

	for _, member := range answer.Members {
		if member.Name == "vm-2" {
			wait.Until(t, "etcd to remove a member, which it refuses at first", func() (any, bool) {
				err := first.ask(t.Context(), "member/remove", map[string]any{"ID": member.ID}, nil)
				return err, err == nil
			})
		}
	}
	wait.Until(t, "the member that was removed to end", func() (any, bool) {
		p := expect.Got(second.servers.process(etcdProcess))(t)
		return p.err, p.hasEnded()
	})
	expect.OK(t, second.Stop())
}
