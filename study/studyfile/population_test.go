package studyfile

import (
	"testing"

	"wiretime/network"
)

func TestPopulation(t *testing.T) {
	for _, text := range []string{"{lte: 40, cable: 45.5}", "# ours\nlte: 40\ncable: 45.5\n"} {
		p, err := ParsePopulation("ours.yaml", []byte(text))
		if err != nil || len(p.Shares) != 2 || p.Shares[0] != (network.Share{Network: "lte", Weight: 40}) || p.Shares[1] != (network.Share{Network: "cable", Weight: 45.5}) {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
}

func TestPopulationMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"lte: 40\ncabel: 3\n":         `ours.yaml:2:1: unknown network "cabel"; did you mean "cable"?`,
		"{lte: 0}":                    `ours.yaml:1:7: invalid weight "0": must be a positive number, at most 1000000000`,
		"lte: -1\n3g: many\n":         "ours.yaml:1:6: invalid weight \"-1\": must be a positive number, at most 1000000000\nours.yaml:2:5: invalid weight \"many\": must be a positive number, at most 1000000000",
		"lte: .nan":                   `ours.yaml:1:6: a weight must be a single value, not ".nan"`,
		"lte: [1]":                    `ours.yaml:1:6: a weight must be a single value, not a list`,
		"lte:":                        `ours.yaml:1:6: a weight must be a single value, not empty`,
		"[lte]":                       `ours.yaml:1:1: a population must hold networks and weights, as in lte: 40, not a list`,
		"{}":                          `ours.yaml:1:1: the population is empty; write networks and weights, as in lte: 40`,
		"":                            `ours.yaml:1:1: the file is empty; a population has networks and their weights, as in lte: 40`,
		"wibro-bus-out: 1":            `ours.yaml:1:1: network "wibro-bus-out" changes over time; a population has networks that stay as they are`,
		"lte: 1\nlte: 2":              "",
		"lte: &a 1":                   "",
		"{lte: 1":                     "",
		"lte: 1\n---\ncable: 2":       "",
		"lte: 99999999999999999999.0": `ours.yaml:1:6: invalid weight "99999999999999999999.0": must be a positive number, at most 1000000000`,
	} {
		p, err := ParsePopulation("ours.yaml", []byte(text))
		if err == nil || want != "" && err.Error() != want {
			t.Errorf("%q: %+v\ngot  %v\nwant %s", text, p, err, want)
		}
	}
}

// TestBuiltInPopulations checks that a study can measure each network of each built-in population.
func TestBuiltInPopulations(t *testing.T) {
	for _, p := range network.Populations() {
		sum := 0.0
		for _, s := range p.Shares {
			path, err := network.Profile(s.Network)
			if err == nil {
				err = path.CheckFixed()
			}
			if err != nil || s.Weight <= 0 {
				t.Errorf("%s: %+v: %v", p.Name, s, err)
			}
			sum += p.Part(s)
		}
		if sum < 0.999 || sum > 1.001 || p.Source == "" || p.Title == "" || p.Note == "" {
			t.Errorf("%s: the parts add up to %v, source %q", p.Name, sum, p.Source)
		}
	}
	if _, err := network.LookupPopulation("fxed"); err == nil {
		t.Error("there is a population fxed")
	}
}

func FuzzParsePopulation(f *testing.F) {
	for _, text := range []string{"lte: 40\n", "{lte: 40, cable: 45.5}", "lte: [", "? lte\n: 1", "lte: 1e3", "- lte"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePopulation("ours.yaml", text)
		if (err == nil) != (len(p.Shares) > 0) {
			t.Fatalf("%q: %+v, %v", text, p, err)
		}
		seen := map[string]bool{}
		for _, s := range p.Shares {
			if s.Weight <= 0 || s.Weight > 1e9 || seen[s.Network] {
				t.Fatalf("%q: %+v", text, p)
			}
			seen[s.Network] = true
		}
	})
}
