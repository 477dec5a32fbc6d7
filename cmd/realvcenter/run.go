package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// options of a run.
type options struct {
	config config
	out    io.Writer
	ask    func(context.Context, string) bool
	dir    string
	names  []string
	times  times

	yes, restart, hideServer bool
}

var errNotAgreed = errors.New("nothing was done, because the answer was not yes")

// runner is one run.
type runner struct {
	options
	id      string
	witness *witness
	account *productAccount
	report  report

	// machines are all that may have a VM; the first serves most checks.
	machines []*machine
	first    *machine
	firstErr error
	accounts []*productAccount
	guest    *ending
	canary   string
	private  map[string]string // names that were met on the way
}

// run connects, announces what it will do, asks, checks, and removes what it made, however the checks end. It writes the report
// unless nothing was done.
func run(ctx context.Context, o options) (report, error) {
	r := &runner{options: o, id: newID(), canary: "canary-" + newID() + newID(), private: map[string]string{}}
	chosen, err := choose(checks, o.names)
	if err != nil {
		return report{}, err
	}
	if err := r.connect(ctx); err != nil {
		return report{}, err
	}
	defer r.leave(ctx)
	left, err := r.leftovers(ctx)
	if err != nil {
		return report{}, fmt.Errorf("look for VMs of an earlier run: %w", err)
	}
	r.announce(chosen, left)
	if !r.agreed(ctx, "Make these VMs and run the checks?") {
		return report{}, errNotAgreed
	}
	if len(left) > 0 && r.agreed(ctx, "Remove the VMs that an earlier run left?") {
		r.remove(ctx, left)
	}
	r.checkAll(ctx, chosen)
	r.report.Left = r.remove(context.WithoutCancel(ctx), r.machines)
	return r.finish()
}

func newID() string {
	random := make([]byte, 3)
	_, _ = rand.Read(random) // which never fails
	return hex.EncodeToString(random)
}

func (r *runner) connect(ctx context.Context) (err error) {
	credentials := r.config.credentials(r.config.user)
	if r.witness, err = newWitness(credentials); err != nil {
		return err
	}
	system, err := r.witness.systemInfo(ctx)
	if err != nil {
		r.witness.close(ctx)
		return fmt.Errorf("log in to the vCenter: %w", err)
	}
	if r.account, err = newOurs(ctx, credentials, r.times.poll); err != nil {
		r.witness.close(ctx)
		return err
	}
	r.report = report{
		Format: 1, Program: program(), Time: time.Now(), Run: r.id, Instance: digest(system.InstanceUuid),
		Versions: map[string]string{"vCenter": system.Version + " build " + system.Build, "API": system.ApiVersion},
	}
	if !r.hideServer {
		r.report.Server = digest(host(r.config.Server))
	}
	return nil
}

func (r *runner) leave(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, o := range append(r.accounts, r.account) {
		o.close(ctx)
	}
	r.witness.close(ctx)
}

func (r *runner) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *runner) agreed(ctx context.Context, question string) bool {
	return r.yes || r.ask(ctx, question)
}

// announce prints what will be done, before anything is.
func (r *runner) announce(chosen []check, left []*machine) {
	vcenter := r.config.VSphere
	r.say("vCenter %s, version %s, as user %s; run %s. Checks:",
		r.config.Server, r.report.Versions["vCenter"], r.config.Username, r.id)
	describeAll(r.out, chosen)
	r.say("These VMs will be made in folder %q of datacenter %q, from template %q, and removed at the end:",
		vcenter.Folder, vcenter.Datacenter, vcenter.Image.Template)
	r.say("  %s  for all checks", nameOf(r.id, forAll))
	if r.config.Limited != nil {
		r.say("  %s  by the limited user", nameOf(r.id, byLimited))
	}
	if !r.config.NoWindows {
		r.say("Windows in the first one runs scripts of ours, which add a task, a firewall rule, a certificate and an HNS network.")
	}
	if r.restart {
		r.say("You will be asked to restart the vCenter on the way.")
	}
	for _, m := range left {
		r.say("An earlier run left VM %s.", m.Name)
	}
}

// checkAll runs the checks one by one; the end of ctx ends the one under way, and no other begins.
func (r *runner) checkAll(ctx context.Context, chosen []check) {
	for _, c := range chosen {
		if ctx.Err() != nil {
			r.report.Interrupted = true
		}
		r.say("... %s", c.name)
		begin := time.Now()
		found := r.checkOne(ctx, c)
		if ctx.Err() != nil && found.verdict != holds {
			found = outcome{verdict: notChecked, reason: "the run was interrupted"}
			r.report.Interrupted = true
		}
		entry := result{
			Check: c.name, Verdict: found.verdict, Reason: found.reason, Seen: found.seen,
			Seconds: time.Since(begin).Round(time.Millisecond).Seconds(),
		}
		if found.verdict == doesNot {
			entry.Means = c.means
		}
		r.report.Results = append(r.report.Results, entry)
		r.say("    %s: %s", entry.Verdict, entry.Reason)
	}
}

// checkOne does not let a check end the run: what was made must be removed.
func (r *runner) checkOne(ctx context.Context, c check) (found outcome) {
	if ctx.Err() != nil {
		return unchecked("the run was interrupted")
	}
	defer func() {
		if cause := recover(); cause != nil {
			found = unchecked("the check itself failed: %v", cause)
		}
	}()
	return c.run(ctx, r)
}

// remove removes VMs as the product does, and returns the names of those that may be left.
func (r *runner) remove(ctx context.Context, machines []*machine) (left []string) {
	ctx, cancel := context.WithTimeout(ctx, r.times.clean)
	defer cancel()
	for _, m := range slices.Backward(machines) {
		if m.gone {
			continue
		}
		if err := m.remove(ctx, r.times.poll); err != nil {
			r.say("VM %s could not be removed: %v", m.Name, err)
			left = append(left, m.Name)
			continue
		}
		r.say("VM %s removed", m.Name)
	}
	return left
}

// leftovers are the VMs of earlier runs, by their marks. VMs of a run that is under way elsewhere are among them: the operator
// decides what becomes of them.
func (r *runner) leftovers(ctx context.Context) (left []*machine, err error) {
	marked, err := r.witness.marked(ctx)
	for _, found := range marked {
		if found.owner.Namespace == namespace {
			left = append(left, &machine{Machine: cloud.Machine{
				Identity: cloud.Identity{Name: found.name, ProviderID: found.providerID}, Key: found.owner, Spec: r.spec(),
				Proof: cloud.Proof{Asked: cloud.Existed, Own: true},
			}, account: r.account})
		}
	}
	return left, err
}

func (r *runner) finish() (report, error) {
	private := r.config.private()
	maps.Copy(private, r.private)
	report := r.report.cleaned(cleaner(private))
	names, err := report.write(r.dir)
	r.say("%s", report.summary())
	for _, name := range names {
		r.say("report: %s", name)
	}
	return report, err
}
