package runner

import (
	"fmt"
	"slices"

	"wiretime/guest"
	"wiretime/server"
	"wiretime/site"
	"wiretime/station"
	"wiretime/study"
)

// Templates are a study's own servers as stations take them.
func Templates(s *study.Study) []server.Template {
	var all []server.Template
	for _, o := range s.OwnServers {
		all = append(all, server.Template(o))
	}
	return all
}

// serves finds the server of a cell: the zero values where it is Wiretime's own, and a
// template where it is the study's.
func (c *Config) serves(name string) (server.Kind, server.Template, error) {
	if name == server.Own {
		return server.Kind{}, server.Template{}, nil
	}
	for _, t := range c.Servers {
		if t.Name == name {
			return t.Kind(), t, nil
		}
	}
	k, err := server.Lookup(name)
	return k, server.Template{}, err
}

// foreign says whether the job is served by somebody else's server.
func (j *job) foreign() bool { return j.server.Name != "" }

// unsupportedServer says why the cell's server cannot serve as the cell asks for.
func (r *run) unsupportedServer(j *job) string {
	if !j.foreign() {
		return ""
	}
	cell, k := j.planned.Cell, j.server
	if err := k.Supports(j.site, j.protocol); err != nil {
		return err.Error()
	}
	if why := k.NoBrowser(j.protocol.Name); why != "" && station.IsBrowser(cell.By()) {
		return why
	}
	switch {
	case r.fallback() != "" && j.protocol.Transport == "udp":
		return fmt.Sprintf("fallback %s over %s: the server %s serves one protocol at a time", r.fallback(), j.protocol.Name, k.Name)
	case r.Options.ServerWait && slices.ContainsFunc(j.site.Resources, func(r site.Resource) bool { return r.Wait > 0 }):
		return fmt.Sprintf("server_wait: the server %s takes no longer than it needs for an answer; use server_wait: none", k.Name)
	case cell.On(study.AxisVisit) == study.VisitConnected && !k.Logs:
		return fmt.Sprintf("the server %s keeps no log, by which open connections could be told", k.Name)
	case cell.On(study.AxisVisit) != study.VisitCold && cell.On(study.AxisVisit) != study.VisitConnected:
		return fmt.Sprintf("the server %s gives out no TLS sessions: of visits that come back there is %s", k.Name, study.VisitConnected)
	}
	program, err := k.Find()
	if err == nil && cell.Clock() == study.ClockVirtual {
		err = guest.Sees(program)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
