package runner

import (
	"context"
	"errors"

	"wiretime/network"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload/workloads"
)

// Sites opens the sites that a study refers to, by reference. The caller closes them with
// CloseSites.
func Sites(ctx context.Context, library site.Library, references []string) (map[string]*site.Site, error) {
	sites := map[string]*site.Site{}
	for _, reference := range references {
		s, err := library.Open(ctx, reference)
		if err != nil {
			return nil, errors.Join(err, CloseSites(sites))
		}
		sites[reference] = s
	}
	return sites, nil
}

// CloseSites closes the sites. No run may use them any more.
func CloseSites(sites map[string]*site.Site) error {
	var errs []error
	for _, s := range sites {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Network returns the path of a cell's loads of a site, as workload.Workload.Network does.
func Network(c study.Cell, s *site.Site, o study.Options) network.Path {
	return workloads.Of(c.Workload).Network(c, s, o)
}

// served names the job's site and what it is served over; it is empty if the job has no site.
func (j *job) served() string {
	if j.Site == nil {
		return ""
	}
	return j.Scheme + " " + j.planned.Cell.On(study.AxisSite)
}

// prepare checks the sites of all loads that can run, which brings them into memory, and makes the
// copies that are served. Both use the processor, and must not happen while a load runs.
func (r *run) prepare(ctx context.Context, queue []*job) error {
	r.served = map[string]*site.Site{}
	checked := map[string]bool{}
	for _, j := range r.supported(queue) {
		if j.Site == nil {
			continue
		}
		if reference := j.planned.Cell.On(study.AxisSite); !checked[reference] {
			checked[reference] = true
			if err := j.Site.Verify(ctx); err != nil {
				return err
			}
		}
		name := j.served()
		if r.served[name] != nil {
			continue
		}
		s, err := j.Site.Over(j.Scheme)
		if err != nil {
			return err
		}
		r.served[name] = s
	}
	return nil
}
