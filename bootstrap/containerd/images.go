package containerd

import (
	"fmt"
	"regexp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// The parts of names of hosts and images.
const (
	label     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	hostName  = label + `(\.` + label + `)*`
	port      = step.Port
	imagePart = `[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*`
)

// imageName is a reference with its registry, which ctr and containerd do not add.
var imageName = regexp.MustCompile(`^(` + label + `(\.` + label + `)+(:` + port + `)?|` + label + `:` + port + `|localhost)` +
	`(/` + imagePart + `)+(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

func checkImage(field, image string) error {
	if !imageName.MatchString(image) {
		return step.Invalid(field,
			"%q is not the full name of an image; use one with its registry, such as registry.k8s.io/pause:3.10.2", image)
	}
	return nil
}

// All attempts for all images together have half of the deadline, which also ends optional steps. With less than
// leastPullSeconds it is not worth trying to pull an image.
const (
	pullAttempts     = 2
	longestPull      = 600
	leastPullSeconds = 60
)

// readPrepull divides the time to pull images; the result is seconds for one attempt.
func readPrepull(images []string, deadlineSeconds int) (int, error) {
	if len(images) == 0 {
		return 0, nil
	}
	share := deadlineSeconds / 2 / len(images)
	if share < leastPullSeconds {
		return 0, step.Invalid(containerdField+".prepullImages",
			"%d images share half of spec.bootstrapDeadlineSeconds %d, which gives each %d s instead of at least %d s; "+
				"list fewer images, or raise spec.bootstrapDeadlineSeconds", len(images), deadlineSeconds, share, leastPullSeconds)
	}
	for i, image := range images {
		if err := checkImage(fmt.Sprintf("%s.prepullImages[%d]", containerdField, i), image); err != nil {
			return 0, err
		}
	}
	return min(longestPull, share/pullAttempts), nil
}

// pulls make the first pods start sooner. They are optional: containerd pulls a missing image when a pod needs it.
func (c Containerd) pulls() []plan.Step {
	var steps []plan.Step
	for i, image := range c.prepull {
		steps = append(steps, &plan.Run{
			Common: plan.Common{
				Name: fmt.Sprintf("pull-%d", i+1), Reason: step.ReasonImagePullFailed, Optional: true,
				TimeoutSeconds: c.pullSeconds, Attempts: pullAttempts,
			},
			Argv: append(c.pullCommand(), plan.Text(image)),
		})
	}
	return steps
}

// pauseImageSteps ask containerd for its pause image and pull it if it is missing: without it no pod starts, and the Node would
// never become ready. If the image has it, no registry is contacted. If containerd does not answer, the node only warns, unless
// the spec names a pause image.
func (c Containerd) pauseImageSteps() []plan.Step {
	const named, present, missing = "pauseImage", "pauseImageThere", "LABELS"
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: step.ReasonPauseImageMissing, TimeoutSeconds: 60, Attempts: 2, Optional: true}
	}
	ask, look, pull := common("pause-image"), common("pause-image-there"), common("pause-image-pulled")
	look.When = &plan.Test{Fact: named, IsNot: plan.Text("")}
	pull.When = &plan.Test{Fact: present, Is: plan.Text(missing)}
	pull.TimeoutSeconds, pull.Optional = 600, false
	steps := []plan.Step{
		&plan.Fact{
			Common: ask, Argv: dump(),
			// The key is sandbox since version 3 of the configuration, and was sandbox_image before.
			Match: `\n\s*sandbox[_image]*\s*=\s*['"]([^'"\s]+)['"]`, Set: named,
			Say: plan.Text("containerd does not show which pause image it uses"),
		},
	}
	if c.pauseImage != "" {
		steps = append(steps, c.mustBe("pause-image-in-effect", named, c.pauseImage, "the pause image"))
	}
	return append(steps,
		// ctr prints a heading, and the image below it if there is one; it may print other lines as well.
		&plan.Fact{
			Common: look,
			Argv: append(plan.Texts(ctrProgram, "--namespace", "k8s.io", "images", "list"),
				plan.Parts(plan.Text("name=="), plan.FromFact(named))),
			Match: `(` + missing + `\s*\n\S+\s+\S+\s+sha256:|` + missing + `)`, Set: present,
			Say: plan.Text("containerd does not list its images"),
		},
		&plan.Run{Common: pull, Argv: append(c.pullCommand(), plan.FromFact(named))},
	)
}

// pullCommand pulls the image that the caller appends.
func (c Containerd) pullCommand() []plan.Value {
	argv := plan.Texts(ctrProgram, "--namespace", "k8s.io", "images", "pull")
	if len(c.registries) > 0 {
		argv = append(argv, plan.Texts("--hosts-dir", step.CertsDirectory)...)
	}
	return argv
}
