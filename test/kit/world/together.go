package world

import "golang.org/x/sync/errgroup"

// Together does something so many times, some of them at once: the API server has to do it, and we wait.
func Together(times int, do func(i int)) {
	var all errgroup.Group
	all.SetLimit(16)
	for i := range times {
		all.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = all.Wait() // they tell the test of their errors
}
