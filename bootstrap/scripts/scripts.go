// Package scripts holds the PowerShell that every Windows node runs, and packs it beside a plan as user data.
//
// User data is a cloud-config: cloudbase-init writes three files, the agent (agent.ps1 and steps.ps1 in one), loader.ps1 and
// the plan, and starts PowerShell on the loader. All scripts are constant, and a test pins their hashes. What differs from node
// to node is in the plan, which no PowerShell text holds: Windows logs what PowerShell compiles. See
// docs/decisions/008-user-data-as-cloud-config.md.
package scripts

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
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

// The folder in which cloudbase-init puts the files, but for the hash of the plan at its end. The plan holds a token, so no
// user of Windows can know the name and make the folder first. 32-bit programs see the same folder.
const (
	staging    = `C:\Windows\Temp\capwin-`
	hashLength = 16
)

// hashPlace stands in the constant text for the hash.
const hashPlace = "@@HASH@@"

// runcmd is the end of the cloud-config: a batch file of three lines. A cloudbase-init of 32 bits finds the PowerShell of 64
// bits through Sysnative, which others do not see. The last line is the net, should PowerShell never start.
const runcmd = `runcmd:
- '@set "PATH=%SystemRoot%\Sysnative\WindowsPowerShell\v1.0;%PATH%"'
- '@powershell.exe -NoProfile -NonInteractive -ExecutionPolicy RemoteSigned -File "` + staging + hashPlace + `\loader.ps1"'
- '@rd /s /q "` + staging + hashPlace + `"'
`

// pieces are constant text, cut where the hash goes.
type pieces []string

// frame is the user data around the plan's blob, which has size bytes. It is the same for all machines and packed once.
type frame struct {
	head, tail pieces
	size       int
}

var constant = sync.OnceValue(func() frame {
	head := "#cloud-config\nwrite_files:\n" + fileHead("agent.ps1") + string(appendBlob(nil, Gzip([]byte(Agent())))) +
		fileHead("loader.ps1") + string(appendBlob(nil, Gzip([]byte(Loader())))) + fileHead("plan.json")
	return frame{strings.Split(head, hashPlace), strings.Split(runcmd, hashPlace), len(head) + len(runcmd) + 5*hashLength}
})

// fileHead is an item of write_files up to its content. On Windows permissions only say that the file is not read-only, and
// access is that of the folder; but without them cloudbase-init would warn.
func fileHead(name string) string {
	return "- path: '" + staging + hashPlace + `\` + name + "'\n  permissions: '0600'\n  encoding: gz+b64\n  content: |\n"
}

// UserData is the cloud-config of a plan: pure ASCII, which differs from plan to plan in the plan's blob and the folder only.
func UserData(plan []byte) []byte {
	f, hash, packed := constant(), hashOf(plan), pack(plan, fast)
	data := make([]byte, 0, f.size+len(packed)/5*7+2*blobLine)
	return f.tail.fill(appendBlob(f.head.fill(data, hash), packed), hash)
}

// fill puts the hash into each place.
func (p pieces) fill(data []byte, hash string) []byte {
	for i, piece := range p {
		if i > 0 {
			data = append(data, hash...)
		}
		data = append(data, piece...)
	}
	return data
}

func hashOf(plan []byte) string {
	sum := sha256.Sum256(plan)
	return hex.EncodeToString(sum[:hashLength/2])
}

// Plan takes the plan out of user data again. It refuses user data that differs from UserData in anything else.
func Plan(userData []byte) ([]byte, error) {
	blob, found := constant().cut(userData)
	if !found {
		return nil, errors.New("the user data was not rendered by this release")
	}
	plan, err := unblob(blob)
	if err != nil {
		return nil, fmt.Errorf("unpack plan: %w", err)
	}
	if !bytes.Equal(userData, UserData(plan)) {
		return nil, errors.New("unpack plan: the user data is not what this release renders for it")
	}
	return plan, nil
}

// cut finds the plan's blob, if all around it is ours, whatever hash the folder has.
func (f frame) cut(userData []byte) (blob []byte, found bool) {
	begin := len(f.head[0])
	if len(userData) < begin+hashLength {
		return nil, false
	}
	hash := string(userData[begin : begin+hashLength])
	rest, begins := bytes.CutPrefix(userData, f.head.fill(nil, hash))
	blob, ends := bytes.CutSuffix(rest, f.tail.fill(nil, hash))
	return blob, begins && ends
}

// Loader is what PowerShell is started on, and Agent is the interpreter, as they stand on a node.
var (
	Loader = sync.OnceValue(func() string { return Bare(loader) })
	Agent  = sync.OnceValue(func() string { return Bare(agent + "\n" + steps) })
)

// Bare is a script of trimmed lines, without comments and blank lines. Lines of here-strings stay as they are.
func Bare(script string) string {
	var packed strings.Builder
	inText, comment := false, false
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\r\n")
		if inText {
			inText = !strings.HasPrefix(line, "'@")
			packed.WriteString(line + "\n")
			continue
		}
		line = strings.TrimSpace(line)
		comment = comment || strings.HasPrefix(line, "<#")
		if !comment && line != "" && line[0] != '#' {
			packed.WriteString(line + "\n")
		}
		comment = comment && !strings.HasSuffix(line, "#>")
		inText = strings.HasSuffix(line, "@'")
	}
	return packed.String()
}

// blobLine is the length of a blob's lines, which editors can take, without the blanks before them.
const (
	blobLine   = 1000
	blobIndent = "    "
)

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
	for len(packed) > 0 {
		line := packed[:min(len(packed), blobLine/4*3)]
		text = append(base64.StdEncoding.AppendEncode(append(text, blobIndent...), line), '\n')
		packed = packed[len(line):]
	}
	return text
}

func unblob(text []byte) ([]byte, error) {
	letters := bytes.ReplaceAll(text, []byte(blobIndent), nil)
	packed, err := base64.StdEncoding.DecodeString(string(letters)) // which skips line ends
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
