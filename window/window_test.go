package window

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ word, name string }{
		{"65536", "64KiB"}, {"64KiB", "64KiB"}, {" 64 KiB ", "64KiB"}, {"10MB", "10MB"}, {"10000000", "10MB"}, {"10MiB", "10MiB"}, {"64000", "64kB"},
		{"1", "1"}, {"2147483647", "2147483647"}, {"mod_spdy", "mod_spdy"}, {"chromium", "chromium"},
	} {
		s, err := Parse(c.word)
		if err != nil || s.String() != c.name {
			t.Errorf("Parse(%q) = %v, %v; want %s", c.word, s, err, c.name)
		}
		if again, err := Parse(s.String()); err != nil || again.String() != c.name {
			t.Errorf("Parse(%q) = %v, %v", s, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ word, says string }{
		{"0", "want 1 to 2147483647 octets"}, {"-1", "want 1 to"}, {"2147483648", "want 1 to"}, {"2GiB", "invalid size"}, {"2048MiB", "want 1 to"},
		{"10MBit", "invalid size"}, {"", "write a size such as 64KiB, or one of draft, mod_spdy"}, {"modspdy", `did you mean "mod_spdy"?`}, {"KiB", "unknown preset"},
	} {
		if _, err := Parse(c.word); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Parse(%q): %v, want an error that says %q", c.word, err, c.says)
		}
	}
}

// TestOver lists over which protocols each setting applies.
func TestOver(t *testing.T) {
	protocols := []string{"http/1.1", "https/1.1", "spdy/2", "spdy/3", "spdy/3.1", "h2", "h3"}
	for word, want := range map[string]string{
		"1MiB":          "spdy/3 spdy/3.1 h2 h3",
		"draft":         "spdy/3 spdy/3.1",
		"mod_spdy":      "spdy/3 spdy/3.1",
		"google-2013":   "spdy/3 spdy/3.1",
		"chromium-2013": "spdy/3 spdy/3.1",
		"chromium":      "h2 h3",
		"firefox":       "h2 h3",
		"nginx":         "h2",
		"caddy":         "h2 h3",
	} {
		s, err := Parse(word)
		if err != nil {
			t.Fatal(err)
		}
		var over []string
		for _, p := range protocols {
			r, err := s.Over(p)
			switch without := strings.HasPrefix(p, "http") || p == "spdy/2"; {
			case err == nil:
				over = append(over, p)
				if r.Stream < 1 || r.Connection < 1 || r.Stream > Largest || r.Connection > Largest {
					t.Errorf("%s over %s: %+v", word, p, r)
				}
			case without != errors.Is(err, ErrNone):
				t.Errorf("%s over %s: %v", word, p, err)
			}
		}
		if got := strings.Join(over, " "); got != want {
			t.Errorf("%s applies over %s, want %s", word, got, want)
		}
	}
	s, _ := Parse("mod_spdy")
	if _, err := s.Over("h2"); err == nil || err.Error() != "preset mod_spdy is for SPDY, not for h2" {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range append(Names(), "64KiB", "0", "2147483648", "1e9MB") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		s, err := Parse(word)
		if err != nil {
			return
		}
		if again, err := Parse(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("Parse(%q) is %v, which is read as %v, %v", word, s, again, err)
		}
	})
}
