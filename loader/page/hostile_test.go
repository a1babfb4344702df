package page

import (
	"strings"
	"testing"
)

// TestInvalidTracks loads pages whose grids have invalid columns. Each is a grid of one column, or its invalid part counts
// for nothing.
func TestInvalidTracks(t *testing.T) {
	for _, columns := range []string{
		"repeat", "repeat(", "repeat()", "repeat(,)", "repeat(,1fr)", "repeat(2,)", "repeat(2)", "repeat(1,2,3)", "repeat repeat", "REPEAT",
		"repeat(auto-fill,minmax)", "repeat(auto-fill,minmax()", "repeat(auto-fill,minmax(,))", "repeat(auto-fill,)", "repeat(auto-fill,[a])",
		"repeat(auto-fit,0px)", "repeat(auto-fit,-1px)", "repeat(auto-fit,1e-300px)", "repeat(auto-fill,calc(1px/0))", "repeat(-5,1fr)",
		"repeat(0,1fr)", "repeat(1e999,1fr)", "repeat(1000000000,1fr)", "repeat(1000000000," + strings.Repeat("1fr ", 1000) + ")", ")", "](", "}",
		"repeat(var(--a),1fr)", "minmax", "minmax(", ",", "/", "!important", "1e999px", "-1e999px", "repeat(auto-fill,1e999px)",
	} {
		t.Run(columns[:min(len(columns), 40)], func(t *testing.T) {
			for _, gap := range []string{"", "gap:-1px;", "gap:1e999px;", "gap:,", "gap:(;"} {
				s := server{answers: map[string]answer{"/": {body: `<div style="display:grid;` + gap + `grid-template-columns:` + columns + `"><p>a<p>b<img src=x.png></div>`}}}
				log, p := s.load(t, Config{})
				if !strings.Contains(strings.Join(log, "\n"), "x.png image") {
					t.Errorf("want a request for the image: %s", log)
				}
				if _, ok := p.Load(); !ok {
					t.Error("load never fired")
				}
			}
		})
	}
}

// TestNumbers checks numbers with units, which are finite however large they are written.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text  string
		value float64
		unit  string
	}{
		{"1", 1, ""}, {"-1.5px", -1.5, "px"}, {"+.5EM", .5, "em"}, {"1e3px", 1000, "px"}, {"1e3", 1000, ""}, {"2e-1s", .2, "s"}, {"50%", 50, "%"}, {"3e", 3, "e"},
		{"3em", 3, "em"}, {"1e999px", 1.7976931348623157e308, "px"}, {"-1e999", -1.7976931348623157e308, ""}, {"1e-999", 0, ""},
	} {
		tokens := cssTokens(c.text)
		if len(tokens) != 1 {
			t.Fatalf("%s: want one token, got %v", c.text, tokens)
		}
		if value, unit, ok := tokens[0].number(); !ok || value != c.value || unit != c.unit {
			t.Errorf("%s: want %g %q, got %g %q, %t", c.text, c.value, c.unit, value, unit, ok)
		}
	}
}
