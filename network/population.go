package network

import (
	"fmt"
	"strings"
)

// Population says which networks the users of a page have.
type Population struct {
	Name   string
	Title  string  // for people
	Source string  // where the shares come from
	Note   string  // which of the shares the source does not have
	Shares []Share // at least one, no network twice
}

// Share is the part of a population that has a network.
type Share struct {
	Network string  // name of a profile
	Weight  float64 // above 0; shares need not add up to anything
}

// Part returns the share's part of the population, above 0 and at most 1.
func (p Population) Part(s Share) float64 {
	sum := 0.0
	for _, o := range p.Shares {
		sum += o.Weight
	}
	return s.Weight / sum
}

// oneSpeed is what is true of all built-in populations.
const oneSpeed = " Each network stands for all lines of its kind, which differ; those of WebPageTest are slower than today's medians."

// Populations returns the built-in populations, the default first.
func Populations() []Population {
	return []Population{
		{
			Name: "mixed", Title: "Page views worldwide, by phone and by desktop",
			Source: "StatCounter Global Stats, page views worldwide, December 2021: 56.4 % phones, 1.7 % tablets, 41.9 % desktops",
			Note: "Phones and tablets have the networks of the population mobile, desktops those of fixed, although many phones are on Wi-Fi. " +
				"Networks with less than 1.5 % count with the next faster one of their kind." + oneSpeed,
			Shares: []Share{{"lte", 50}, {"fibre", 18}, {"cable", 14}, {"3g", 9}, {"dsl", 9}},
		},
		{
			Name: "mobile", Title: "Phones in Finland and Sweden",
			Source: "Sengupta, Shreedhar, Dinh, Kramer, Bajpai, Through the Lens of Google CrUX, 2023 (arXiv 2308.06409): effective connection type 4G in 81.4 % (Finland) and 86.0 % (Sweden) of the visits",
			Note:   "The source gives the share of 4G alone. That the rest has 3G, and a tenth of it 2G, was chosen here. An effective type says how fast a connection is, so Wi-Fi counts as 4G, too." + oneSpeed,
			Shares: []Share{{"lte", 84}, {"3g", 14}, {"2g", 2}},
		},
		{
			Name: "fixed", Title: "Fixed broadband in the OECD",
			Source: "OECD broadband statistics: subscriptions at the end of 2023, 42 % fibre and 20 % DSL; in 2021, 32.4 % cable",
			Note:   "The source has no share of cable, fixed wireless and satellite for 2023: that the other 38 % are 33, 4 and 1 % was chosen here. Fixed wireless counts as lte." + oneSpeed,
			Shares: []Share{{"fibre", 42}, {"cable", 33}, {"dsl", 20}, {"lte", 4}, {"satellite-geo", 1}},
		},
	}
}

// LookupPopulation returns the built-in population with that name. The error for an unknown name
// lists the known ones.
func LookupPopulation(name string) (Population, error) {
	var names []string
	for _, p := range Populations() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Population{}, fmt.Errorf("unknown population %q; there are %s", name, strings.Join(names, ", "))
}

// CheckFixed returns an error if the path is not one access link whose rate and delay stay as they
// are. Only such a path has a distance that can be changed, and is the same network for every load.
func (p Path) CheckFixed() error {
	if len(p.Access) != 1 || len(p.Events) > 0 || p.Access[0].Ride != nil || p.Access[0].Down.Trace != nil || p.Access[0].Up.Trace != nil {
		return fmt.Errorf("network %q changes over time", p.Name)
	}
	return nil
}
