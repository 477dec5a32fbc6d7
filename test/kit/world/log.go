package world

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// Log keeps the end of what a process says, for tests that fail.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const longestLog = 64 << 10

// Logger writes into the log.
func (l *Log) Logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.text.Len() > longestLog {
			l.text.Next(longestLog / 2)
		}
		fmt.Fprintln(&l.text, time.Now().Format("05.000"), prefix, args)
	}, funcr.Options{Verbosity: 2})
}

// String is what is kept.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
