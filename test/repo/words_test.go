package repo

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var wordsAt = flag.String("words.at", "", "the commit whose words of the users' pages are counted as well")

// pageRow is a row of the README's table of pages.
var pageRow = regexp.MustCompile(`(?m)^\| (\w+) \| (.*) \|$`)

// mostWords is how many words the pages for users may have. Who shortens a page lowers it.
const mostWords = 44_991

// pagesOfTable are the pages that the README lists. This is the one list of them: all rows but the last are for users.
func pagesOfTable(t *testing.T) (users, contributors []string) {
	t.Helper()
	_, table, _ := strings.Cut(string(expect.Got(os.ReadFile(filepath.Join(root, "README.md")))(t)), "\n## Where things are\n")
	users = []string{"README.md"}
	for _, row := range pageRow.FindAllStringSubmatch(table, -1) {
		for _, link := range linksOf(row[2]) {
			switch {
			case !strings.HasPrefix(link, "docs/") || !strings.HasSuffix(link, ".md"):
			case row[1] == "Contribute":
				contributors = append(contributors, link)
			default:
				users = append(users, link)
			}
		}
	}
	return users, contributors
}

// Each page is in the README's table, once, and a row of it is read at a glance.
func TestReadmeListsThePages(t *testing.T) {
	users, contributors := pagesOfTable(t)
	listed := slices.Sorted(slices.Values(append(users[1:], contributors...)))
	var there []string
	for _, folder := range []string{"docs", "docs/contributing"} {
		for _, file := range expect.Got(filepath.Glob(filepath.Join(root, folder, "*.md")))(t) {
			there = append(there, folder+"/"+filepath.Base(file))
		}
	}
	slices.Sort(there)
	expect.Same(t, "pages of the README's table", there, listed)
	readme := string(expect.Got(os.ReadFile(filepath.Join(root, "README.md")))(t))
	for _, row := range pageRow.FindAllStringSubmatch(readme, -1) {
		if words := len(strings.Fields(linkInText.ReplaceAllString(row[2], "$1"))); words > 30 {
			t.Errorf("the README's row %s has %d words, want at most 30", row[1], words)
		}
	}
}

// TestWordsOfUsersPages prints how much a user has to read: make words. It does not grow. A page that the commit does not have
// counts as nothing there.
func TestWordsOfUsersPages(t *testing.T) {
	users, _ := pagesOfTable(t)
	var there []string
	if *wordsAt != "" {
		there = strings.Fields(git(t, "ls-tree", "-r", "--name-only", *wordsAt, "docs", "README.md"))
	}
	now, then := 0, 0
	for _, page := range users {
		words, before := len(strings.Fields(string(expect.Got(os.ReadFile(filepath.Join(root, page)))(t)))), 0
		if slices.Contains(there, page) {
			before = len(strings.Fields(git(t, "show", *wordsAt+":"+page)))
		}
		now, then = now+words, then+before
		t.Logf("%6d  %6d at %q  %s", words, before, *wordsAt, page)
	}
	t.Logf("%6d  %6d at %q  all %d pages for users", now, then, *wordsAt, len(users))
	if now > mostWords {
		t.Errorf("the pages for users have %d words, want at most %d: link to what another page has, and move what is for "+
			"contributors to docs/contributing", now, mostWords)
	}
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = root
	return string(expect.Got(command.Output())(t))
}
