// Package canary makes secrets with every awkward character and length, and finds parts of them in a text, however the text is
// encoded. Tests plant them wherever a program reads a secret, and search all that it prints and writes.
package canary

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// value is an awkward secret.
type value struct {
	// between is put between a few letters each.
	between string
	// length is that of the letters, and at least that of the whole.
	length int
	// end is what stands at the end.
	end string
}

var values = map[string]value{
	"quotes":            {between: `"`, length: 30},
	"backslashes":       {between: `\`, length: 30},
	"HTML":              {between: "<&>", length: 42},
	"apostrophes":       {between: "'", length: 30},
	"dollars":           {between: "$", length: 30},
	"backticks":         {between: "`", length: 30},
	"percent":           {between: "%", length: 30},
	"lines":             {between: "\n", length: 30},
	"lines of a PC":     {between: "\r\n", length: 36},
	"tabs":              {between: "\t", length: 30},
	"kanji and emoji":   {between: "漢🔑", length: 42},
	"blanks":            {between: " ", length: 30},
	"a login":           {between: "://u:p@", length: 70},
	"JSON":              {between: `":{"`, length: 49},
	"YAML":              {between: "\n- &a *b: |\n", length: 100},
	"PEM":               {between: "\n-----BEGIN PRIVATE KEY-----\n", length: 140},
	"a line's end":      {length: 30, end: "\n"},
	"a PC's line's end": {length: 31, end: "\r\n"},
	"one character":     {length: 1},
	"7 characters":      {length: 7},
	"8 characters":      {length: 8},
	"9 characters":      {length: 9},
	"70 characters":     {length: 70},
	"254 characters":    {length: 254},
	"255 characters":    {length: 255},
	"256 characters":    {length: 256},
	"257 characters":    {length: 257},
	"300 characters":    {length: 300},
	"1024 characters":   {length: 1024},
	Long:                {length: 4096},
}

// Long is a value of which the user data of a machine has room for a few.
const Long = "4096 characters"

// Values are the names of all kinds of awkward secrets but Long.
func Values() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool { return name == Long })
}

// Of makes the secret of an input. All secrets differ, and a part of 7 bytes has at least 4 random letters where it counts.
func Of(input, name string) string {
	v, found := values[name]
	if !found {
		panic("there is no value " + name)
	}
	var letters strings.Builder
	for i := 0; letters.Len() < v.length; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s of %s, %d", name, input, i))
		letters.WriteString(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:30])))
	}
	if v.between == "" {
		return letters.String()[:v.length] + v.end
	}
	var text strings.Builder
	size := 3
	if len(v.between) > 3 {
		size = 7 // so that a part of 7 bytes is a secret and not what is between
	}
	for part := range slices.Chunk([]byte(letters.String()), size) {
		text.WriteString(v.between + string(part))
		if text.Len() >= v.length {
			break
		}
	}
	return " " + text.String() + v.between + " "
}
