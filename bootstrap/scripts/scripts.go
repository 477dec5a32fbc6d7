// Package scripts holds the PowerShell that every Windows node runs, and packs it around a plan as user data.
//
// cloudbase-init starts loader.ps1, which unpacks two blobs: the agent (agent.ps1 and steps.ps1 in one) and the plan. All
// three scripts are constant, and a test pins their hashes. What differs from node to node is in the plan, which reaches
// the user data as base64 only: no value can become code.
package scripts

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

//go:embed loader.ps1
var loader string

//go:embed agent.ps1
var agent string

//go:embed steps.ps1
var steps string

// The loader's places for the blobs.
const (
	agentPlace = "@@AGENT@@"
	planPlace  = "@@PLAN@@"
)

// frame is the user data without its plan. It is the same for all machines and packed once.
var frame = sync.OnceValue(func() [2]string {
	before, after, _ := strings.Cut(loader, planPlace)
	return [2]string{strings.Replace(before, agentPlace, string(appendBlob(nil, Gzip([]byte(Agent())))), 1), after}
})

// UserData is the loader with the agent and a plan in it: pure ASCII, which differs from plan to plan in one blob only.
func UserData(plan []byte) []byte {
	frame := frame()
	packed := pack(plan, fast)
	data := make([]byte, 0, len(frame[0])+len(packed)/2*3+len(frame[1]))
	data = appendBlob(append(data, frame[0]...), packed)
	return append(data, frame[1]...)
}

// Plan takes the plan out of user data again. It refuses user data that differs from UserData in anything else.
func Plan(userData []byte) ([]byte, error) {
	frame := frame()
	rest, begins := bytes.CutPrefix(userData, []byte(frame[0]))
	packed, ends := bytes.CutSuffix(rest, []byte(frame[1]))
	if !begins || !ends {
		return nil, errors.New("the user data was not rendered by this release")
	}
	plan, err := unblob(string(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack plan: %w", err)
	}
	return plan, nil
}

// Agent is the interpreter as it stands on a node: one script of trimmed lines, without comments and blank lines. Lines of
// here-strings stay as they are.
var Agent = sync.OnceValue(func() string {
	var packed strings.Builder
	here, comment := false, false
	for line := range strings.Lines(agent + "\n" + steps) {
		line = strings.TrimRight(line, "\r\n")
		if here {
			here = !strings.HasPrefix(line, "'@")
			packed.WriteString(line + "\n")
			continue
		}
		line = strings.TrimSpace(line)
		comment = comment || strings.HasPrefix(line, "<#")
		if !comment && line != "" && line[0] != '#' {
			packed.WriteString(line + "\n")
		}
		comment = comment && !strings.HasSuffix(line, "#>")
		here = strings.HasSuffix(line, "@'")
	}
	return packed.String()
})

// blobLine is the length of a blob's lines, which editors and the log of cloudbase-init can take.
const blobLine = 1000

// The agent is packed once, as small as possible. A plan is packed for each machine: 900 bytes longer, in a quarter of the
// time. Writers are used again, because a new one allocates a megabyte, more than all the rest of a rendering.
var smallest, fast = writers(gzip.BestCompression), writers(gzip.BestSpeed)

func writers(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		writer, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // only a level that does not exist
		}
		return writer
	}}
}

// pack gives equal bytes for equal data, for the header has neither name nor time.
func pack(data []byte, idle *sync.Pool) []byte {
	writer := idle.Get().(*gzip.Writer)
	defer idle.Put(writer)
	var packed bytes.Buffer
	writer.Reset(&packed)
	_, err := writer.Write(data)
	if err = errors.Join(err, writer.Close()); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return packed.Bytes()
}

// Gzip packs as small as possible.
func Gzip(data []byte) []byte { return pack(data, smallest) }

// appendBlob writes lines of blobLine characters.
func appendBlob(text, packed []byte) []byte {
	for ; len(packed) > blobLine/4*3; packed = packed[blobLine/4*3:] {
		text = append(base64.StdEncoding.AppendEncode(text, packed[:blobLine/4*3]), '\n')
	}
	return base64.StdEncoding.AppendEncode(text, packed)
}

func unblob(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text) // which skips line ends
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
