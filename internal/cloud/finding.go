package cloud

// Finding is the result of a check of a spec against its cloud, and what was found or what to do, in plain words without secrets.
type Finding struct {
	Check  string
	Result Result
	Text   string
}

// Result is how a check ended.
type Result string

// The results.
const (
	CheckOK      Result = "ok"
	CheckWarning Result = "warning" // a machine can be made, but something is to be looked at
	CheckFailed  Result = "failed"  // no machine can be made
	CheckSkipped Result = "skipped" // the check was not made
)

// Progress is called when a part of a check begins: which part, of how many, and what that looks at. It must not block. It may
// be nil.
type Progress func(part, parts int, what string)

// Begin reports that a part begins.
func (p Progress) Begin(part, parts int, what string) {
	if p != nil {
		p(part, parts, what)
	}
}
