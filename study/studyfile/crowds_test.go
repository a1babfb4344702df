package studyfile

import (
	"strings"
	"testing"
	"time"

	"wiretime/study"
)

const crowdHead = "name: c\nrepeats: 2\nclock: real\n"

// TestStudiesOfCrowds reads a study of crowds with and without settings.
func TestStudiesOfCrowds(t *testing.T) {
	const matrix = "matrix: {clients: [1, 10000], sites: [world-flags], activities: [idle, active], protocols: [h2], servers: [wiretime, nginx]}\n"
	s, err := Parse("c.yaml", []byte(crowdHead+"crowd: {pages: 7, rest: 3s}\n"+matrix), words)
	if err != nil {
		t.Fatal(err)
	}
	if c := *s.Options.Crowd; c != (study.Crowd{Pages: 7, Rest: 3 * time.Second}) || s.Options.Timeout != 10*time.Minute {
		t.Errorf("the settings are %+v, timeout %v", c, s.Options.Timeout)
	}
	cells := s.Cells(nil)
	if len(cells) != 8 {
		t.Fatalf("%d cells, want 8", len(cells))
	}
	if want := "clients=1 activity=idle site=world-flags protocol=h2 congestion=cubic initcwnd=10"; cells[0].Key() != want || cells[0].Clients() != 1 {
		t.Errorf("the first cell is %s with %d clients, want %s", cells[0].Key(), cells[0].Clients(), want)
	}
	if s, err = Parse("c.yaml", []byte(crowdHead+"crowd: {}\n"+matrix), words); err != nil || *s.Options.Crowd != (study.Crowd{Pages: 500, Rest: 2 * time.Second}) {
		t.Errorf("without settings the study is %+v, error %v", s, err)
	}
}

// TestMistakesInStudiesOfCrowds checks that errors name the mistake.
func TestMistakesInStudiesOfCrowds(t *testing.T) {
	const usual = "clients: [1], sites: [world-flags], activities: [idle], protocols: [h2]"
	for _, test := range []struct{ text, want string }{
		{"crowd: {}\nupload: {}\nmatrix: {" + usual + "}", "c.yaml:4:8: crowd makes this a study of crowds, but upload makes it a study of uploads; remove one of the two keys"},
		{"crowd: {pages: 0}\nmatrix: {" + usual + "}", "pages"},
		{"crowd: {rest: 0s}\nmatrix: {" + usual + "}", "rest must be positive"},
		{"crowd: {}\nmatrix: {" + strings.Replace(usual, "[1]", "[0]", 1) + "}", "clients"},
		{"crowd: {}\nmatrix: {" + strings.Replace(usual, "idle", "idel", 1) + "}", "idle"},
		{"crowd: {}\nmatrix: {" + usual + ", networks: [cable]}", "crowds use the loopback device"},
		{"crowd: {}\nmatrix: {" + usual + ", tcp_windows: [64KiB]}", "set the buffers in options"},
		{"crowd: {}\nsession: {loads: 2}\nmatrix: {" + usual + "}", "session does not apply to studies of crowds"},
		{"crowd: {}\noptions: {late_limit: 1ms}\nmatrix: {" + usual + "}", "a crowd's packets cross no emulator"},
		{"matrix: {" + usual + "}", "write crowd: {} above the matrix"},
	} {
		if _, err := Parse("c.yaml", []byte(crowdHead+test.text+"\n"), words); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want %q: %v", test.text, test.want, err)
		}
	}
}
