package vsphere

import (
	"math"

	"k8s.io/client-go/util/flowcontrol"
)

// pages says how many changes are asked for at once. A page that is too large is asked for again in parts, and the next ones are
// full again. What follows on a truncated answer is given only once, so the list of all VMs is read from its beginning then, with
// full pages up to the one that was too large.
type pages struct {
	spans []span
}

// span is a part of the list in which full pages are too large.
type span struct {
	from, to int
	most     int32
}

const (
	// maxPage is how many changes we want in one answer; a vCenter gives no more than 100 at once anyway.
	maxPage = 100

	// maxSpans is in how many parts of the list pages may be too large, before all that follows on the first is read in smaller ones.
	maxSpans = 8
)

// at is the page of the list that begins after so many VMs. It does not reach into a part that is to be read in smaller ones.
func (p *pages) at(read int) int32 {
	page := int32(maxPage)
	for _, s := range p.spans {
		switch {
		case s.from <= read && read < s.to:
			page = min(page, s.most)
		case read < s.from:
			page = int32(min(int(page), s.from-read))
		}
	}
	return page
}

// tooLarge notes that the page of the list after so many VMs was too large. It says whether a smaller one can be asked for. What
// was small enough elsewhere is tried first, because each try reads the list anew.
func (p *pages) tooLarge(read int) bool {
	page := p.at(read)
	if page <= 1 {
		return false
	}
	smaller := max(page/4, 1)
	for n, s := range p.spans {
		if s.from <= read && read < s.to {
			p.spans[n].most = smaller
			return true
		}
	}
	first := read
	for _, s := range p.spans {
		smaller, first = min(smaller, s.most), min(first, s.from)
	}
	if len(p.spans) == maxSpans {
		p.spans = []span{{first, math.MaxInt, smaller}}
		return true
	}
	p.spans = append(p.spans, span{read, read + int(page), smaller})
	return true
}

// pace slows down a vCenter that answers without pause. What has changed gathers meanwhile. The pages of a list are slowed down
// only when it is longer than a vCenter's can be, which has 45,000 VMs at most.
type pace struct{ changes, pages flowcontrol.RateLimiter }

const (
	manyAnswers      = 500
	answersPerSecond = 10
	manyPages        = 2000
	pagesPerSecond   = 100
)

func newPace() pace {
	return pace{
		changes: flowcontrol.NewTokenBucketRateLimiter(answersPerSecond, manyAnswers),
		pages:   flowcontrol.NewTokenBucketRateLimiter(pagesPerSecond, manyPages),
	}
}

func (p pace) after(truncated bool) flowcontrol.RateLimiter {
	if truncated {
		return p.pages
	}
	return p.changes
}
