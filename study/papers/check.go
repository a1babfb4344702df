package papers

import (
	"fmt"
	"slices"
	"strings"
)

// Study is what the catalogue must agree with: the texts of a built-in study's claims and the sources of its
// printed tables.
type Study struct {
	Name      string
	Claims    []string
	Published []string
}

// Pick returns those of the texts that contain one of the parts, in their order.
func Pick(texts, parts []string) []string {
	var picked []string
	for _, t := range texts {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(t, p) }) {
			picked = append(picked, t)
		}
	}
	return picked
}

// Check returns where the catalogue and the studies disagree: a study, claim or printed table that there is not, and
// a claim or printed table of a study that no paper lists. Each says what to do.
func Check(all []Paper, studies []Study) []error {
	c := checking{studies: studies, listed: map[string]bool{}}
	for _, p := range all {
		for _, i := range p.Items {
			for _, m := range i.Measured {
				c.measurement(p.Name+": "+i.Heading(), m)
			}
		}
	}
	for _, s := range studies {
		c.complete(s.Name, "claim", "claims", s.Claims)
		c.complete(s.Name, "printed table", "published", s.Published)
	}
	return c.wrong
}

// checking gathers what is wrong.
type checking struct {
	studies []Study
	listed  map[string]bool // study and text of what an item has
	wrong   []error
}

func (c *checking) measurement(item string, m Measurement) {
	at := slices.IndexFunc(c.studies, func(s Study) bool { return s.Name == m.Study })
	if at < 0 {
		c.wrong = append(c.wrong, fmt.Errorf("%s: there is no built-in study %s", item, m.Study))
		return
	}
	for _, list := range []struct {
		what  string
		texts []string
		parts []string
	}{{"claim", c.studies[at].Claims, m.Claims}, {"printed table", c.studies[at].Published, m.Published}} {
		for _, part := range list.parts {
			picked := Pick(list.texts, []string{part})
			if len(picked) == 0 {
				c.wrong = append(c.wrong, fmt.Errorf("%s: study %s has no %s that contains %q", item, m.Study, list.what, part))
			}
			for _, text := range picked {
				c.listed[m.Study+"\n"+text] = true
			}
		}
	}
}

func (c *checking) complete(study, what, key string, texts []string) {
	for _, text := range texts {
		if !c.listed[study+"\n"+text] {
			c.wrong = append(c.wrong, fmt.Errorf("study %s: no paper lists the %s %q: name it under measured, as in {study: %s, %s: [%q]}",
				study, what, text, study, key, text))
		}
	}
}
