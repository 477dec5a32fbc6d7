package twins

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A report differs in its own field also where it is a text of an object, so that what is known of such a field is known there.
func TestReportInsideAnObject(t *testing.T) {
	t.Parallel()
	report := func(message string) Outcome {
		text := `{"version":1,"uid":"u","message":` + encode(message) + `}`
		return Outcome{"object": tree{"data": tree{"report": text}}}
	}
	found := differences(report("a"), report("b"), "/base")
	expect.Same(t, "differences", []Difference{{Where: "object.data.report.message", Lab: "a", Node: "b"}}, found)
}
