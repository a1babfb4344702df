package site

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// registered makes a site with these hosts, each with a page that names all of them.
func registered(t *testing.T, hosts ...string) *Site {
	t.Helper()
	text := "https://" + strings.Join(hosts, "/ https://") + "/ domain=.shop.co.uk; xshop.co.uk shop.co.uk.evil.test"
	s := Site{Name: "registered", Page: "https://" + hosts[0] + "/"}
	for _, h := range hosts {
		s.Resources = append(s.Resources, Resource{Method: "GET", URL: "https://" + h + "/", Status: 200, Body: Hash([]byte(text)),
			Header: []Header{{"content-type", "text/html"}, {"set-cookie", "a=b; domain=shop.co.uk"}}})
	}
	made, err := New(s, map[string][]byte{Hash([]byte(text)): []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestRenameDomain renames a domain, with all its hosts, to a name that cannot exist.
func TestRenameDomain(t *testing.T) {
	for _, c := range []struct {
		name        string
		hosts, want []string
		renamed     map[string]string
	}{
		{"a registered domain", []string{"www.shop.com", "img.shop.com", "www.other.com"}, []string{"www.shop.zzz", "img.shop.zzz", "www.other.com"},
			map[string]string{"shop.com": "shop.zzz"}},
		{"below a registry's name of two labels", []string{"www.shop.co.uk", "shop.co.uk", "www.other.co.uk"}, []string{"www.shop-co.zz", "shop-co.zz", "www.other.co.uk"},
			map[string]string{"shop.co.uk": "shop-co.zz"}},
		{"a name that is taken", []string{"shop.com", "img.shop.zzz"}, []string{"shop.zzy", "img.shop.zzz"}, map[string]string{"shop.com": "shop.zzy"}},
		{"a registry's own host", []string{"github.io", "a.github.io"}, []string{"github.zz", "a.github.zz"}, map[string]string{"github.io": "github.zz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := registered(t, c.hosts...)
			got, err := s.RenameDomain(c.hosts[0])
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Origins(), c.want) || !maps.Equal(got.Renamed(), c.renamed) {
				t.Errorf("the hosts are %q, renamed were %v; want %q, %v", got.Origins(), got.Renamed(), c.want, c.renamed)
			}
			if got.Resources[0].Size != s.Resources[0].Size {
				t.Errorf("the body had %d octets and now has %d", s.Resources[0].Size, got.Resources[0].Size)
			}
			for from, to := range c.renamed {
				for i, r := range got.Resources {
					if own := ReplaceDomain(r.URL, to, from); own != s.Resources[i].URL {
						t.Errorf("%s is treated as a subdomain of %s", r.URL, own)
					}
				}
			}
			clear, err := got.Over("http")
			if err != nil || !maps.Equal(clear.Renamed(), c.renamed) {
				t.Errorf("over http the renamed domains are %v, %v", clear.Renamed(), err)
			}
		})
	}
	renamed, err := registered(t, "www.shop.co.uk").RenameDomain("www.shop.co.uk")
	if err != nil {
		t.Fatal(err)
	}
	body, err := renamed.Body(&renamed.Resources[0])
	if want := "https://www.shop-co.zz/ domain=.shop-co.zz; xshop.co.uk shop.co.uk.evil.test"; err != nil || string(body) != want {
		t.Errorf("the body is %q, %v; want %q", body, err, want)
	}
	if v, _ := renamed.Resources[0].field("set-cookie"); v != "a=b; domain=shop-co.zz" {
		t.Errorf("the cookie is %q", v)
	}
	if _, err := renamed.RenameDomain("www.shop.co.uk"); err == nil {
		t.Error("a host that the site does not have was renamed")
	}
}
