package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	long  = "{type: string, maxLength: 10}"
	short = "{type: string, maxLength: 9}"
	// refused is what crdcheck says when long becomes short.
	refused = at + "maxLength was 10 and is 9"
	reason  = "The field was too long for its column."
)

// repository is a scratch repository with one CRD.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	// No setting of the person who runs the test changes what git does.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	r := repository{t: t, root: t.TempDir()}
	for _, file := range []string{bases, standIn} {
		expect.OK(t, os.MkdirAll(filepath.Join(r.root, filepath.Dir(file)), 0o755))
	}
	expect.OK(t, os.Mkdir(filepath.Join(r.root, bases), 0o755))
	r.git("init", "--quiet")
	r.write(long)
	return r
}

func (r repository) git(args ...string) {
	r.t.Helper()
	identity := []string{"-c", "user.name=Test", "-c", "user.email=test@example.com"}
	command := exec.CommandContext(r.t.Context(), "git", append(identity, args...)...)
	command.Dir = r.root
	if output, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", args[0], err, output)
	}
}

// write gives the CRD's field a schema.
func (r repository) write(schema string) {
	r.t.Helper()
	r.put(bases+"/example.com_things.yaml", strings.Replace(thing, "FIELD", schema, 1))
}

func (r repository) put(file, content string) {
	r.t.Helper()
	expect.OK(r.t, os.WriteFile(filepath.Join(r.root, file), []byte(content), 0o600))
}

func (r repository) read(file string) string {
	r.t.Helper()
	return string(expect.Got(os.ReadFile(filepath.Join(r.root, file)))(r.t))
}

// commit commits everything, and gives it tags.
func (r repository) commit(tags ...string) {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "Change")
	for _, tag := range tags {
		r.git("tag", tag)
	}
}

func (r repository) renew(why string) {
	r.t.Helper()
	expect.OK(r.t, renew(r.root, why))
}

// wantAgainst wants a comparison with this, and that it finds these problems.
func (r repository) wantAgainst(against string, problems ...string) {
	r.t.Helper()
	got := expect.Got(check(r.root, nil))(r.t)
	if !strings.HasPrefix(got.against, against) {
		r.t.Errorf("compared with %s, want %s", got.against, against)
	}
	expect.Same(r.t, "problems", problems, got.problems)
}

func TestBeforeTheFirstRelease(t *testing.T) {
	r := newRepository(t)
	r.renew("The first shapes of the API are agreed on.")
	r.commit()
	r.wantAgainst(standIn)

	r.write(short)
	r.wantAgainst(standIn, refused)
	r.renew(reason)
	r.wantAgainst(standIn)
	file := r.read(standIn)
	for text, want := range map[string]bool{"\n# Why: " + reason + "\n": true, " message:\n": true, "A thing.": false} {
		if strings.Contains(file, text) != want {
			t.Errorf("the file has %q: want %t in\n%s", text, want, file)
		}
	}

	// A file that is edited, or merged from two branches, says why for something else.
	r.put(standIn, strings.Replace(file, "maxLength: 9", "maxLength: 8", 1))
	_, err := check(r.root, nil)
	expect.Says(t, "an edited file", err, "was edited or merged")
}

func TestRenewalSaysWhy(t *testing.T) {
	r := newRepository(t)
	r.renew(reason)
	for _, why := range []string{"", "because", " " + reason + "\n"} {
		expect.Says(t, why, renew(r.root, why), "write a sentence")
	}
}

// From a release on, the file counts no more, and cannot be renewed.
func TestReleases(t *testing.T) {
	r := newRepository(t)
	r.renew("The first shapes of the API are agreed on.")
	r.commit("v0.9.0-rc.1", "vendor", "v1")
	r.write(short)
	r.wantAgainst(standIn, refused)

	r.write(long)
	r.commit("v0.9.0")
	r.wantAgainst("v0.9.0")
	r.write(short)
	r.wantAgainst("v0.9.0", refused)
	expect.Says(t, "renew", renew(r.root, reason), "users have the CRDs of v0.9.0")

	// The highest version is the last release, and not the last name.
	r.write("{type: string}")
	r.commit("v0.10.0")
	r.write(long)
	r.wantAgainst("v0.10.0", at+"maxLength 10 is new")

	r.put(standIn, "# Something else.\n")
	r.wantAgainst("v0.10.0", standIn+": the file was changed after v0.10.0; remove it, because there is a release now",
		at+"maxLength 10 is new")
}

// What CI may have instead of a full clone.
func TestClones(t *testing.T) {
	r := newRepository(t)
	r.renew("The first shapes of the API are agreed on.")
	r.commit("v0.1.0")
	expect.OK(t, os.Remove(filepath.Join(r.root, standIn)))
	r.commit()
	clone := func(options ...string) repository {
		made := repository{t: t, root: t.TempDir()}
		made.git(append(append([]string{"clone", "--quiet"}, options...), "file://"+r.root, made.root)...)
		return made
	}
	for name, of := range map[string]repository{
		"full": clone(), "shallow": clone("--depth=1"), "without tags": clone("--no-tags"),
	} {
		_, err := check(of.root, nil)
		missing := map[string]string{"shallow": "run git fetch --tags", "without tags": "run git fetch --tags"}[name]
		expect.Says(t, name, err, missing)
		of.git("fetch", "--quiet", "--tags", "--depth=1")
		of.write(short)
		of.wantAgainst("v0.1.0", refused)
	}

	_, err := check(t.TempDir(), nil)
	expect.Says(t, "no repository", err, "not a git repository")
	r.git("rm", "--quiet", "-r", bases)
	r.commit("v0.2.0")
	_, err = check(r.root, nil)
	expect.Says(t, "a release without CRDs", err, "v0.2.0 has no CRDs in config/crd/bases")
}

// A person may vouch for a rule, and for nothing else.
func TestLooser(t *testing.T) {
	r := newRepository(t)
	r.write(`{type: string, maxLength: 10, x-kubernetes-validations: [{rule: "self in ['a']"}]}`)
	r.commit("v0.1.0")
	r.write(`{type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self in ['a', 'b']"}]}`)
	const rule, unused = at + "the rule is new or was changed: self in ['a', 'b']", "Thing v1: something else"
	got := expect.Got(check(r.root, map[string]string{
		rule: "It accepts one more value.", refused: "Nobody has so long a text.", unused: "It was released since.",
	}))(t)
	expect.Same(t, "problems", []string{
		refused,
		`hack/crdcheck/looser.go: this line is not needed, remove it: "` + refused + `"`,
		`hack/crdcheck/looser.go: this line is not needed, remove it: "` + unused + `"`,
	}, got.problems)
	r.wantAgainst("v0.1.0", refused, rule)
}

func TestReport(t *testing.T) {
	cases := map[string]struct {
		of   result
		code int
	}{
		"nothing": {of: result{against: "v0.1.0", released: true}},
		"before":  {of: result{against: standIn, problems: []string{refused}}, code: 1},
		"after":   {of: result{against: "v0.1.0", released: true, arguable: true, problems: []string{refused}}, code: 1},
	}
	for name, c := range cases {
		expect.Same(t, name, c.code, report(c.of, nil))
	}
	expect.Same(t, "an error", 2, report(result{}, os.ErrNotExist))
}
