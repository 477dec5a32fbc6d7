// Package breaker keeps calls from a server that does not answer: most fail at once, and a probe now and then finds out when it
// is back.
package breaker

import "time"

// Breaker is closed at first, and lets calls pass. Calls without an answer open it; then none passes until a probe is due, and
// that one alone. It has no lock: its caller decides by more than this, and guards both.
type Breaker struct {
	// Silences in a row open it, and Answers in a row close it. Zero is one silence, and leaves closing to Close.
	Silences, Answers int
	// Limit calls pass at a time while the server answers; zero is one. Before its first answer and after a silence, one passes.
	Limit int
	// Pause is from opening to the first probe. It doubles with each probe that fails, up to Longest if there is one.
	Pause, Longest time.Duration

	calls            int // under way
	silent, answered int // in a row
	failures         int // silences that opened it since it was last closed
	answers          bool
	cause            error
	due              time.Time
}

// Begin lets a call pass, which End ends. If none may pass, cause is why it is open; without one, others are under way.
func (b *Breaker) Begin(now time.Time) (passes bool, cause error) {
	limit := 1
	if b.answers {
		limit = max(b.Limit, 1)
	}
	if now.Before(b.due) || b.calls >= limit {
		return false, b.cause
	}
	b.calls++
	return true, nil
}

// End ends a call that has begun.
func (b *Breaker) End() { b.calls-- }

// Answered notes that a call had an answer.
func (b *Breaker) Answered() {
	b.answers, b.silent = true, 0
	if b.answered++; b.Answers > 0 && b.answered >= b.Answers {
		b.Close()
	}
}

// Silent notes that a call had no answer. While the breaker is open and no probe is due, that is no news.
func (b *Breaker) Silent(now time.Time, cause error) {
	if now.Before(b.due) {
		return
	}
	b.answers, b.answered = false, 0
	if b.silent++; b.silent < b.Silences {
		return
	}
	pause := b.Pause
	if b.Longest > 0 {
		pause = min(pause<<min(b.failures, 10), b.Longest)
	}
	b.failures++
	b.Open(now, cause, pause)
}

// Open opens it, or keeps it open, with a probe that is due after a pause.
func (b *Breaker) Open(now time.Time, cause error, pause time.Duration) {
	b.cause, b.due = cause, now.Add(pause)
}

// Close closes it: the server answers as it must.
func (b *Breaker) Close() {
	b.answers, b.silent, b.answered, b.failures = true, 0, 0, 0
	b.cause, b.due = nil, time.Time{}
}

// Cause is why it is open; nil when it is closed.
func (b *Breaker) Cause() error { return b.cause }

// Due is when the next probe is due; zero when it is closed, or a probe is due at once.
func (b *Breaker) Due() time.Time { return b.due }

// Retry has one call try the server at once, because something about it has changed. Earlier failures still count.
func (b *Breaker) Retry() { b.answers, b.due = false, time.Time{} }
