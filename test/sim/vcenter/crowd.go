package vcenter

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Crowd is a guard that adds VMs to what a property collector tells, without the room that they would take in the simulator,
// which copies each VM by way of XML for every look. They never change. It plays these rules of the vSphere Web Services API
// (8.0.3, data structures WaitOptions, UpdateSet, PropertySpec and WaitForUpdatesExRequestType, ListView; govmomi has the same
// text in vim25/types):
//
//   - An answer has at most WaitOptions.maxObjectUpdates changes, and the server may give fewer: at most 100, as govmomi's
//     simulator says of a real one (defaultMaxObjectUpdates).
//   - UpdateSet.truncated says that more follows.
//   - A truncated version can be used once, and only the one of the last answer. Another one is an InvalidCollectorVersion. The
//     Programming Guide ("Server Data Transmission") would have a client send it again after an error; we rely on neither.
//   - A VM is told by each filter that leads to it, with the properties that the filter asks for (PropertySpec.pathSet): by that
//     of a ContainerView at first, and by that of a ListView once the list has the VM. One that is added while a wait is under
//     way is told after that wait, which a real vCenter would end.
func Crowd(vms int, vm func(n int) string) Guard {
	c := &crowd{vms: vms, vm: vm, of: map[string]*gathered{}}
	return func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		act := map[string]func(request []byte, serve func() string) string{
			"CreateFilter": c.filter, "ModifyListView": c.list, "WaitForUpdatesEx": c.wait,
		}[method]
		if act == nil {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			Abort()
		}
		code := http.StatusOK
		answer := act(body, func() string {
			lab := httptest.NewRecorder()
			next.ServeHTTP(lab, r)
			code = lab.Code
			return lab.Body.String()
		})
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}
}

type crowd struct {
	vms int
	vm  func(n int) string

	mu sync.Mutex
	of map[string]*gathered // by collector
}

// gathered is what a collector has to tell of the crowd.
type gathered struct {
	all     asking            // the filter of all VMs
	lists   map[string]asking // the filters of lists of VMs, by view
	due     []due
	version int    // of the crowd's last answer
	then    string // the version with which the lab's collector goes on
}

// asking is a filter and the properties that it asks for.
type asking struct {
	filter string
	paths  map[string]bool
}

// due is a VM that a filter has to tell.
type due struct {
	by asking
	vm int
}

var (
	versionOf = regexp.MustCompile(`<version>crowd-(\d+)</version>`)
	answered  = regexp.MustCompile(`<version>(\d+)</version>`)
	pageOf    = regexp.MustCompile(`<maxObjectUpdates>(\d+)</maxObjectUpdates>`)
	viewOf    = regexp.MustCompile(`<obj type="(ContainerView|ListView)">([^<]+)</obj>`)
	pathOf    = regexp.MustCompile(`<pathSet>([^<]+)</pathSet>`)
	filterOf  = regexp.MustCompile(`<returnval type="PropertyFilter">([^<]+)</returnval>`)
	added     = regexp.MustCompile(`<add type="VirtualMachine">vm-crowd-(\d+)</add>`)
	unknown   = regexp.MustCompile(`<returnval type="VirtualMachine">vm-crowd-\d+</returnval>`)
	nameOf    = regexp.MustCompile(`^<changeSet><name>([^<]+)</name>`)
)

