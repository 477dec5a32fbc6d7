package vcenter

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Crowd is a guard that adds VMs to what a property collector tells first, without the room that they would take in the
// simulator, which copies each VM by way of XML for every look. It plays these rules of the vSphere Web Services API (8.0.3, data
// structures WaitOptions, UpdateSet and WaitForUpdatesExRequestType; govmomi has the same text in vim25/types):
//
//   - An answer has at most WaitOptions.maxObjectUpdates changes, and the server may give fewer: at most 100, as govmomi's
//     simulator says of a real one (defaultMaxObjectUpdates).
//   - UpdateSet.truncated says that more follows.
//   - A truncated version can be used once, and only the one of the last answer. Another one is an InvalidCollectorVersion. The
//     Programming Guide ("Server Data Transmission") would have a client send it again after an error; we rely on neither.
func Crowd(vms int, vm func(n int) string) Guard {
	c := &crowd{vms: vms, vm: vm, next: map[string]int{}, then: map[string]string{}}
	return func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "WaitForUpdatesEx" {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			Abort()
		}
		c.wait(body, next, w, r)
	}
}

type crowd struct {
	vms int
	vm  func(n int) string

	mu   sync.Mutex
	next map[string]int    // the VM that a collector tells next
	then map[string]string // the version with which the lab's collector goes on
}

var (
	versionOf = regexp.MustCompile(`<version>crowd-(\d+)</version>`)
	answered  = regexp.MustCompile(`<version>(\d+)</version>(<truncated>false</truncated>)?`)
	pageOf    = regexp.MustCompile(`<maxObjectUpdates>(\d+)</maxObjectUpdates>`)
)

func (c *crowd) wait(request []byte, next http.Handler, w http.ResponseWriter, r *http.Request) {
	collector := string(waitsOn.FindSubmatch(request)[1])
	version := versionOf.FindSubmatch(request)
	switch {
	case version != nil:
		_, _ = io.WriteString(w, c.page(collector, string(version[1]), request))
	case bytes.Contains(request, []byte("<version></version>")) || !bytes.Contains(request, []byte("<version>")):
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		_, _ = io.WriteString(w, c.begin(collector, answer.Body.String()))
	default:
		next.ServeHTTP(w, r)
	}
}

// begin with the answer of the lab's collector, on which more follows.
func (c *crowd) begin(collector, answer string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := answered.FindStringSubmatch(answer)
	if version == nil {
		return answer // a fault
	}
	c.next[collector], c.then[collector] = 0, version[1]
	return strings.Replace(answer, version[0], "<version>crowd-0</version><truncated>true</truncated>", 1)
}

func (c *crowd) page(collector, version string, request []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.next[collector]
	if version != strconv.Itoa(from) {
		return soapBegin + `<e:Fault><faultcode>x</faultcode><faultstring>x</faultstring><detail><InvalidCollectorVersionFault ` +
			`xmlns="urn:vim25" xsi:type="InvalidCollectorVersion"/></detail></e:Fault>` + soapEnd
	}
	most := 100
	if asked := pageOf.FindSubmatch(request); asked != nil {
		n, _ := strconv.Atoi(string(asked[1])) // digits
		most = min(n, most)
	}
	to := min(from+most, c.vms)
	c.next[collector] = to
	var page strings.Builder
	version = fmt.Sprint("crowd-", to)
	if to == c.vms {
		version = c.then[collector]
	}
	fmt.Fprintf(&page, `%s<WaitForUpdatesExResponse xmlns="urn:vim25"><returnval><version>%s</version><truncated>%t</truncated>`+
		`<filterSet><filter type="PropertyFilter">crowd</filter>`, soapBegin, version, to < c.vms)
	for n := from; n < to; n++ {
		fmt.Fprintf(&page, `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-crowd-%d</obj>%s</objectSet>`, n, c.vm(n))
	}
	page.WriteString(`</filterSet></returnval></WaitForUpdatesExResponse>` + soapEnd)
	return page.String()
}

// Property is a change of a VM's property, for Crowd: kind is the type of its value.
func Property(name, kind, value string) string {
	return `<changeSet><name>` + name + `</name><op>assign</op><val xsi:type="` + kind + `">` + value + `</val></changeSet>`
}

// Extra is Property for a key of the advanced configuration.
func Extra(key, value string) string {
	return Property(`config.extraConfig["`+key+`"]`, "OptionValue",
		`<key>`+key+`</key><value xsi:type="xsd:string">`+value+`</value>`)
}

const (
	soapBegin = `<?xml version="1.0" encoding="UTF-8"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" ` +
		`xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body>`
	soapEnd = `</e:Body></e:Envelope>`
)
