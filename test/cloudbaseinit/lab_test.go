//go:build cloudbaseinit

package cloudbaseinit

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/lab/guest"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// labDiffers is where the lab's cloudbase-init is not like the real one of the images, and what it does instead. The list
// gets shorter only: what is mended must leave it.
var labDiffers = map[string]verdict{
	// userdata.go, scriptFormats: the real expressions know capital from small letters, take any number of blanks, and
	// take a vertical tab for one.
	"upper case":            named(powershell64),
	"batch, upper case":     named(batchFile),
	"EC2Config, upper case": named(ec2Config),
	"batch, more blanks":    named(unsupported),
	"Python, more blanks":   named(bashScript),
	"ps1 and vertical tab":  named(unsupported),
	// userdata.go, formatOf: only \n\n ends the first paragraph; what is no UTF-8 raises; (?i)##\s*template:\s*jinja\s*;
	// a certificate is ignored in silence.
	"multipart words, CRLF":      named(powershell64),
	"UTF-16 with mark":           inLabOnce(unsupported),
	"Latin-1":                    inLabOnce(powershell64),
	"jinja, any blanks and case": named(unsupported),
	"certificate":                named(unsupported),
	// The lab runs no cloud-config, so that it does not find out.
	"cloud-config, broken": inLabOnce(cloudConfig),
	// guestinfo.go: rpctool ends its answers with a line end, gzip is unpacked once more, base64 ends with its padding.
	"plaintext, header alone": named(unsupported),
	"empty":                   named(none),
	"gzip in base64":          named(unsupported),
	"more after the padding":  inLabOnce(raised),
	// cloudbase.go: user data are read together with the metadata, so that what raises there leaves no service at all.
	"unknown encoding":    inLabOnce(raised),
	"upper case encoding": inLabOnce(raised),
	"gzip without base64": inLabOnce(raised),
	"broken padding":      inLabOnce(raised),
	"no gzip":             inLabOnce(raised),
	// cloudbase.go: metadata that are no mapping are as good as empty ones, and numbers are no text.
	"metadata: a list":                {Taken: noMetadata},
	"metadata: null":                  {Taken: noMetadata},
	"metadata: number as instance id": named(powershell64),
	"metadata: number as host name":   {Taken: powershell64, Computer: "5"},
}

// inLabOnce is a verdict beside good metadata; the lab is switched on once only, so that nothing is seen twice.
func inLabOnce(taken string) verdict { return verdict{Taken: taken, Computer: "win-1"} }

// The lab plays the release of the images: of the same guestinfo it must make the same.
func TestLabIsLikeTheRealOne(t *testing.T) {
	t.Parallel()
	all := samples()
	for name := range labDiffers {
		if !slices.ContainsFunc(all, func(s sample) bool { return s.name == name }) {
			t.Errorf("labDiffers has %q, which is no sample", name)
		}
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.want
			want.Again = false // the lab is switched on once
			got := inLab(t, s.guestinfo)
			known, differs := labDiffers[s.name]
			if differs && cmp.Equal(want, got) {
				t.Errorf("the lab does as the real one: take this out of labDiffers")
			}
			if differs {
				want = known
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, -want +lab:\n%s", s.reason, diff)
			}
		})
	}
}

// inLab switches a guest of the lab on until its cloudbase-init has said what it does with the user data.
func inLab(t *testing.T, guestinfo map[string]string) verdict {
	t.Helper()
	simulated := &guest.Simulated{Dir: t.TempDir()}
	ctx, off := context.WithTimeout(t.Context(), patience)
	defer off()
	over := make(chan error, 1)
	go func() { over <- simulated.Boot(ctx, plugged(guestinfo)) }()
	v := verdict{Taken: verdictInLab(ctx, filepath.Join(simulated.Dir, "C", "Program Files", "Cloudbase Solutions", "Cloudbase-Init", "log", "cloudbase-init.log"))}
	off()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	machine, err := windows.New(simulated.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if name := machine.ComputerName(); name != imageName {
		v.Computer = strings.ToLower(name)
	}
	return v
}

// labSays are the last lines of the lab's cloudbase-init.
var labSays = []struct {
	line  *regexp.Regexp
	means string
}{
	{regexp.MustCompile(`the lab does not run (.+): user data must be`), ""}, // means what it names
	{regexp.MustCompile(`the lab does not run this script|User_data stdout`), powershell64},
	{regexp.MustCompile(`Unsupported user_data format`), unsupported},
	{regexp.MustCompile(`Found X509 certificate in userdata`), certificate},
	{regexp.MustCompile(`No metadata service found`), noMetadata},
	{regexp.MustCompile(`plugin 'UserDataPlugin' failed`), raised},
	{regexp.MustCompile(`User data not found in metadata`), none},
	{regexp.MustCompile(`CRITICAL`), crashed},
}

func verdictInLab(ctx context.Context, log string) string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text, _ := os.ReadFile(log) // it is not there at once
		for _, s := range labSays {
			found := s.line.FindSubmatch(text)
			if len(found) == 2 {
				return string(found[1])
			}
			if found != nil {
				return s.means
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "nothing that is told:\n" + string(text)
		}
	}
}

// plugged is a VM that has guestinfo and nothing else.
type plugged map[string]string

func (plugged) Hardware(context.Context) (guest.Hardware, error) {
	return guest.Hardware{UUID: labUUID, CPUs: 4, MemoryMiB: 16384}, nil
}

func (p plugged) Guestinfo(_ context.Context, key string) (value string, found bool, err error) {
	value, found = p[key]
	return value, found, nil
}

func (plugged) SetGuestinfo(context.Context, string, string) error { return nil }

func (plugged) SetAddress(context.Context, string, string) error { return nil }
