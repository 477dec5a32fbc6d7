package manager

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
)

func TestCheckVerbosity(t *testing.T) {
	for arguments, refused := range map[string]string{
		"":                            "",
		"--v=7":                       "",
		"--v=8":                       "--v=8 prints",
		"--v=7 --vmodule=request=7":   "",
		"--vmodule=machine=2":         "",
		"--vmodule=a=1,req*=10":       "--vmodule=req*=10 prints",
		"--logging-format=json --v=9": "--v=9 prints",
	} {
		fs := pflag.NewFlagSet("manager", pflag.ContinueOnError)
		flags := newFlags(fs)
		if err := fs.Parse(strings.Fields(arguments)); err != nil {
			t.Fatal(err)
		}
		err := checkVerbosity(flags.logs)
		if (err != nil) != (refused != "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: want error %q, got %v", arguments, refused, err)
		}
	}
}

func TestCapVerbosity(t *testing.T) {
	for body, want := range map[string]string{
		"0": "0", "7": "7", " 5\n": "5", //nolint:gocritic // because the white space is the case
		"8": "", "10": "", "-1": "", "": "", "7;9": "", "0x9": "", "9" + strings.Repeat(" ", 100): "",
	} {
		got := ""
		handler := capVerbosity(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			content, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			got = string(content)
		}))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPut, verbosityPath, strings.NewReader(body)))
		if got != want || (answer.Code == http.StatusOK) != (want != "") {
			t.Errorf("%q: answer %d, handed on %q, want %q", body, answer.Code, got, want)
		}
	}
}

// What runs beside the controllers has lines for people, too: that an account breaks, and that it is back.
func TestAllHasALogger(t *testing.T) {
	options, err := newFlags(pflag.NewFlagSet("manager", pflag.ContinueOnError)).managerOptions(newScheme())
	if err != nil {
		t.Fatal(err)
	}
	if options.BaseContext == nil {
		t.Fatal("runnables get a context without a logger")
	}
	if _, err := logr.FromContext(options.BaseContext()); err != nil {
		t.Error(err)
	}
}

func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct {
		container, gomemlimit string
		limit                 int64
		refused               bool
	}{
		{container: "1073741824", limit: 429496728},
		{limit: math.MaxInt64},
		{container: "1073741824", gomemlimit: "600MiB", limit: math.MaxInt64}, // the runtime read it when it started
		{container: "1Gi", limit: math.MaxInt64, refused: true},
		{container: "0", limit: math.MaxInt64, refused: true},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		t.Setenv(memoryVariable, c.container)
		t.Setenv("GOMEMLIMIT", c.gomemlimit)
		if err := limitMemory(); (err != nil) != c.refused {
			t.Errorf("%s of %q: %v", memoryVariable, c.container, err)
		}
		if got := debug.SetMemoryLimit(-1); got != c.limit {
			t.Errorf("limit of a container with %q: got %d, want %d", c.container, got, c.limit)
		}
	}
}
