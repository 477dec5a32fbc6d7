package bootstrap_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Whatever a user writes, in any field of any machine, is refused with a sentence that tells no secret, or makes user data
// that differ from those of another machine in nothing but the plan's content and folder; and in the plan, text stays in
// its place: no program, no fact, no step, no reason comes from it.
func FuzzRender(f *testing.F) {
	for i := range goldens {
		golden := uint8(i)
		f.Add(golden, golden+7, []byte{0, golden, 1, 3, golden, 5, 7, golden, 2}, "'@\n$(calc)", int32(i))
		f.Add(golden, golden+31, []byte{1, golden, 4, 2, golden, 3}, `{"fact":"cpus"}`, int32(-1))
		f.Add(golden, golden+13, []byte{9, golden, 1, 5, golden, 6}, "\u2028\x00\xff#>\r\n\nruncmd:\n- calc\n@@HASH@@", int32(1<<30))
	}
	for _, text := range []string{
		`"; calc; "`, "`r`n", "{{ x }}", "Content-Type: multipart", "kubernetes.io/os", "http://[::1", "::/0",
		`C:\a\`, "..", "con", "a:1:2", "10.0.0.0/33", "v1.99.0", "1e999Gi",
	} {
		f.Add(uint8(0), uint8(1), []byte{0, 1, 1, 0, 9, 2}, text, int32(0))
	}
	known := placesOf(f)
	f.Fuzz(func(t *testing.T, golden, other uint8, spots []byte, text string, number int32) {
		in := inputOf(t, golden)
		mutation{other: inputOf(t, other), spots: spots, text: text, number: number}.apply(&in)
		if in.Machine.Name == "" {
			return // no API server has such a one
		}
		userData, err := bootstrap.Render(in)
		if err != nil {
			checkRefusal(t, err, text)
			return
		}
		checkUserData(t, userData.Bytes())
		data := expect.Got(scripts.Plan(userData.Bytes()))(t)
		carried := expect.Got(plan.Decode(data))(t)
		expect.OK(t, carried.Validate())
		known.check(t, carried)
	})
}

func inputOf(tb testing.TB, number uint8) bootstrap.Input {
	return plainInput(tb, goldens[int(number)%len(goldens)].change)
}

// checkRefusal: what a user wrote is answered with a word for the user, and secrets are not in it, unless the user wrote
// them where none belongs.
func checkRefusal(t *testing.T, err error, text string) {
	t.Helper()
	if _, ok := errors.AsType[*bootstrap.InvalidError](err); !ok {
		t.Fatalf("not a word for the user: %v", err)
	}
	for _, secret := range []string{testSecret, hidden} {
		if strings.Contains(err.Error(), secret) && !strings.Contains(text, secret) {
			t.Fatalf("the error tells a secret: %v", err)
		}
	}
}

// checkUserData holds user data against what cloudbase-init would make of it.
func checkUserData(t *testing.T, data []byte) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("#cloud-config\n")) {
		t.Fatal("cloudbase-init would not know it for a cloud-config")
	}
	for i, b := range data {
		if b != '\n' && (b < ' ' || b > '~') {
			t.Fatalf("byte %d is %#x: cloudbase-init logs all of what it cannot decode", i, b)
		}
	}
	for word, consequence := range map[string]string{
		"\n\n":          "there is one paragraph, so that no reader sees another",
		"Content-Type:": "cloudbase-init would take it for MIME, and log all of it",
		"template:":     "cloudbase-init would fill it in",
		"@@":            "a place that nothing was put in",
	} {
		if bytes.Contains(data, []byte(word)) {
			t.Errorf("it contains %q: %s", word, consequence)
		}
	}
}

func TestUserDataIsTakenByCloudbaseInit(t *testing.T) {
	for _, golden := range goldens {
		checkUserData(t, render(t, plainInput(t, golden.change)).Bytes())
	}
}

func BenchmarkRender(b *testing.B) {
	for _, golden := range goldens {
		b.Run(golden.name, func(b *testing.B) {
			in := plainInput(b, golden.change)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bootstrap.Render(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
