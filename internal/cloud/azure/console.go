package azure

import (
	"context"
	"errors"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// What is taken of a boot log.
const (
	mostLines  = 10
	lineLength = 256
)

// LastWords reads the boot log of a VM that is seen and proved to be the machine's: the log is asked for by name, which another
// VM may have by now. A cloud whose addresses a Secret has could name any server for it, and is not asked. The log is COM1, where
// our agent writes what it does and Windows' console what becomes of Windows.
func (a *account) LastWords(ctx context.Context, m cloud.Machine) ([]string, error) {
	id, ok := arm.ReadProviderID(m.ProviderID)
	if !ok || !a.serves(m) || a.calls.Principal.Cloud.Chosen() || m.Spec.Azure == nil ||
		m.Spec.Azure.BootDiagnostics.Type == infrav1.AzureBootDisabled {
		return nil, nil
	}
	p, err := a.begin(m, id, next.Report)
	if err != nil {
		return nil, err
	}
	if s := p.gather(); s.Seen == nil || s.Seen.Owner != cloud.Ours {
		return nil, nil
	}
	address, signed := a.calls.SignBootLog(ctx, id)
	if err := signed.Err(); err != nil {
		return nil, err
	}
	log, err := a.calls.Principal.BootLog(ctx, address)
	if err != nil {
		return nil, unreadable(err)
	}
	return lastWords(string(log)), nil
}

// unreadable is an error without the address, whose signature lets anybody read the log.
func unreadable(err error) *cloud.Error {
	reason := cloud.Clean(err.Error(), lineLength)
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "it does not answer in time"
	}
	return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"Azure's storage service does not give the boot log: %s; let the manager reach the storage service over HTTPS, or read the "+
			"log in Azure's portal", reason)
}

// lastWords are the last lines of our agent and of Windows' Special Administration Console, which logs starts and ends. A crash
// is one of its lines of XML. The console draws with escape sequences around its words.
func lastWords(log string) (lines []string) {
	for line := range strings.Lines(log) {
		for _, mark := range []string{"CAPWIN ", "EVENT:", "SAC ", "STOPCODE"} {
			if index := strings.Index(line, mark); index >= 0 {
				lines = append(lines, strings.TrimSpace(cloud.Clean(line[index:], lineLength)))
				break
			}
		}
	}
	lines = slices.Compact(lines)
	return lines[max(0, len(lines)-mostLines):]
}
