package site

import (
	"testing"
	"time"
)

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, url string
		want         bool
	}{
		{"www.a.test", "https://www.a.test/x.png", true},
		{"a.test", "https://www.a.test/x.png", false},
		{"*.a.test", "https://www.a.test/x.png", true},
		{"www.a.test/", "https://www.a.test/", true},
		{"www.a.test/", "https://www.a.test/x.png", false},
		{"www.a.test/*", "https://www.a.test/deep/x.png", true},
		{"www.a.test/*.png", "https://www.a.test/deep/x.png", true},
		{"www.a.test/*.png", "https://www.a.test/x.png?at=1", false},
		{"*/x*=1", "https://www.a.test/deep/x.png?at=1", true},
		{"*/a*a", "https://www.b.test/a", false},
		{"*/", "https://www.a.test/", true},
	}
	for _, test := range tests {
		if got := matches(test.pattern, test.url); got != test.want {
			t.Errorf("matches(%q, %q) is %v, want %v", test.pattern, test.url, got, test.want)
		}
	}
}

func TestDropAndSetWait(t *testing.T) {
	s := twoHosts(t)
	edited, err := s.Edit(func(c *Site) error { return c.SetWait("img.example.test/*", 150*time.Millisecond) })
	if err != nil || edited.Resources[0].Wait != 0 || edited.Resources[1].Wait != 150 {
		t.Errorf("the waits are %+v, %v", edited, err)
	}
	edited, err = s.Edit(func(c *Site) error { return c.Drop("img.*") })
	if err != nil || len(edited.Resources) != 1 || len(s.Resources) != 2 {
		t.Errorf("%d of %d resources are left, %v", len(edited.Resources), len(s.Resources), err)
	}
	for name, change := range map[string]func(*Site) error{
		"Drop":    func(c *Site) error { return c.Drop("nowhere.test") },
		"SetWait": func(c *Site) error { return c.SetWait("nowhere.test", 0) },
	} {
		if _, err := s.Edit(change); err == nil {
			t.Errorf("%s accepts a pattern that matches nothing", name)
		}
	}
}

func TestNameFrom(t *testing.T) {
	for text, want := range map[string]string{
		"www.Example.org": "www-example-org", "--a  b--": "a-b", "Ünïcode": "n-code", "": "",
		"a123456789012345678901234567890123456789012345678901234567890-b-c": "a123456789012345678901234567890123456789012345678901234567890-b",
		"a1234567890123456789012345678901234567890123456789012345678901-b-": "a1234567890123456789012345678901234567890123456789012345678901",
	} {
		if got := NameFrom(text); got != want {
			t.Errorf("NameFrom(%q) is %q, want %q", text, got, want)
		}
		if want != "" && checkName(want) != nil {
			t.Errorf("%q is no valid name", want)
		}
	}
}

func TestParseRule(t *testing.T) {
	for text, want := range map[string]Rule{
		"all":                 {Do: "early"},
		"all:3":               {Do: "early", First: 3},
		"stylesheet,script:5": {Do: "early", Kinds: []string{"stylesheet", "script"}, First: 5},
	} {
		got, err := ParseRule("early", text)
		if err != nil || got.Do != want.Do || got.First != want.First || len(got.Kinds) != len(want.Kinds) {
			t.Errorf("ParseRule(%q) is %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "styles", "all:0", "all:many", "font,", "font:1:2"} {
		if rule, err := ParseRule("early", text); err == nil {
			t.Errorf("ParseRule(%q) is %+v, want an error", text, rule)
		}
	}
}
