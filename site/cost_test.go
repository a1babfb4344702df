package site

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/coding"
	"wiretime/costtest"
)

// cost is what an octet of a site's files may cost.
var cost = costtest.Limit{Fixed: 1 << 20, PerOctet: 96, Time: 2 * time.Microsecond}

// TestCostOfAManifest reads files that took much more memory than their size justifies.
func TestCostOfAManifest(t *testing.T) {
	const head = `{"format":2,"name":"x","page":"https://www.x.test/",`
	valid := func(i int) string {
		return fmt.Sprintf(`{"method":"GET","url":"https://www.x.test/%d","status":200,"body":"%s","size":0}`, i, Hash(nil))
	}
	var many []string
	for i := range 20_000 {
		many = append(many, valid(i))
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty resources":  {head + `"resources":[` + strings.TrimSuffix(strings.Repeat("{},", 1_500_000), ",") + `]}`, "resource 0: method"},
		"empty hosts":      {head + `"hosts":[` + strings.TrimSuffix(strings.Repeat("{},", 1_500_000), ",") + `],"resources":[]}`, "hosts 0"},
		"resources":        {head + `"resources":[` + strings.Join(many, ",") + `]}`, "is not among the resources"},
		"a journey of air": {head + `"journey":[` + strings.TrimSuffix(strings.Repeat(`"",`, 1_500_000), ",") + `],"resources":[]}`, "is not among the resources"},
		"nested arrays":    {head + `"hosts":` + strings.Repeat("[", 1_000_000), "exceeded max depth"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			costtest.Check(t, len(test.text), cost, func() { _, _, err = parseManifest([]byte(test.text)) })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// shared is a site of resources that share one body, which is decoded once for all.
func shared(t *testing.T, resources int, body []byte, header ...Header) *Site {
	t.Helper()
	s := Site{Name: "shared", Page: "https://www.x.test/0"}
	for i := range resources {
		s.Resources = append(s.Resources, Resource{Method: "GET", URL: fmt.Sprintf("https://www.x.test/%d", i), Status: 200, Body: Hash(body), Header: header})
	}
	made, err := New(s, map[string][]byte{Hash(body): body})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestCostOfASharedBody(t *testing.T) {
	text := []byte(strings.Repeat("x", 1<<20) + "https://www.x.test/")
	for _, name := range []string{"gzip", "br"} {
		body, err := coding.Encode(text, name, 1)
		if err != nil {
			t.Fatal(err)
		}
		s := shared(t, 2_000, body, Header{"content-type", "text/html"}, Header{"content-encoding", name})
		octets := 2_000*100 + len(body) + 20*len(text)
		costtest.Check(t, octets, cost, func() {
			over, err := s.Over("http")
			if err == nil {
				_, err = over.RenameHost("www.x.test", "www.y.test")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCostOfMatching asks a site with many similar URLs for one that it does not have, and
// matches patterns that are slow in other languages.
func TestCostOfMatching(t *testing.T) {
	s := Site{Name: "near", Page: "https://www.x.test/"}
	bodies := map[string][]byte{Hash(nil): {}}
	octets := 0
	for i := range 3_000 {
		query := strings.Repeat(fmt.Sprintf("a=%d&", i), 50)
		octets += len(query)
		s.Resources = append(s.Resources, Resource{Method: "GET", URL: "https://www.x.test/?" + query, Status: 200, Body: Hash(nil)})
	}
	s.Resources = append(s.Resources, Resource{Method: "GET", URL: s.Page, Status: 200, Body: Hash(nil)})
	made, err := New(s, bodies)
	if err != nil {
		t.Fatal(err)
	}
	query := strings.Repeat("a=x&b&", 10_000)
	costtest.Check(t, octets+len(query), cost, func() { made.Match("GET", "https://www.x.test/?"+query) })
	pattern, text := strings.Repeat("*a", 2_000)+"b", strings.Repeat("a", 500_000)
	costtest.Check(t, len(pattern)+len(text), cost, func() { glob("*/"+pattern, text) })
}

// FuzzMatches holds globs to their meaning, and to a cost.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{{"*", "https://a.test/"}, {"a.test/*b*c", "https://a.test/xbxc"}, {"*.test", "https://a.test/"}, {"[a-", "https://a.test/"}, {"a*a*a*a*b", "https://aaaaaaaa.test/"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, address string) {
		costtest.Check(t, len(pattern)+len(address), cost, func() { matches(pattern, address) })
		if !strings.Contains(pattern, "*") && glob(pattern, address) != (pattern == address) {
			t.Errorf("the pattern %q without a star matches %q", pattern, address)
		}
		if !glob("*", address) || !glob("*"+strings.ReplaceAll(address, "*", ""), strings.ReplaceAll(address, "*", "")) {
			t.Errorf("a star does not match all of %q", address)
		}
	})
}
