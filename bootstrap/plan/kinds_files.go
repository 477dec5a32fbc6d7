package plan

import "encoding/json"

// Access says whose a folder is, and who may use it.
type Access string

// AccessAdmin lets in SYSTEM and Administrators only; AccessGuarded lets Users read a folder, but create nothing in it;
// AccessInherit, like the empty Access, leaves it as it is.
const (
	AccessAdmin   Access = "admin"
	AccessGuarded Access = "guarded"
	AccessInherit Access = "inherit"
)

// FileAccess says whose a file is, and who may use it. No file is guarded: Users could read it, and so could every pod.
type FileAccess string

// FileAdmin lets in SYSTEM and Administrators only; FileInherit, like the empty FileAccess, leaves it as it is.
const (
	FileAdmin   FileAccess = "admin"
	FileInherit FileAccess = "inherit"
)

// File creates a file, or replaces it, and creates the folders above it. The folders stay when the rest fails. Owner and access
// are set at creation, under a random name; then the file gets its own name. A reader never sees half a file. With access admin
// the step does not follow links.
//
// Already so: the content has the same SHA-256, and with access admin the same owner and access.
type File struct {
	Common
	// Path of the file.
	Path Value `json:"path"`
	// Text is the content, and wins over Content.
	Text Value `json:"text,omitempty"`
	// Content as bytes.
	Content []byte `json:"content,omitempty"`
	// Access is for SYSTEM and Administrators only (admin), or that of the folder (inherit, or empty).
	Access FileAccess `json:"access,omitempty"`
	// Secret keeps lines of the content that have 8 or more characters out of reports. Its text has no facts.
	Secret bool `json:"secret,omitempty"`
}

// Directory creates a folder and the folders above it. The folders above stay when the rest fails. With access admin or guarded,
// Administrators own it, even if it existed before, and the step fails if a link is in its path, before it creates anything.
//
// Already so: it exists. Owner and access are compared on their own.
type Directory struct {
	Common
	// Path of the folder.
	Path Value `json:"path"`
	// Access as for a file; what is created in the folder later inherits it. With guarded, Users may read the folder, but create
	// nothing in it; below it they have the same rights as on a drive, because pods use their volumes as Users.
	Access Access `json:"access,omitempty"`
	// Whole includes everything in the folder: Administrators own it, it inherits its access, and links are removed.
	Whole bool `json:"whole,omitempty"`
}

// Remove deletes files, and folders with everything in them.
//
// Already so: they do not exist.
type Remove struct {
	Common
	// Paths are literal.
	Paths []Value `json:"paths,omitempty"`
	// Patterns have wildcards in their last segment.
	Patterns []Value `json:"patterns,omitempty"`
}

// Reservations writes a JSON file that depends on the size of the machine, which only the node can measure.
//
// Already so: as for a file.
type Reservations struct {
	Common
	// Path of the file.
	Path Value `json:"path"`
	// Access as for a file.
	Access FileAccess `json:"access,omitempty"`
	// Patch is the part that does not depend on the size.
	Patch Tree `json:"patch,omitempty"`
	// Rules in their order. Each sets one field.
	Rules []ReservationRule `json:"rules"`
}

// ReservationRule sets one field of the file by the value of a fact.
type ReservationRule struct {
	// Set is the field, dotted: systemReserved.memory. Missing objects on the way are made; another value on the way is a
	// failure. A name on the way differs from all others of its object, those of patch and of other rules, in more than case.
	Set string `json:"set"`
	// Fact that decides. It is compared as a version.
	Fact string `json:"fact"`
	// Rows in their order; the first that fits counts. The last one has no limit, so that every machine has a row.
	Rows []ReservationRow `json:"rows"`
}

// ReservationRow fits where the fact is below; without Below it always fits.
type ReservationRow struct {
	// Below is the limit; the row without it is the last one.
	Below string `json:"below,omitempty"`
	// Value is what the field is set to: a tree.
	Value any `json:"value"`
}

// UnmarshalJSON reads the value as a leaf of a tree.
func (r *ReservationRow) UnmarshalJSON(data []byte) error {
	var read struct {
		Below string          `json:"below"`
		Value json.RawMessage `json:"value"`
	}
	if err := decodeStrict(data, &read); err != nil {
		return err
	}
	*r = ReservationRow{Below: read.Below}
	if len(read.Value) == 0 {
		return nil
	}
	return decodeTree(read.Value, &r.Value)
}

// CollectLogs writes the newest parts of logs into one zip, at most 2 MiB of each file, without secrets. The zip itself is never
// one of the logs, nor is what is left of a file that was being written; when the step fails, the one that was there stays.
//
// Already so: never. The zip is written each time.
type CollectLogs struct {
	Common
	// Path of the zip.
	Path Value `json:"path"`
	// Patterns of files, with wildcards in their last segment.
	Patterns []Value `json:"patterns,omitempty"`
	// Events are logs of Windows' event log.
	Events []string `json:"events,omitempty"`
	// MaxMiB of all logs, unpacked, at most 1024; 10 when 0.
	MaxMiB int `json:"maxMiB,omitempty"`
}

func (s *File) check(c *checker) {
	c.path("path", s.Path)
	c.value("text", s.Text)
	c.access(s.Access)
	c.must(s.Text == nil || s.Content == nil, "content", "is given twice: leave out text or content")
	c.must(!s.Secret || !s.Text.hasFact(), "secret", "goes with a text without facts")
}

func (s *Directory) check(c *checker) {
	c.path("path", s.Path)
	c.oneOf("access", string(s.Access), "", string(AccessAdmin), string(AccessGuarded), string(AccessInherit))
	c.must(!s.Whole || s.Access == AccessAdmin || s.Access == AccessGuarded, "whole", "needs access admin or guarded")
}

func (s *Remove) check(c *checker) {
	c.must(len(s.Paths)+len(s.Patterns) > 0, "paths", "is empty, and patterns too: there is nothing to remove")
	for _, path := range s.Paths {
		c.path("paths", path)
	}
	for _, pattern := range s.Patterns {
		c.pattern("patterns", pattern)
	}
}

func (s *Reservations) check(c *checker) {
	c.path("path", s.Path)
	c.access(s.Access)
	c.tree("patch", map[string]any(s.Patch))
	c.must(len(s.Rules) > 0, "rules", "is empty: a file that is the same on every machine is a step of kind file")
	c.ways(s.Patch, s.Rules)
	for _, rule := range s.Rules {
		c.must(rule.Set != "", "rules.set", "is missing")
		c.fact("rules.fact", rule.Fact)
		c.must(len(rule.Rows) > 0, "rules.rows", "is empty")
		for i, row := range rule.Rows {
			c.must(row.Value != nil, "rules.rows.value", "is missing")
			c.tree("rules.rows.value", row.Value)
			isLast := i == len(rule.Rows)-1
			c.must(isLast == (row.Below == ""), "rules.rows.below", "must be given in every row but the last, which takes the rest")
		}
	}
}

func (c *checker) access(access FileAccess) {
	c.oneOf("access", string(access), "", string(FileAdmin), string(FileInherit))
}

func (s *CollectLogs) check(c *checker) {
	c.path("path", s.Path)
	c.atMost("maxMiB", s.MaxMiB, 1024)
	for _, pattern := range s.Patterns {
		c.pattern("patterns", pattern)
	}
	for _, event := range s.Events {
		c.must(eventLog.MatchString(event), "events", "%q is not a valid name of an event log", event)
	}
}
