package crowd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// serve runs a server of an attacker's own, with TLS. Its certificate is that of the credentials, which are the attacker's, too.
func serve(t *testing.T, answer http.HandlerFunc) *vcenter.Door {
	t.Helper()
	d := &vcenter.Door{Server: httptest.NewUnstartedServer(answer)}
	d.Config.ErrorLog = log.New(io.Discard, "", 0)
	d.StartTLS()
	t.Cleanup(d.Close)
	return d
}

// vCenters are those of tenants, by what they do.
var vCenters = map[string]http.HandlerFunc{
	"a vCenter that answers bombs":            bomb(strings.Repeat("x", 1<<20), 256),
	"a vCenter that answers nested elements":  bomb(strings.Repeat("<x>", 1<<18), 32),
	"a vCenter that answers endless lists":    bomb(strings.Repeat("<returnval><a/></returnval>", 1<<15), 256),
	"a vCenter that answers nothing of use":   empty,
	"a vCenter that never answers":            hang,
	"a vCenter that breaks off":               func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"a vCenter that redirects to another one": redirect,
}

// workloads are API servers of tenants, by what they do.
var workloads = map[string]http.HandlerFunc{
	"a workload cluster that answers bombs":         zipped,
	"a workload cluster that answers endless lists": endless,
	"a workload cluster that never answers":         hang,
}

const (
	envelope = `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>` +
		`<RetrieveServiceContentResponse xmlns="urn:vim25">`
	ending = `</RetrieveServiceContentResponse></soapenv:Body></soapenv:Envelope>`
)

// bomb answers with a text many times over, packed: little on the wire, much in memory.
func bomb(text string, times int) http.HandlerFunc {
	packed := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w := cheap(&b)
		_, _ = io.WriteString(w, envelope)
		for range times {
			_, _ = io.WriteString(w, text)
		}
		_ = w.Close()
		return b.Bytes()
	})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed())
	}
}

// cheap packs with as little work as can be: the other processes of this machine need it more.
func cheap(w io.Writer) *gzip.Writer {
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that there is
	return z
}

// zipped is 64 MiB of nothing, packed although nobody asked for that.
func zipped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := cheap(w)
	_, err := io.WriteString(z, `{"items":[`)
	for i := 0; i < 64 && err == nil; i++ {
		_, err = io.WriteString(z, strings.Repeat(" ", 1<<20))
	}
	_ = z.Close() // fails if the client is gone
}

// endless lists Nodes until the client goes away.
func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, err := io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":"more"},"items":[{}`)
	for err == nil {
		_, err = io.WriteString(w, strings.Repeat(`,{"metadata":{"name":"n"}}`, 1<<12))
	}
}

// kubeconfigOf is one for a server of an attacker's own, as ours accept it.
func kubeconfigOf(t *testing.T, d *vcenter.Door) []byte {
	t.Helper()
	config, ca := clientcmdapi.NewConfig(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: d.URL, CertificateAuthorityData: ca}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "own"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	return expect.Got(clientcmd.Write(*config))(t)
}

// teller returns a function that writes into the configuration of VMs without pause until the test ends, as guests and users
// of a vCenter can. What it writes differs from act to act.
func (p *party) teller(t *testing.T, owner *vcenter.Owner, pace time.Duration, names ...string) func(string, func(int) string) {
	t.Helper()
	var vms []*object.VirtualMachine
	for _, name := range names {
		vms = append(vms, owner.VM(name))
	}
	return func(key string, value func(i int) string) {
		withoutPause(t, pace, func(ctx context.Context, i int) {
			_, err := vms[i%len(vms)].Reconfigure(ctx, types.VirtualMachineConfigSpec{
				ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value(i)}},
			})
			if err == nil {
				p.acts.Add(1)
			}
		})
	}
}

// withoutPause does something until the test ends, at a pace.
func withoutPause(t *testing.T, pace time.Duration, do func(ctx context.Context, i int)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		next := time.NewTicker(pace)
		defer next.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			do(ctx, i)
			<-next.C
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// empty answers as a vCenter does that has no managers.
func empty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/xml")
	_, _ = io.WriteString(w, envelope+"<returnval></returnval>"+ending)
}

func redirect(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/else", http.StatusFound) }

// hang never answers. A server sees that the client is gone only once it has read the whole request.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
