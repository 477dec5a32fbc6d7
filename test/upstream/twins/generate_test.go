package twins

import "testing"

func TestGenerator(t *testing.T) {
	t.Parallel()
	counts, refused, steps := map[string]int{}, 0, 0
	for number := range 1000 {
		c, g := generate(1, number)
		refused, steps = refused+g.Refused, steps+g.steps
		if err := check(c.Plan); err != nil {
			t.Fatalf("plan %d is not allowed: %v\n%s", number, err, encode(c.Plan))
		}
		for step := range stepsOf(c.Plan) {
			counts[step["do"].(string)]++
		}
	}
	t.Logf("%d steps, %d parts were refused: %v", steps, refused, counts)
	for _, kind := range kinds {
		if counts[kind.name] < 30 {
			t.Errorf("%s is in 1,000 plans %d times, at least 30 are wanted", kind.name, counts[kind.name])
		}
	}
}
