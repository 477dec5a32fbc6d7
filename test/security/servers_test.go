package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// TestHanging: a server takes the call and does not answer, or answers a byte at a time.
func TestHanging(t *testing.T) {
	b := newBystander(t)
	for tries, drip := range map[string]string{"takes the call and never answers": "", "answers one byte at a time": " "} {
		attempt(t, attack{"vCenter", tries, func(t *testing.T) string {
			asked, over := make(chan struct{}, 100), make(chan struct{})
			server, credentials := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				for r.Context().Err() == nil {
					_, _ = io.WriteString(w, drip)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-over:
						return
					case <-r.Context().Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			})
			c := b.account(t, credentials)
			ctx, leave := context.WithCancel(t.Context())
			ended := make(chan error, 20)
			for range cap(ended) {
				go func() {
					_, err := c.Observe(ctx, machineIn("tenant", "m"))
					ended <- err
				}()
			}
			<-asked
			b.unharmed(t)
			if n := len(asked); n > 1 {
				t.Errorf("%d calls hang, want one for all", n+1)
			}
			leave() // as a worker does that is told to stop
			verdict := shown(t, <-ended)
			for range cap(ended) - 1 {
				verdict = shown(t, <-ended)
			}
			close(over)
			server.CloseClientConnections()
			return verdict
		}})
	}
}

// TestRestless: a server answers the watch at once and without an end.
func TestRestless(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"vCenter", "reports new VMs without pause and without end", func(t *testing.T) string {
		var answers, vms atomic.Int64
		v := vcenter.New(t)
		door := v.Open(func(called string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			if called != "WaitForUpdatesEx" {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.WriteString(w, envelope+`<WaitForUpdatesExResponse xmlns="urn:vim25">`+
				`<returnval><version>1</version><filterSet><filter type="x">x</filter>`)
			for range 1000 {
				n := vms.Add(1)
				_, _ = fmt.Fprintf(w, `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-%d</obj>`+
					`<changeSet><name>config.extraConfig`+
					`["capwin.owner"]</name><op>assign</op><val xsi:type="OptionValue"><key>capwin.owner</key><value xsi:type="xsd:string">`+
					`honest/m%d</value></val></changeSet></objectSet>`, n, n)
			}
			_, _ = io.WriteString(w, `</filterSet><truncated>true</truncated></returnval></WaitForUpdatesExResponse>`+envelopeEnd)
			answers.Add(1)
		})
		t.Cleanup(door.Close)
		for len(b.keys) > 0 {
			<-b.keys
		}
		c := b.account(t, door.Credentials())
		bytes := allocated(func() {
			wait.Until(t, "the watch to be slowed down", func() (any, bool) { return answers.Load(), answers.Load() > 20 })
		})
		t.Logf("%d VMs in %d answers, %d bytes allocated", vms.Load(), answers.Load(), bytes)
		expect.Same(t, "keys of another namespace", 0, len(b.keys))
		b.unharmed(t)
		_, err := c.Observe(t.Context(), machineIn("tenant", "m"))
		if !errors.Is(err, cloud.ErrNotFound) {
			return shown(t, err)
		}
		return "its own machines are looked up by call, and no machine of another namespace is woken"
	}})
}

// TestLargeReports: guests write all that vSphere lets them write, and a machine beside them is still heard at once.
func TestLargeReports(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"guest", "writes a report of 1 MiB, in 300 VMs of the same vCenter", func(t *testing.T) string {
		const guests = 300
		hostile := func(n int) cloud.Machine { return machineIn("tenant", fmt.Sprint("hostile", n)) }
		report := strings.Repeat("&lt;&amp;", 1<<19)
		v := vcenter.New(t)
		var pages atomic.Int64
		door := v.Open(vcenter.Crowd(guests, func(n int) string {
			pages.Add(1)
			m := hostile(n)
			id := m.ProviderID[strings.LastIndex(m.ProviderID, "/")+1:]
			return vcenter.Property("name", "xsd:string", m.Name) + vcenter.Property("config.instanceUuid", "xsd:string", id) +
				vcenter.Property("runtime.powerState", "VirtualMachinePowerState", "poweredOn") +
				vcenter.Extra("capwin.owner", m.Key.String()) + vcenter.Extra("capwin.providerID", m.ProviderID) +
				vcenter.Extra("guestinfo.capwin.report", report)
		}))
		t.Cleanup(door.Close)
		owner, c, m := v.Owner(t), b.account(t, door.Credentials()), machineIn("tenant", "m")
		wait.Until(t, "the machine beside to run", func() (any, bool) {
			vm, err := c.Ensure(t.Context(), m)
			return err, err == nil && vm.State == cloud.Running
		})
		wait.Until(t, "the hostile ones to be seen", func() (any, bool) {
			vm, err := c.Observe(t.Context(), hostile(guests-1))
			return err, err == nil && len(vm.Report) == cloud.MaxReport+1
		})
		for len(b.keys) > 0 {
			<-b.keys
		}
		owner.SetExtra(m.Name, "guestinfo.capwin.report", "heard")
		wait.Until(t, "the key of the machine beside", func() (any, bool) { return len(b.keys), <-b.keys == m.Key })
		expect.Same(t, "report of the machine beside", "heard", expect.Got(c.Observe(t.Context(), m))(t).Report)
		for n := range guests {
			vm := expect.Got(c.Observe(t.Context(), hostile(n)))(t)
			expect.Same(t, "bytes of a report that is too long", cloud.MaxReport+1, len(vm.Report))
		}
		t.Logf("VMs told to tell %d: %d", guests, pages.Load())
		return "the report is left out, and other machines are heard"
	}})
}
