package bootstrap_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The node must tell its story by the channel that its cloud has, and leave no copy of its user data behind.
func TestCloudChannels(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  change
		report  []plan.Channel
		erase   string
		because string
	}{
		{"vSphere", nil, []plan.Channel{
			{
				Do: plan.ChannelGuestInfo, Program: plan.Text(`C:\Program Files\VMware\VMware Tools\rpctool.exe`),
				Key: "guestinfo.capwin.report",
			},
		}, `C:\run\kubeadm\join-config.yaml`, "guestinfo is blanked by the controller"},
		{"Azure", onAzure, []plan.Channel{
			{Do: plan.ChannelAzure, URL: "http://168.63.129.16"},
			{Do: plan.ChannelConsole, Port: "COM1"},
			{Do: plan.ChannelConsole, Port: "COM2"},
		}, `C:\AzureData\CustomData*`, "Azure keeps a copy on the disk"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := render(t, plainInput(t, test.change)).Plan()
			expect.Same(t, "channels", test.report, p.Report)
			if !strings.Contains(fmt.Sprint(p.Erase), test.erase) {
				t.Errorf("erases %v, not %s: %s", p.Erase, test.erase, test.because)
			}
		})
	}
}

// manyLabels can not be packed: their values are hashes.
func manyLabels(count int) change {
	var labels []string
	for i := range count {
		digest := sha256.Sum256([]byte(fmt.Sprint(i)))
		labels = append(labels, fmt.Sprintf("example.com/%d=%x", i, digest[:31]))
	}
	return withLabels(labels...)
}

// What a cloud does not carry must be refused before a VM is bought, what it carries must not.
func TestUserDataFitsItsCloud(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		change       change
		fits         bool
	}{
		{"vSphere, most labels the API takes", "64 of them", manyLabels(64), true},
		{"vSphere, near the limit", "much more than usual, less than the limit", manyLabels(300), true},
		{"vSphere, too much", "guestinfo would cut it", manyLabels(500), false},
		{"Azure, most labels the API takes", "64 of them", all(onAzure, manyLabels(64)), true},
		{"Azure, too much", "ARM refuses it", all(onAzure, manyLabels(1500)), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			userData, err := bootstrap.Render(plainInput(t, test.change))
			refused, _ := errors.AsType[*bootstrap.InvalidError](err)
			if test.fits != (err == nil) || err != nil && refused == nil {
				t.Fatalf("%v, want fits %t: %s", err, test.fits, test.reason)
			}
			if err != nil && !strings.Contains(err.Error(), "use fewer or shorter files, scripts, labels and taints") {
				t.Errorf("%q does not say what to do", err)
			}
			value := base64.StdEncoding.EncodedLen(len(scripts.Gzip(userData.Bytes())))
			t.Logf("%d bytes raw, %d as guestinfo", len(userData.Bytes()), value)
		})
	}
}

// vSphere refuses what has more than 60,000 bytes, so no more is rendered, and hardly less is refused.
func TestUserDataAtTheLimit(t *testing.T) {
	largest := 0
	sort.Search(500, func(labels int) bool {
		userData, err := bootstrap.Render(plainInput(t, manyLabels(labels)))
		if err == nil {
			largest = max(largest, base64.StdEncoding.EncodedLen(len(scripts.Gzip(userData.Bytes()))))
		}
		return err != nil
	})
	if largest > 60_000 || largest < 59_000 {
		t.Errorf("the largest user data has %d bytes as guestinfo", largest)
	}
}
