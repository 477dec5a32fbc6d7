package stories

import (
	"fmt"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestDrawn(t *testing.T) {
	expect.Same(t, "all when nothing is said", true, drawn("", "TestTutorial"))
	expect.Same(t, "all", true, drawn("all", "TestTutorial"))
	expect.Same(t, "none", false, drawn("none", "TestTutorial"))
	// Each story is drawn by some third of the commits, and a commit draws each by itself.
	const commits = 3000
	both := 0
	for _, name := range []string{"TestTutorial", "TestJoins"} {
		times := 0
		for i := range commits {
			if drawn(fmt.Sprintf("%040x", i), name) {
				times++
			}
		}
		if times < commits*3/10 || times > commits*11/30 {
			t.Errorf("%s is drawn by %d of %d commits", name, times, commits)
		}
	}
	for i := range commits {
		if commit := fmt.Sprintf("%040x", i); drawn(commit, "TestTutorial") && drawn(commit, "TestJoins") {
			both++
		}
	}
	if both < commits/18 || both > commits/6 {
		t.Errorf("both are drawn by %d of %d commits", both, commits)
	}
}
