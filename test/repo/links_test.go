package repo

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Nothing that is written for people may lead nowhere: files and headings are there, and addresses of others have the right form.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		content := string(expect.Got(os.ReadFile(page))(t))
		for _, link := range linksOf(content) {
			if err := linkError(page, link); err != "" {
				t.Errorf("%s: link to %s: %s", page, link, err)
			}
		}
	}
}

// The test of links must be able to fail.
func TestLinksThatLeadNowhere(t *testing.T) {
	page := filepath.Join(root, "docs", "health.md")
	for link, works := range map[string]bool{
		"conditions.md": true, "conditions.md#what-ready-means": true, "#what-is-replaced": true,
		"../README.md": true, "decisions": true, "https://example.com/x#y": true, "../api": true,
		"condition.md": false, "conditions.md#what-ready-mean": false, "#nowhere": false, "https://": false,
		"http://example.com": false, "https://example .com": false, "docs/health.md": false, "decisions#x": false,
	} {
		if err := linkError(page, link); (err == "") != works {
			t.Errorf("%s: %q, want that it works: %v", link, err, works)
		}
	}
	expect.Same(t, "headings", []string{"a-b-c-d1", "same", "same-1"},
		headingsOf("# A `b`: c, d1\n```sh\n# comment\n```\n## Same\n## Same\n"))
	expect.Same(t, "links", []string{"a.md", "b.md#x", "https://c.example"},
		linksOf("[a](a.md) `[no](code.md)` [b](b.md#x)\n```\n[no](fence.md)\n```\n[c]: https://c.example\n"))
}

// linkError says what is wrong with a link on a page.
func linkError(page, link string) string {
	if strings.Contains(link, ":") {
		address, err := url.Parse(link)
		if err != nil || address.Scheme != "https" || !strings.Contains(address.Host, ".") {
			return "an address of another site has the form https://host/path"
		}
		return ""
	}
	file, anchor, anchored := strings.Cut(link, "#")
	target := page
	if file != "" {
		target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(target); err != nil {
		return err.Error()
	}
	if !anchored {
		return ""
	}
	content, err := os.ReadFile(target)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(headingsOf(string(content)), anchor) {
		return "the page has no such heading"
	}
	return ""
}

var (
	//nolint:gocritic // because with m, ^ is the beginning of each line
	fence       = regexp.MustCompile("(?ms:^\\s*```.*?^\\s*```$)")
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkByName  = regexp.MustCompile(`(?m)^\[[^\]]+\]: (\S+)$`)
	headingLine = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linkInText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func linksOf(page string) []string {
	page = codeSpan.ReplaceAllString(fence.ReplaceAllString(page, ""), "")
	var links []string
	for _, form := range []*regexp.Regexp{inlineLink, linkByName} {
		for _, found := range form.FindAllStringSubmatch(page, -1) {
			links = append(links, found[1])
		}
	}
	return links
}

// headingsOf are the anchors that GitHub gives to the headings of a page.
func headingsOf(page string) []string {
	var anchors []string
	times := map[string]int{}
	for _, found := range headingLine.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		text := strings.ToLower(linkInText.ReplaceAllString(found[1], "$1"))
		anchor := strings.ReplaceAll(notInAnchor.ReplaceAllString(text, ""), " ", "-")
		times[anchor]++
		if n := times[anchor]; n > 1 {
			anchor += "-" + strconv.Itoa(n-1)
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}
