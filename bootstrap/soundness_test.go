package bootstrap_test

import (
	"regexp"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What curl really writes of a file must give the date, and tell a fresh one from an old one.
func TestFreshMonths(t *testing.T) {
	p := render(t, plainInput(t, withNow)).Plan()
	date, fresh := stepOf[*plan.Fact](t, p, "windows-updated"), stepOf[*plan.Fact](t, p, "windows-fresh")
	for _, test := range []struct {
		header, date string
		fresh        bool
	}{
		{"Tue, 10 Mar 2026 01:02:03 GMT", "10 Mar 2026", true},
		{"Wed, 01 Apr 2026 01:02:03 GMT", "01 Apr 2026", true},
		{"Tue, 30 Sep 2025 01:02:03 GMT", "30 Sep 2025", true},
		{"Sun, 31 Aug 2025 01:02:03 GMT", "31 Aug 2025", false},
		{"Tue, 10 Mar 2020 01:02:03 GMT", "10 Mar 2020", false},
	} {
		output := "Content-Length: 11\r\nAccept-ranges: bytes\r\nLast-Modified: " + test.header + "\r\n"
		found := regexp.MustCompile("(?i)" + date.Match).FindStringSubmatch(output)
		if len(found) != 2 || found[1] != test.date {
			t.Errorf("%s: the date is %q", test.header, found)
		}
		if got := regexp.MustCompile("(?i)" + fresh.Match).MatchString(output); got != test.fresh {
			t.Errorf("%s: fresh is %v", test.header, got)
		}
	}
	if !date.Optional || !fresh.Optional {
		t.Error("an old image must not keep a node away")
	}
	expect.Same(t, "the program is Windows' own", []string{
		"curl.exe", "--silent", "--head",
		"file:///C:/Windows/System32/ntoskrnl.exe",
	}, shown(fresh.Argv))
}
