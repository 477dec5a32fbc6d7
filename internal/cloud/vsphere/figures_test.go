package vsphere

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inventory"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFigures: the limits and times that documents promise, or that others were chosen for.
func TestFigures(t *testing.T) {
	t.Parallel()
	s := time.Second
	expect.Same(t, "times of proofs", []time.Duration{30 * s, 30 * s, 60 * s},
		[]time.Duration{next.PushTime, next.LateRequest, keepGone})
	expect.Same(t, "times of the watch", []time.Duration{180 * s, 60 * s, 3 * s, 15 * s, 5 * s, 10 * s, 600 * s},
		[]time.Duration{maxWait, firstSnapshot, gatherTasks, pollAfter, leaveTimeout, inventory.GuestsTime, readAgain})
	expect.Same(t, "limits of the watch", []int{100, 8, 500, 10, 2000, 100, 64},
		[]int{maxPage, maxSpans, manyAnswers, answersPerSecond, manyPages, pagesPerSecond, maxFolders})
	expect.Same(t, "limits of a machine", []int{60_000, 512, 256}, []int{request.MaxUserData, seen.MaxMark, seen.MaxAddresses})
}

// TestGathers: an account gathers for as long as that, which the other tests shorten.
func TestGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := expect.Got(Provider{}.Connect("", map[string][]byte{
			"server": []byte("vcenter.example.com"), "username": []byte("u"), "password": []byte("p"),
			"thumbprint": bytes.Repeat([]byte("00"), 32),
		}))(t)
		a, _ := c.(*account)
		begun := time.Now()
		<-a.gathered()
		expect.Same(t, "time", gatherTasks, time.Since(begun))
	})
}
