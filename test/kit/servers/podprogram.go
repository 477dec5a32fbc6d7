package servers

import (
	"context"
)

// PodProgram is the real program of a pod's container. It runs as a plain process, with the rights of an admin of the cluster.
type PodProgram struct {
	Name, Path string
	Args, Env  []string
}

// RunProgram runs a program until it ends or ctx does. One that ends by itself is an error, which has the last lines that it has
// printed. Its log is in the run folder of the cluster.
func (w *Workload) RunProgram(ctx context.Context, program PodProgram) error {
	p, err := launch(w.servers.dir, server{
		name: program.Name, path: program.Path, args: program.Args, env: append(program.Env, "KUBECONFIG="+w.KubeconfigFile),
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return p.stop(stopGrace)
	case <-p.exited:
		return p.whyEnded()
	}
}
