package breaker

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	noon      = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	errSilent = errors.New("no answer")
	errLater  = errors.New("no answer again")
)

// passes says whether a call may begin, and ends it.
func passes(b *Breaker, now time.Time) bool {
	is, _ := b.Begin(now)
	if is {
		b.End()
	}
	return is
}

func sameCause(t *testing.T, what string, want, got error) {
	t.Helper()
	expect.Same(t, what, want, got, cmpopts.EquateErrors())
}

// The zero value opens with the first silence, and lets one call try at any time.
func TestZero(t *testing.T) {
	b := Breaker{}
	expect.Same(t, "a call passes", true, passes(&b, noon))
	b.Silent(noon, errSilent)
	sameCause(t, "the cause", errSilent, b.Cause())
	expect.Same(t, "a probe", true, passes(&b, noon))
	b.Answered()
	sameCause(t, "the cause, which Close alone removes", errSilent, b.Cause())
	b.Close()
	sameCause(t, "the cause after Close", nil, b.Cause())
}

// As many silences as are allowed open it, but only in a row.
func TestSilences(t *testing.T) {
	b := Breaker{Silences: 3, Pause: time.Minute}
	for range 5 {
		b.Silent(noon, errSilent)
		b.Silent(noon, errSilent)
		sameCause(t, "the cause of two", nil, b.Cause())
		b.Answered()
	}
	for range 3 {
		b.Silent(noon, errSilent)
	}
	sameCause(t, "the cause of three", errSilent, b.Cause())
	expect.Same(t, "a call that comes too early", false, passes(&b, noon.Add(time.Minute-1)))
	expect.Same(t, "a probe", true, passes(&b, noon.Add(time.Minute)))
}

// Each probe that fails doubles the pause. What fails while none is due changes nothing, and a retry forgets no failure.
func TestPauses(t *testing.T) {
	b, now := Breaker{Pause: 5 * time.Second, Longest: time.Minute}, noon
	for _, seconds := range []int{5, 10, 20, 40, 60, 60} {
		b.Silent(now, errSilent)
		b.Silent(now, errLater)
		sameCause(t, "the cause", errSilent, b.Cause())
		expect.Same(t, "pause", time.Duration(seconds)*time.Second, b.Due().Sub(now))
		now = b.Due()
	}
	b.Silent(now, errLater)
	sameCause(t, "the cause of another probe", errLater, b.Cause())
	b.Retry()
	expect.Same(t, "a call after a retry", true, passes(&b, now))
	b.Silent(now, errSilent)
	expect.Same(t, "pause after a retry", time.Minute, b.Due().Sub(now))
}

// Many answers in a row close it and forget its failures.
func TestAnswers(t *testing.T) {
	b := Breaker{Answers: 20, Pause: time.Second, Longest: time.Minute}
	b.Silent(noon, errSilent)
	for range 19 {
		b.Answered()
		sameCause(t, "the cause", errSilent, b.Cause())
	}
	b.Answered()
	sameCause(t, "the cause after many", nil, b.Cause())
	b.Silent(noon.Add(time.Hour), errSilent)
	expect.Same(t, "pause", time.Second, b.Due().Sub(noon.Add(time.Hour)))
}

// While the server answers, many calls pass, and else one does: others are told why it is open or, if it is not, nothing.
func TestMost(t *testing.T) {
	answers, silent := func(b *Breaker) { b.Answered() }, func(b *Breaker) { b.Silent(noon, errSilent) }
	opens := func(b *Breaker) { b.Open(noon, errSilent, time.Second) }
	for name, c := range map[string]struct {
		was   []func(*Breaker)
		pass  int
		cause error
	}{
		"new":                      {nil, 1, nil},
		"it answers":               {[]func(*Breaker){answers}, 4, nil},
		"closed":                   {[]func(*Breaker){(*Breaker).Close}, 4, nil},
		"silent once":              {[]func(*Breaker){answers, silent}, 1, nil},
		"silent once, and answers": {[]func(*Breaker){answers, silent, answers}, 4, nil},
		"a probe":                  {[]func(*Breaker){answers, silent, silent}, 1, errSilent},
		"a probe that had answer":  {[]func(*Breaker){silent, silent, answers}, 4, errSilent},
		"opened by its owner":      {[]func(*Breaker){answers, opens}, 4, errSilent},
		"a retry":                  {[]func(*Breaker){answers, (*Breaker).Retry}, 1, nil},
	} {
		b, passed := Breaker{Silences: 2, Limit: 4, Pause: time.Second}, 0
		for _, happens := range c.was {
			happens(&b)
		}
		is, cause := b.Begin(noon.Add(time.Second))
		for ; is; is, cause = b.Begin(noon.Add(time.Second)) {
			passed++
		}
		expect.Same(t, name+": calls at a time", c.pass, passed)
		sameCause(t, name+": why no more", c.cause, cause)
		b.End()
		expect.Same(t, name+": one that follows", true, passes(&b, noon.Add(time.Second)))
	}
}
