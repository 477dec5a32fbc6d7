package crowd

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// allVMs are those of each list of ownAzure, which has them in pages.
const allVMs, pageOfVMs = 50_000, 2500

// chosenAzure is an Azure of a tenant's own.
type chosenAzure struct {
	*vcenter.Door
	party *party
}

// ownAzure has an endpoint that Secrets choose. It lets everybody in, and lists VMs with the marks of the party's machines.
func ownAzure(t *testing.T, p *party) *chosenAzure {
	t.Helper()
	a := &chosenAzure{party: p}
	a.Door = serve(t, func(w http.ResponseWriter, r *http.Request) { a.answer(w, r) })
	return a
}

// secret is that of an account.
func (a *chosenAzure) secret(name string, n int) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(clientID(n)), "clientSecret": []byte("own"),
		"resourceManagerEndpoint": []byte(a.URL), "authority": []byte(a.URL), "audience": []byte(a.URL),
		"caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}),
	}}
}

// clientID is that of an app of a party's.
func clientID(n int) string { return fmt.Sprintf("eeeeeeee-0000-4000-8000-%012d", n) }

func (a *chosenAzure) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	path := strings.ToLower(r.URL.Path)
	switch {
	case strings.HasSuffix(path, "/openid-configuration"):
		_, _ = fmt.Fprintf(w, `{"token_endpoint":"%s/t","authorization_endpoint":"%[1]s/a","issuer":"%[1]s/i"}`, a.URL)
	case path == "/t":
		_, _ = io.WriteString(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"own"}`)
	case strings.HasSuffix(path, "/virtualmachines"):
		a.party.acts.Add(1)
		a.page(w, r)
	default:
		_, _ = io.WriteString(w, `{"value":[]}`)
	}
}

// page is one of a list of VMs, with tags as long as Azure allows.
func (a *chosenAzure) page(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("$skiptoken")) // none is the first
	group := "g"
	if parts := strings.Split(r.URL.Path, "/"); len(parts) > 4 && strings.EqualFold(parts[3], "resourceGroups") {
		group = parts[4]
	}
	long := strings.Repeat("x", 200)
	count := number(allVMs)
	var text bytes.Buffer
	text.WriteString(`{"value":[`)
	for i := page * pageOfVMs; i < min((page+1)*pageOfVMs, count); i++ {
		if i > page*pageOfVMs {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"id":"/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/v%d-%[4]s",`+
			`"tags":{"capwin-namespace":%[5]q,"capwin-machine":"m%[3]d%[4]s","capwin-providerid":%[4]q,"capwin-cluster":%[4]q},`+
			`"properties":{"vmId":"%08[3]d-0000-4000-8000-000000000000","provisioningState":"Succeeded",`+
			`"hardwareProfile":{"vmSize":%[4]q}}}`,
			armsim.Subscription, group, i, long, a.party.Name)
	}
	text.WriteString(`]`)
	if (page+1)*pageOfVMs < count {
		fmt.Fprintf(&text, `,"nextLink":"%s%s?$skiptoken=%d"`, a.URL, r.URL.Path, page+1)
	}
	text.WriteString(`}`)
	_, _ = w.Write(text.Bytes())
}

// full answers lists of everything with large objects, page after page without end, and has nothing of a name.
func full(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch last := parts[len(parts)-1]; {
	case last == "version":
		_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
	case r.Method == http.MethodGet && manyOf[last] != "":
		listWithoutEnd(w, r, manyOf[last])
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	default:
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	}
}

// manyOf are the spec and more of objects that are listed, by their resource.
var manyOf = map[string]string{
	"nodes": `"status":{"nodeInfo":{"kubeletVersion":"v1.36.3","operatingSystem":"linux"}}`, "namespaces": `"spec":{}`,
	"runtimeclasses": `"handler":"h"`, "deployments": manyTerms, "daemonsets": manyTerms, "statefulsets": manyTerms,
	"configmaps": `"data":{"k":"v"}`, "secrets": `"data":{}`, "services": `"spec":{}`,
}

// manyTerms have a workload select Nodes by as many terms as its size allows.
var manyTerms = `"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"c","image":"i"}],"affinity":{"nodeAffinity":{` +
	`"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` +
	strings.TrimSuffix(strings.Repeat(`{"matchExpressions":[{"key":"k","operator":"NotIn","values":["x"]}]},`, 300), ",") + `]}}}}}}`

func listWithoutEnd(w http.ResponseWriter, r *http.Request, object string) {
	most, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"%d"},"items":[`, page+1)
	long := strings.Repeat("x", 60)
	for i := range cmp.Or(most, 500) {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"metadata":{"namespace":"default","name":"o%d-%d","uid":"u","labels":{"kubernetes.io/os":"linux"`, page, i)
		for j := range 500 {
			fmt.Fprintf(&text, `,"k%d-%s":%[2]q`, j, long)
		}
		fmt.Fprintf(&text, `}},%s}`, object)
	}
	text.WriteString(`]}`)
	_, _ = w.Write(text.Bytes())
}
