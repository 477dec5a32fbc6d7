package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What a reader of the API can take in. markersOver200 only becomes smaller.
const (
	longestMarker  = 600
	markersOver200 = 179
	frontDoorLines = 200
)

func TestMarkers(t *testing.T) {
	t.Parallel()
	over, longest := 0, 0
	for _, path := range expect.Got(filepath.Glob("../../api/*/*/*.go"))(t) {
		for line := range strings.Lines(string(expect.Got(os.ReadFile(path))(t))) {
			marker := strings.TrimSpace(line)
			if !strings.HasPrefix(marker, "// +") {
				continue
			}
			longest = max(longest, len(marker))
			if len(marker) > longestMarker {
				t.Errorf("%s: a marker has %d characters, at most %d are good: make two rules of it: %.80s", path, len(marker),
					longestMarker, marker)
			}
			if len(marker) > 200 {
				over++
			}
		}
	}
	t.Logf("markers of api/: %d have more than 200 characters, the longest %d", over, longest)
	if over != markersOver200 {
		t.Errorf("%d markers have more than 200 characters, pinned are %d, and they only become fewer", over, markersOver200)
	}
}

// The file with which the map of the rooms begins is the first that a newcomer opens.
func TestFrontDoor(t *testing.T) {
	t.Parallel()
	text := string(expect.Got(os.ReadFile("../../docs/contributing/architecture.md"))(t))
	first := regexp.MustCompile("\\| `api/` \\|.*\\| `([^`]+)` \\|").FindStringSubmatch(text)
	if first == nil {
		t.Fatal("docs/contributing/architecture.md has no row of api/ with a file")
	}
	content := string(expect.Got(os.ReadFile("../../" + first[1]))(t))
	lines, holds := strings.Count(content, "\n"), strings.Contains(content, "\ntype WindowsMachineSpec struct {")
	if lines > frontDoorLines || !holds {
		t.Errorf("%s has %d lines, at most %d are good, and must hold WindowsMachineSpec", first[1], lines, frontDoorLines)
	}
}
