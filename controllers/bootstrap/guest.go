package bootstrap

import (
	"context"
	"errors"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	rights "github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// reportsInCluster reports whether the guest of this cloud has nowhere else to report to.
func (r *Reconciler) reportsInCluster(f *facts) bool {
	if !r.GuestReports || r.Rights == nil || f.windows == nil {
		return false
	}
	return r.Clouds.Find(f.windows).ReportsInCluster
}

// openReports waits, for a while, until the guest may report to the workload cluster. A machine goes on without.
func (r *Reconciler) openReports(_ context.Context, f *facts) error {
	if !r.reportsInCluster(f) {
		return nil
	}
	ok, err := r.askRights(f, rights.Name)
	f.reports = ok && err == nil
	mute, silent := errors.AsType[*rights.MuteError](err)
	switch {
	case !ok:
		return awaited()
	case errors.Is(err, keep.ErrSettling):
		return phase.WaitFor(rightsAgain, bootstrapv1.WaitingForGuestRightsReason,
			"the rights by which guests report do not act yet on the API servers of Cluster %s; this takes a minute "+
				"at most", f.cluster.Name)
	case silent:
		f.mute, f.nameTaken = mute.Why, mute.NameTaken
		return nil
	}
	return err
}

// rightsAgain is how soon a config asks again that is woken when there is an answer.
const rightsAgain = 10 * time.Second

// askRights asks for what is kept in the workload cluster as a whole.
func (r *Reconciler) askRights(f *facts, name string) (ok bool, answer error) {
	return r.Rights.Ask(client.ObjectKeyFromObject(f.cluster), client.ObjectKeyFromObject(f.config), name)
}

// awaited stops until there is an answer, which is a matter of a moment: there is nothing to report yet.
func awaited() error { return &phase.Stop{Later: true, After: rightsAgain} }

// makeReport makes the object that the guest reports to, before anything names it.
func (r *Reconciler) makeReport(ctx context.Context, f *facts) error {
	if !f.reports {
		return nil
	}
	err := guests.MakeReport(ctx, f.workload, reportName(f, f.token))
	if workload.OutOfReach(err) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		f.reports, f.mute = false, rights.Mute(err)
	}
	return nil
}

// removeReport removes the object of a guest whose machine goes.
func (r *Reconciler) removeReport(ctx context.Context, f *facts) error {
	names, err := r.reportNames(ctx, f)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := guests.RemoveReport(ctx, f.workload, name); err != nil {
			return err
		}
	}
	return nil
}

// reportNames is the object's name, or all names that it may have if neither the status nor the Secret has it: they are written
// after the object is made.
func (r *Reconciler) reportNames(ctx context.Context, f *facts) ([]string, error) {
	if f.config.Status.GuestReport != "" {
		return []string{f.config.Status.GuestReport}, nil
	}
	if f.windows == nil || f.windows.Status.ComputerName == "" {
		return nil, nil
	}
	issued, err := r.issuedToken(ctx, f)
	if err != nil {
		return nil, err
	}
	if issued != "" {
		return []string{reportName(f, issued)}, nil
	}
	var names []string
	for try := range maxTokenIDs {
		names = append(names, reportName(f, tokenID(f.config, try)))
	}
	return names, nil
}

// reportName is that of the object for a token, of which it has the ID alone.
func reportName(f *facts, token string) string {
	id, _, _ := strings.Cut(token, ".")
	return bootstrap.GuestReport(f.windows.Status.ComputerName, id)
}
