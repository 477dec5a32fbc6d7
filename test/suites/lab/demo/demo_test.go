package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

const inReadme = "../../../../docs/demo.svg"

// The demo tells its story to the end and leaves nothing in the clouds, and what the README shows of it is what it prints.
func TestDemo(t *testing.T) {
	stories.Begin(t)
	if testing.Short() {
		t.Skip("starts real servers")
	}
	log := expect.Got(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	s := expect.Got(begin(t.Context(), options{out: log, boot: 300 * time.Millisecond, picture: "yes"}))(t)
	t.Cleanup(func() { expect.OK(t, s.lab.Stop()) })
	err := s.tell(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(s.screen.lines, "\n"))
	}
	if vms := s.lab.VCenter.Owner(t).VMs(); len(vms) > 0 {
		t.Errorf("VMs are left in the vCenter: %v", vms)
	}
	for _, kind := range []string{
		"Microsoft.Compute/virtualMachines", "Microsoft.Compute/disks", "Microsoft.Network/networkInterfaces",
	} {
		if names := s.lab.Azure.Names(armsim.Group, kind); len(names) > 0 {
			t.Errorf("left in Azure: %s %v", kind, names)
		}
	}
	committed := string(expect.Got(os.ReadFile(inReadme))(t))
	got, want := steps(committed), steps(picture("make demo", s.seen))
	expect.Same(t, "steps of docs/demo.svg; make picture draws it anew", strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// steps are the lines of a picture that each run has: titles, heads of tables, and commands. Times, names and phases differ.
func steps(svg string) (all []string) {
	tags, line := regexp.MustCompile(`(<[^>]*>)+`), regexp.MustCompile(`(?m)^<text y.*<tspan x="(16"|32"[^>]*>(\$|NAME)).*$`)
	for _, found := range line.FindAllString(svg, -1) {
		all = append(all, strings.TrimSpace(tags.ReplaceAllString(found, " ")))
	}
	return all
}

// A picture has the text of the terminal and its colours, whatever is in it.
func TestPicture(t *testing.T) {
	svg := picture("make demo", []string{"\x1b[1mtitle\x1b[0m", "", `  a<b & "c" ` + "\x1b[32mRunning\x1b[0m  end"})
	for _, want := range []string{
		`<text y="48"><tspan x="16" class="c1">title</tspan></text>`,
		`<text y="84"><tspan x="32">a&lt;b &amp; &#34;c&#34;</tspan><tspan x="112" class="c32">Running</tspan>` +
			`<tspan x="184">end</tspan></text>`,
		`viewBox="0 0 1088 104"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has not\n%s\nbut is\n%s", want, svg)
		}
	}
	if got := steps(svg); !slices.Equal(got, []string{"title"}) {
		t.Errorf("steps are %q", got)
	}
}

// What stays on a terminal is what a picture shows: a table that is drawn over is there once.
func TestScreenKeepsLines(t *testing.T) {
	log := expect.Got(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	s := newScreen(log)
	s.width = 100
	s.title("one")
	s.show(time.Second, []row{{name: "a"}})
	s.show(2*time.Second, []row{{name: "a", phase: "Running"}, {name: "b", phase: "Pending", message: strings.Repeat("x", 100)}})
	s.done(3 * time.Second)
	if len(s.lines) != 7 || !strings.Contains(s.lines[3], "\x1b[32mRunning\x1b[0m") || !strings.HasSuffix(s.lines[4], "...") {
		t.Errorf("the screen is %q", s.lines)
	}
}
