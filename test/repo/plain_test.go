package repo

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	plainWrite = flag.Bool("plain.write", false, "write plain.txt anew, where its numbers have become lower")
	plainAt    = flag.String("plain.at", "", "the commit whose names and sentences are counted as well")
)

// plainList has, for each room, how many of its names and sentences are not plain. What moves to another room may be written
// anew; the sums only sink.
const plainList = "plain.txt"

// functionWords hold a sentence together and mean nothing alone. A name that is one of them names nothing.
var functionWords = strings.Fields(`
	about above across after again against ahead all along alone already also although always am among an and another any
	anew anything are around as at away back be because been before behind being below beside besides between beyond both but by
	can cannot could did do does doing done during each either else enough ever every everything except few for from further
	given had has have having he hence her here hers him his how however if in inside instead into is it its itself just known
	last later least less lest like many may me meanwhile might mine more most much must my near neither never new no nobody none
	nor not nothing now of off often on once one ones only onto or other others our ours out outside over own per perhaps quite
	rather said same seldom several shall she should since so some somebody something soon still such than that the their theirs
	them then there these they this those though through thus till to together told too toward under unless until up upon us very
	was we well were what whatever when where whether which while who whoever whole whom whose why will with within without would
	yet you your`)

// loopWords are names of loops and of what goes in and out, in all Go.
var loopWords = []string{"i", "in", "out"}

var (
	sentenceEnd = regexp.MustCompile(`[.:;]\s+[A-Z]`)
	sayOrTell   = regexp.MustCompile(`\b(tell|tells|told|says|said)\b`)
)

// plain counts what a reader has to read twice.
type plain struct {
	names, functionNames int
	sentences, saying    int
}

// TestPlain: names name things, and comments state facts instead of having things say or tell them.
func TestPlain(t *testing.T) {
	if *plainAt != "" {
		folder := t.TempDir()
		archive := filepath.Join(folder, "tree.tar")
		git(t, "archive", "--format=tar", "--output="+archive, *plainAt)
		expect.OK(t, exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", folder).Run())
		plainRooms(t, *plainAt, folder)
	}
	rooms := plainRooms(t, "now", root)
	limits := readPlain(t)
	var lines []string
	var sum, most [2]int
	for _, limit := range limits {
		most[0], most[1] = most[0]+limit[0], most[1]+limit[1]
	}
	for room := range rooms {
		is, limit := [2]int{rooms[room].functionNames, rooms[room].saying}, limits[room]
		sum[0], sum[1] = sum[0]+is[0], sum[1]+is[1]
		if (is[0] > limit[0] || is[1] > limit[1]) && !*plainWrite {
			t.Errorf("%s has %d names that are function words and %d sentences that say or tell, at most %d and %d were there: "+
				"name the thing, state the fact", room, is[0], is[1], limit[0], limit[1])
		} else if is != limit && !*plainWrite {
			t.Errorf("%s has become plainer (%d and %d, it was %d and %d): run go test ./test/repo -run TestPlain -plain.write",
				room, is[0], is[1], limit[0], limit[1])
		}
		if is != [2]int{} {
			lines = append(lines, fmt.Sprintf("%s %d %d\n", room, is[0], is[1]))
		}
	}
	for room := range limits {
		if rooms[room] == nil && !*plainWrite {
			t.Errorf("%s has %s, which has no code of ours: take it out", plainList, room)
		}
	}
	if sum[0] > most[0] || sum[1] > most[1] {
		t.Errorf("all rooms have %d such names and %d such sentences, at most %d and %d were there", sum[0], sum[1], most[0], most[1])
	} else if *plainWrite {
		slices.Sort(lines)
		expect.OK(t, os.WriteFile(plainList, []byte(strings.Join(lines, "")), 0o600))
	}
}

// plainRooms counts what the product has in a folder, by room, and prints the sum.
func plainRooms(t *testing.T, when, folder string) map[string]*plain {
	t.Helper()
	rooms, all := map[string]*plain{}, &plain{}
	for _, s := range sourcesIn(t, folder) {
		if s.isTest || within(s.folder, besideProduct...) {
			continue
		}
		if rooms[s.folder] == nil {
			rooms[s.folder] = &plain{}
		}
		for _, p := range []*plain{rooms[s.folder], all} {
			p.count(s.file)
		}
	}
	percent := func(part, of int) float64 { return 100 * float64(part) / float64(max(of, 1)) }
	t.Logf("%s: %d of %d names are function words (%.1f %%), %d of %d sentences of comments say or tell (%.1f %%)", when,
		all.functionNames, all.names, percent(all.functionNames, all.names),
		all.saying, all.sentences, percent(all.saying, all.sentences))
	return rooms
}

func readPlain(t *testing.T) map[string][2]int {
	t.Helper()
	limits := map[string][2]int{}
	for line := range strings.Lines(string(expect.Got(os.ReadFile(plainList))(t))) {
		var room string
		var limit [2]int
		_, err := fmt.Sscanf(line, "%s %d %d", &room, &limit[0], &limit[1])
		expect.OK(t, err)
		limits[room] = limit
	}
	return limits
}

func (p *plain) count(file *ast.File) {
	for _, name := range declared(file) {
		if name == "_" || slices.Contains(loopWords, name) {
			continue
		}
		p.names++
		if slices.Contains(functionWords, strings.ToLower(name)) {
			p.functionNames++
		}
	}
	for _, group := range file.Comments {
		for _, sentence := range sentencesOf(group) {
			p.sentences++
			if sayOrTell.MatchString(sentence) {
				p.saying++
			}
		}
	}
}

// declared are the names that a file gives to things.
func declared(file *ast.File) (names []string) {
	add := func(idents ...*ast.Ident) {
		for _, ident := range idents {
			names = append(names, ident.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.Field:
			add(n.Names...)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(identsOf(n.Lhs)...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(identsOf([]ast.Expr{n.Key, n.Value})...)
			}
		}
		return true
	})
	return names
}

func identsOf(all []ast.Expr) (idents []*ast.Ident) {
	for _, expr := range all {
		if ident, is := expr.(*ast.Ident); is {
			idents = append(idents, ident)
		}
	}
	return idents
}

// sentencesOf splits a comment. What has three words or less is a heading.
func sentencesOf(group *ast.CommentGroup) (sentences []string) {
	var text []string
	for _, comment := range group.List {
		line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
		if !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "nolint") {
			text = append(text, line)
		}
	}
	rest := strings.Join(text, " ")
	for rest != "" {
		end := len(rest)
		if at := sentenceEnd.FindStringIndex(rest); at != nil {
			end = at[1] - 1
		}
		if sentence := rest[:end]; len(strings.Fields(sentence)) > 3 {
			sentences = append(sentences, sentence)
		}
		rest = rest[end:]
	}
	return sentences
}
