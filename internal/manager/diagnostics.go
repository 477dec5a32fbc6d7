package manager

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	logsv1 "k8s.io/component-base/logs/api/v1"
)

// highestVerbosity is the last one at which client-go does not print the bodies of requests and answers, Secrets included.
const highestVerbosity = 7

// verbosityPath is where the diagnostics server takes another verbosity while the manager runs.
const verbosityPath = "/debug/flags/v"

// checkVerbosity refuses flags with which Secrets would be in the logs.
func checkVerbosity(logs *logsv1.LoggingConfiguration) error {
	if logs.Verbosity > highestVerbosity {
		return fmt.Errorf("--v=%d prints the bodies of API requests, with Secrets; use at most %d", logs.Verbosity, highestVerbosity)
	}
	for _, item := range logs.VModule {
		if item.Verbosity > highestVerbosity {
			return fmt.Errorf("--vmodule=%s=%d prints the bodies of API requests, with Secrets; use at most %d",
				item.FilePattern, item.Verbosity, highestVerbosity)
		}
	}
	return nil
}

// capVerbosity hands on what checkVerbosity would accept. The body of a request is the number.
func capVerbosity(set http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64))
		if err != nil {
			http.Error(w, "the body must be a number", http.StatusBadRequest)
			return
		}
		verbosity, err := strconv.Atoi(strings.TrimSpace(string(body)))
		if err != nil || verbosity < 0 || verbosity > highestVerbosity {
			http.Error(w, fmt.Sprintf("the body must be a number from 0 to %d; above %[1]d the bodies of API requests would be printed, "+
				"with Secrets", highestVerbosity), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader([]byte(strconv.Itoa(verbosity))))
		set.ServeHTTP(w, r)
	})
}

// memoryVariable has the memory limit of the container in bytes. The Deployment sets it.
const memoryVariable = "CAPWIN_MEMORY_LIMIT"

// limitMemory makes Go free memory more often when it uses two fifths of what the container may have. Go would take twice what is
// in use, and what hostile namespaces send at once comes on top. GOMEMLIMIT wins: the runtime has read it already.
func limitMemory() error {
	container := os.Getenv(memoryVariable)
	if container == "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := strconv.ParseInt(container, 10, 64)
	if err != nil || limit <= 0 {
		return fmt.Errorf("%s=%s is not a number of bytes", memoryVariable, container)
	}
	debug.SetMemoryLimit(limit / 5 * 2)
	return nil
}
