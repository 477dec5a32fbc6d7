package bootstrap_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// mostBytes is what a rendering may take of the manager's memory, however large its contents are. Many run at once.
const mostBytes = 64 << 20

// withContent refers to the same content as often as the API allows.
func withContent(content []byte) change {
	return func(in *bootstrap.Input) {
		from := bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: "big", Key: "k"}}
		for i := range 64 {
			in.Config.Spec.Custom.Files = append(in.Config.Spec.Custom.Files,
				bootstrapv1.CustomFile{Path: fmt.Sprintf(`C:\x\f%d`, i), ContentFrom: from})
		}
		for i := range 16 {
			script := bootstrapv1.CustomScript{Name: fmt.Sprintf("s%d", i), ContentFrom: from, TimeoutSeconds: 1}
			in.Config.Spec.Custom.PreJoin = append(in.Config.Spec.Custom.PreJoin, script)
			in.Config.Spec.Custom.PostJoin = append(in.Config.Spec.Custom.PostJoin, script)
		}
		in.Sources = map[string][]byte{"configmap/big/k": content}
	}
}

// sizes are contents that 96 files and scripts have, and whether they are rendered before they are refused.
var sizes = []struct {
	name, reason string
	change       change
	tooMuch      bool
}{
	{"a MiB of control characters", "each is six bytes in a plan", withContent(bytes.Repeat([]byte("\x01"), 1<<20)), true},
	{"a MiB", "it counts as often as it is used", withContent(bytes.Repeat([]byte("x"), 1<<20)), true},
	{"one byte more than there may be", "all together count", withContent(bytes.Repeat([]byte("x"), 1<<20/96+1)), true},
	{"as much as there may be", "Render itself decides", withContent(bytes.Repeat([]byte("x"), 1<<20/96)), false},
	{
		"as much as there may be, with escapes", "Render itself decides", withContent(bytes.Repeat([]byte("\x01"), 1<<20/96/6)), false,
	},
	{"as much as there may be, no text", "base64 counts", withContent(bytes.Repeat([]byte{0xff}, 1<<20/96/4*3)), false},
	{"no text", "base64 counts", withContent(make([]byte, 1<<20/96)), true},
	{"in the spec itself", "a text of the spec counts, too", all(
		withContent(bytes.Repeat([]byte("x"), 1<<20/96)),
		func(in *bootstrap.Input) { in.Config.Spec.Custom.Files[0] = inlineFile(strings.Repeat("<", 32768)) },
	), true},
}

func inlineFile(content string) bootstrapv1.CustomFile {
	return bootstrapv1.CustomFile{Path: `C:\x\inline`, Content: content}
}

// TestSizes refuses contents that are too large before it renders anything of them.
func TestSizes(t *testing.T) {
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			in := plainInput(t, size.change)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := bootstrap.Render(in)
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			_, isInvalid := errors.AsType[*bootstrap.InvalidError](err)
			refused := isInvalid && strings.Contains(err.Error(), "more than 1048576 bytes together")
			if refused != size.tooMuch || err != nil && !isInvalid {
				t.Errorf("%s: it is %v", size.reason, err)
			}
			if took > mostBytes || refused && took > 4<<20 {
				t.Errorf("it took %d bytes, at most %d are allowed, and 4 MiB for what is refused", took, mostBytes)
			}
			t.Logf("%d bytes, %.60v", took, err)
		})
	}
}

// mostUserData is what the user data of any golden plan may have; clouds take 60,000 bytes and more.
const mostUserData = 46_500

func TestLargestUserData(t *testing.T) {
	largest, of := 0, ""
	for _, golden := range goldens {
		if size := len(render(t, plainInput(t, golden.change)).Bytes()); size > largest {
			largest, of = size, golden.name
		}
	}
	t.Logf("the largest user data of a golden plan has %d bytes (%s), at most %d are allowed", largest, of, mostUserData)
	if largest > mostUserData {
		t.Errorf("%s: %d bytes of user data, more than %d: what made it so large?", of, largest, mostUserData)
	}
}

// leastLeft is what vSphere must still carry beside the largest machine, for a user's own files and scripts.
const leastLeft = 1536

// largestMachine has everything at once that a machine may have, with three adapters and all that can be said of a network.
var largestMachine = all(
	everything, withAdapters(numbered(staticAdapter("10.0.0.5/24"), 1),
		numbered(staticAdapter("10.0.1.5/24"), 2), numbered(staticAdapter("10.0.2.5/24"), 3)),
	withEveryField, withClusterNetwork,
	withLabels("pool=blue", "zone=a", "team=shop"),
	ofWindows(`dataDrive: {letter: D, format: IfEmpty}, pageFile: {policy: Fixed, sizeMiB: 8192}`),
	func(in *bootstrap.Input) { in.Config.Spec.Network.Interface = "node" },
	spec(`kubelet: {
		priorityClass: High, log: {verbosity: 4, directory: 'C:\logs', maxSizeMiB: 20, maxAgeHours: 72},
		systemLogQuery: Enabled, featureGates: [{name: GracefulNodeShutdown, state: Enabled}],
		configuration: {containerLogMaxSize: 20Mi, maxParallelImagePulls: 4, serializeImagePulls: false}}`),
)

// TestLargestMachine prints what vSphere leaves, which carries least.
func TestLargestMachine(t *testing.T) {
	onVSphere := render(t, plainInput(t, largestMachine)).Bytes()
	packed := base64.StdEncoding.EncodedLen(len(scripts.Gzip(onVSphere)))
	const carried = 60_000 // bytes of a guestinfo variable, less what open-vm-tools needs of it
	t.Logf("the largest machine has %d bytes of user data; vSphere carries them as %d and leaves %d, at least %d are wanted",
		len(onVSphere), packed, carried-packed, leastLeft)
	if carried-packed < leastLeft {
		t.Error("what made it so large?")
	}
}

// The largest contents that are rendered, and some that are refused.
func BenchmarkRenderSizes(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			in := plainInput(b, size.change)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = bootstrap.Render(in)
			}
		})
	}
}
