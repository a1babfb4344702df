package studyfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"wiretime/study"
)

// windowWords has a protocol with windows beside one over UDP and one without.
func windowWords() Vocabulary {
	v := words
	v.Loaders = []string{"builtin", "chromium"}
	v.Windows = Windows{
		Name: func(_ study.Axis, word string) (string, error) {
			name, ok := map[string]string{"64KiB": "64KiB", "65536": "64KiB", "10MiB": "10MiB", "old": "old"}[word]
			if !ok {
				return "", fmt.Errorf("unknown preset %q", word)
			}
			return name, nil
		},
		Refuse: func(axis study.Axis, name string, c study.Cell) error {
			switch {
			case axis == study.AxisTCPWindow && c.Over() == "h3":
				return errors.New("h3 runs over UDP")
			case axis == study.AxisTCPWindow:
				return nil
			case strings.HasPrefix(c.Over(), "http"):
				return fmt.Errorf("%s has no flow control of its own", c.Over())
			case name == "old" && c.Over() != "h2":
				return fmt.Errorf("old is not for %s", c.Over())
			case axis == study.AxisClientWindow && c.By() == "chromium":
				return errors.New("the loader chromium has windows of its own")
			}
			return nil
		},
	}
	return v
}

// TestWindowsMakeNoIdleCells: a window is left out where it does not apply, and a protocol to which
// none applies has one cell.
func TestWindowsMakeNoIdleCells(t *testing.T) {
	const file = `name: windows
repeats: 1
matrix:
  sites: [world-flags]
  protocols: [%s]
  networks: [cable]
  loaders: [%s]
  %s
`
	for _, c := range []struct {
		protocols, loaders, windows string
		want                        string // protocol, loader if there are several, TCP's and the client's window
	}{
		{"http/1.1, h2, h3", "builtin", "client_windows: [64KiB, 10MiB]", `
			http/1.1 default default
			h2 default 64KiB
			h3 default 64KiB
			h2 default 10MiB
			h3 default 10MiB`},
		{"http/1.1, h2, h3", "builtin", "client_windows: [65536, old]", `
			http/1.1 default default
			h2 default 64KiB
			h3 default 64KiB
			h2 default old`},
		{"h2, h3", "builtin", "client_windows: [old]", `
			h3 default default
			h2 default old`},
		{"h2", "builtin", "client_windows: [default, 64KiB]", `
			h2 default default
			h2 default 64KiB`},
		{"http/1.1, h2", "builtin", "client_windows: [64KiB, default]", `
			h2 default 64KiB
			http/1.1 default default
			h2 default default`},
		{"h2, h3", "builtin", "tcp_windows: [64KiB, 10MiB]\n  client_windows: [10MiB]", `
			h3 default 10MiB
			h2 64KiB 10MiB
			h2 10MiB 10MiB`},
		{"h2", "builtin, chromium", "client_windows: [64KiB, 10MiB]", `
			h2 builtin default 64KiB
			h2 builtin default 10MiB
			h2 chromium default default`},
		{"h2, h3", "builtin", "client_windows: [64KiB]\n  except: [{protocol: h3}]", `
			h2 default 64KiB`},
	} {
		s, err := Parse("windows.yaml", fmt.Appendf(nil, file, c.protocols, c.loaders, c.windows), windowWords())
		if err != nil {
			t.Errorf("%s: %v", c.windows, err)
			continue
		}
		got := ""
		for _, cell := range s.Cells(nil) {
			got += "\n\t\t\t" + cell.Over()
			if strings.Contains(c.loaders, ",") {
				got += " " + cell.By()
			}
			got += " " + cell.On(study.AxisTCPWindow) + " " + cell.On(study.AxisClientWindow)
		}
		if got != c.want {
			t.Errorf("%s over %s has the cells%s\nwant%s", c.windows, c.protocols, got, c.want)
		}
	}
}

func TestWindowsThatFitNowhere(t *testing.T) {
	for _, c := range []struct{ protocols, windows, position, says string }{
		{"http/1.1", "client_windows: [64KiB]", "8:20", "no cell can have the client_window 64KiB: http/1.1 has no flow control of its own; remove it"},
		{"http/1.1, h3", "client_windows: [64KiB, old]", "8:27", "no cell can have the client_window old: old is not for h3"},
		{"h3", "tcp_windows: [64KiB]", "8:17", "no cell can have the tcp_window 64KiB: h3 runs over UDP"},
		{"h2", "client_windows: [new]", "8:20", `client_window: unknown preset "new"`},
		{"h2", "client_windows: [64KiB, 65536]", "8:27", "duplicate 64KiB in client_windows"},
		{"h2", "client_windows: [[64KiB]]", "8:20", "must be a single value"},
	} {
		src := strings.Replace(small, "[http/1.1, h2, h3]", "["+c.protocols+"]", 1)
		src = strings.Replace(src, "[chromium]", "[builtin]", 1) + "  " + c.windows + "\n"
		_, err := Parse("windows.yaml", []byte(src), windowWords())
		if err == nil || !strings.Contains(err.Error(), "windows.yaml:"+c.position+": ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s over %s: %v, want %q at %s", c.windows, c.protocols, err, c.says, c.position)
		}
	}
}

// TestWindowsInSelections: a selection may write a window as the matrix may.
func TestWindowsInSelections(t *testing.T) {
	src := strings.Replace(small, "[chromium]", "[builtin]", 1) + `  client_windows: [64KiB, 10MiB]
claims:
  - text: The window does not matter.
    metric: plt
    compare: {protocol: h2, client_window: 65536}
    to: {protocol: http/1.1}
    ratio: 0.9 to 1.1
`
	s, err := Parse("windows.yaml", []byte(src), windowWords())
	if err != nil {
		t.Fatal(err)
	}
	if pairs := s.Claims[0].Pairs(s.Cells(nil)); len(pairs) != 2 { // on two networks
		t.Errorf("%d pairs", len(pairs))
	}
}
