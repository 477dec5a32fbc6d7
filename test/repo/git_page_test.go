package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What a page has the reader keep in Git names Secrets and has none: the output of a flavor, and no kubeconfig.
func TestNoSecretsInGit(t *testing.T) {
	kept := regexp.MustCompile(`--flavor (\S+)[^\n|]*\| tee `)
	secret := regexp.MustCompile(`(?m)^kind: Secret$|\$\{[A-Z_]*(PASSWORD|CLIENT_SECRET|TOKEN)`)
	pages, flavors := 0, map[string]bool{}
	for _, page := range expect.Got(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t) {
		text := strings.ReplaceAll(string(expect.Got(os.ReadFile(page))(t)), "\\\n", "")
		for _, found := range kept.FindAllStringSubmatch(text, -1) {
			pages++
			flavors[found[1]] = true
		}
	}
	if pages < 4 || len(flavors) < 3 {
		t.Errorf("%d commands keep the output of the flavors %v, and there are more", pages, flavors)
	}
	for flavor := range flavors {
		text := string(expect.Got(os.ReadFile(filepath.Join(root, "templates", "cluster-template-"+flavor+".yaml")))(t))
		_, body, _ := strings.Cut(text, "\napiVersion:")
		if found := secret.FindString("apiVersion:" + body); found != "" {
			t.Errorf("the flavor %s is kept in Git and has %s", flavor, found)
		}
	}
}
