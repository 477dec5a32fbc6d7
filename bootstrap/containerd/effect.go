package containerd

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// mark is in our drop-in so that containerd's own words show whether it reads the folder. It is a time limit that nothing uses;
// containerd keeps limits of any name. The patterns of imports that it prints do not show it: from 2.2 on they name this folder
// even where config.toml does not import it (cmd/containerd/command/config.go of containerd 2.3.7).
const mark = "\n[timeouts]\ncapwin = '1s'\n"

// withMark is the text of our drop-in; the user's need one, too. Keys without a table come first.
func withMark(root, settings string, withDropIns bool) string {
	head := "version = 3\n"
	switch {
	case root != "":
		head += "root = '" + root + "'\n"
	case settings == "" && !withDropIns:
		return ""
	}
	return head + mark + settings
}

// inEffect asks containerd, before it restarts, whether it has our settings. An image whose config.toml does not import conf.d
// ignores them, and containerd before 2.3.5 does not start where config.toml has an older version than a drop-in.
func (c Containerd) inEffect() []plan.Step {
	if c.settings == "" {
		return nil
	}
	steps := []plan.Step{&plan.Fact{
		Common: ask("settings-in-effect"), Argv: dump(), Match: `\n\s*(capwin)\s*=`, Set: "containerdSettings",
		Say: plan.Text("containerd does not use its settings in conf.d: config.toml of the image must have version 3 " +
			`and imports = ['` + step.DropInsDirectory + `\*.toml']`),
	}}
	if c.root != "" {
		steps = append(steps, c.rootInEffect()...)
	}
	if len(c.registries) == 0 {
		return steps
	}
	const folder = "registriesFolder"
	return append(steps,
		&plan.Fact{
			Common: ask("registries-folder"), Argv: dump(), Set: folder,
			Match: `\.registry\]\s*\n\s*config_path\s*=\s*['"]([^'"]+)['"]`,
			Say:   plan.Text("containerd does not show where it reads the settings of registries"),
		},
		c.mustBe("registries-in-effect", folder, step.CertsDirectory, "the folder of registries"))
}

// rootInEffect: containerd prints its own root before those of its plug-ins.
func (c Containerd) rootInEffect() []plan.Step {
	const folder = "containerdRoot"
	return []plan.Step{
		&plan.Fact{
			Common: ask("containerd-root"), Argv: dump(), Match: `\sroot\s*=\s*['"]([^'"]+)['"]`, Set: folder,
			Say: plan.Text("containerd does not show where it keeps images and containers"),
		},
		c.mustBe("root-in-effect", folder, c.root, "the root"),
	}
}

// mustBe compares a setting that containerd shows with that of our drop-in. Drop-ins of the user win, so with any of them
// another value is only a warning.
func (c Containerd) mustBe(name, fact, wanted, subject string) plan.Step {
	common := ask(name)
	common.TimeoutSeconds, common.Attempts, common.Optional = 0, 0, len(c.dropIns) > 0
	return &plan.Check{
		Common: common, Test: plan.Test{Fact: fact, Is: plan.Text(wanted)},
		Say: plan.Say("containerd has "+subject+" ", fact, ", the spec has "+wanted+"; another file in conf.d replaces it"),
	}
}

// foldersOfCNI: what we and most CNIs put into folders that containerd does not read is never found, and the Node stays NotReady.
// Its defaults on Windows are others (containerd 04d0bebd, internal/cri/config/config_windows.go). Since 2.1 there may be several
// folders of programs, in bin_dirs; bin_dir of an older configuration still counts.
func (c Containerd) foldersOfCNI() []plan.Step {
	folder := func(name, key, path, value, kind string) plan.Step {
		common := ask(name)
		common.Optional, common.When = !c.ownCNI, &plan.Test{Fact: factVersion, IsNot: plan.Text("")}
		return &plan.Fact{
			Common: common, Argv: dump(), Match: `\n\s*(` + key + `)\s*=` + value, Set: "cniFolder",
			Say: plan.Text("containerd does not read the " + kind + " of a CNI from " + path + "; set " + strings.TrimSuffix(key, "s?") +
				" in config.toml of the image, or in spec.containerd.dropIns"),
		}
	}
	return []plan.Step{
		folder("cni-folder", "conf_dir", step.CNIFolder, `\s*['"]`+spellings(step.CNIFolder), "configuration"),
		folder("cni-programs", "bin_dirs?", step.CNIPrograms, `[^\n]*['"]`+spellings(step.CNIPrograms), "programs"),
	}
}

// spellings of a path in TOML, up to its closing quote: with slashes, or with backslashes that may be doubled.
func spellings(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, ".", "[.]"), `\`, `[\\/]+`) + `[\\/]*['"]`
}

// ask is of a step that looks at the configuration in effect.
func ask(name string) plan.Common {
	return plan.Common{Name: name, Reason: step.ReasonContainerdConfigIgnored, TimeoutSeconds: 60, Attempts: 2}
}

// dump prints the configuration in effect.
func dump() []plan.Value { return plan.Texts(containerdProgram, "config", "dump") }