// filter notes what a new filter asks for.
func (c *crowd) filter(request []byte, serve func() string) string {
	answer := serve()
	view, made := viewOf.FindSubmatch(request), filterOf.FindStringSubmatch(answer)
	if view == nil || made == nil || !bytes.Contains(request, []byte("<type>VirtualMachine</type>")) {
		return answer
	}
	by := asking{filter: made[1], paths: map[string]bool{}}
	for _, path := range pathOf.FindAllSubmatch(request, -1) {
		by.paths[html.UnescapeString(string(path[1]))] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.collector(request)
	if string(view[1]) == "ListView" {
		g.lists[string(view[2])] = by
	} else {
		g.all = by
	}
	return answer
}

// collector is what is known of the one that a request is for.
func (c *crowd) collector(request []byte) *gathered {
	name := string(waitsOn.FindSubmatch(request)[1])
	if c.of[name] == nil {
		c.of[name] = &gathered{lists: map[string]asking{}}
	}
	return c.of[name]
}

// list adds VMs of the crowd to a list. The lab does not know them, and says so.
func (c *crowd) list(request []byte, serve func() string) string {
	answer := unknown.ReplaceAllString(serve(), "")
	view := waitsOn.FindSubmatch(request)[1]
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.of {
		by, ok := g.lists[string(view)]
		if !ok {
			continue
		}
		for _, vm := range added.FindAllSubmatch(request, -1) {
			n, _ := strconv.Atoi(string(vm[1])) // digits
			g.due = append(g.due, due{by, n})
		}
	}
	return answer
}

func (c *crowd) wait(request []byte, serve func() string) string {
	version, first := versionOf.FindSubmatch(request), !bytes.Contains(request, []byte("<version>"))
	if first || bytes.Contains(request, []byte("<version></version>")) {
		return c.begin(request, serve())
	}
	c.mu.Lock()
	g := c.collector(request)
	due := len(g.due) > 0
	if lab := answered.FindSubmatch(request); lab != nil && due {
		g.then = string(lab[1])
	}
	c.mu.Unlock()
	if version == nil && !due {
		return serve()
	}
	return c.page(g, version, request)
}

// begin with the answer of the lab's collector, on which all VMs of the crowd follow.
func (c *crowd) begin(request []byte, answer string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := answered.FindStringSubmatch(answer)
	if version == nil || c.vms == 0 {
		return answer // a fault
	}
	g := c.collector(request)
	g.due, g.then = nil, version[1]
	for n := range c.vms {
		g.due = append(g.due, due{g.all, n})
	}
	g.version++
	answer = strings.Replace(answer, version[0], fmt.Sprintf("<version>crowd-%d</version>", g.version), 1)
	return strings.Replace(answer, "<truncated>false</truncated>", "<truncated>true</truncated>", 1)
}

func (c *crowd) page(g *gathered, version [][]byte, request []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(version) > 1 && string(version[1]) != strconv.Itoa(g.version) {
		return soapBegin + `<e:Fault><faultcode>x</faultcode><faultstring>x</faultstring><detail><InvalidCollectorVersionFault ` +
			`xmlns="urn:vim25" xsi:type="InvalidCollectorVersion"/></detail></e:Fault>` + soapEnd
	}
	most := mostUpdates
	if asked := pageOf.FindSubmatch(request); asked != nil {
		n, _ := strconv.Atoi(string(asked[1])) // digits
		most = min(n, most)
	}
	now := g.due[:min(most, len(g.due))]
	g.due = g.due[len(now):]
	g.version++
	next, more := fmt.Sprint("crowd-", g.version), len(g.due) > 0
	if !more {
		next = g.then
	}
	var page strings.Builder
	fmt.Fprintf(&page, `%s<WaitForUpdatesExResponse xmlns="urn:vim25"><returnval><version>%s</version>`, soapBegin, next)
	for n, one := range now {
		if n == 0 || one.by.filter != now[n-1].by.filter {
			fmt.Fprintf(&page, `%s<filterSet><filter type="PropertyFilter">%s</filter>`, closed(n > 0), one.by.filter)
		}
		fmt.Fprintf(&page, `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-crowd-%d</obj>%s</objectSet>`,
			one.vm, one.by.of(c.vm(one.vm)))
	}
	fmt.Fprintf(&page, `%s<truncated>%t</truncated></returnval></WaitForUpdatesExResponse>`, closed(true), more)
	return page.String() + soapEnd
}

func closed(open bool) string {
	if open {
		return "</filterSet>"
	}
	return ""
}

// of are those of some changes whose properties are asked for.
func (a asking) of(changes string) string {
	var wanted strings.Builder
	for _, change := range strings.SplitAfter(changes, "</changeSet>") {
		if name := nameOf.FindStringSubmatch(change); len(name) > 1 && a.paths[html.UnescapeString(name[1])] {
			wanted.WriteString(change)
		}
	}
	return wanted.String()
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
