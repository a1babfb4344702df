package site

import (
	"slices"
	"strings"
	"testing"
)

// twoHosts makes a page with a script, and an image on another host.
func twoHosts(t *testing.T) *Site {
	t.Helper()
	bodies := map[string][]byte{}
	keep := func(text string) string {
		h := Hash([]byte(text))
		bodies[h] = []byte(text)
		return h
	}
	page := keep(`<img src="https://img.example.test/a.png"><a href="https://img.example.test.evil.test/">x</a> big-img.example.test, img.example.test.`)
	s, err := New(Site{
		Name: "two", Page: "https://www.example.test/",
		Hosts: []Host{{Name: "img.example.test", Address: "192.0.2.1", RTT: 20}},
		Resources: []Resource{
			{Method: "GET", URL: "https://www.example.test/", Status: 200, Body: page, Header: []Header{{"content-type", "text/html"}, {"link", "<https://img.example.test/a.png>; rel=preload"}}},
			{Method: "GET", URL: "https://img.example.test/a.png", Status: 200, Body: keep("img.example.test"), Header: []Header{{"content-type", "image/png"}}, Initiator: "https://www.example.test/"},
		},
	}, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRenameHost(t *testing.T) {
	s := twoHosts(t)
	renamed, err := s.RenameHost("img.example.test", "pictures.test")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := renamed.Origins(), []string{"www.example.test", "pictures.test"}; !slices.Equal(got, want) {
		t.Errorf("hosts are %q, want %q", got, want)
	}
	page, ok := renamed.Lookup("GET", "https://www.example.test/")
	if !ok {
		t.Fatal("the page is gone")
	}
	body, err := renamed.Content(page)
	if err != nil {
		t.Fatal(err)
	}
	want := `<img src="https://pictures.test/a.png"><a href="https://img.example.test.evil.test/">x</a> big-img.example.test, pictures.test.`
	if string(body) != want || page.Size != int64(len(want)) {
		t.Errorf("the page is %q of %d octets, want %q", body, page.Size, want)
	}
	if page.Header[1].Value != "<https://pictures.test/a.png>; rel=preload" || renamed.Hosts[0].Name != "pictures.test" {
		t.Errorf("fields and hosts still have the old name: %v, %v", page.Header, renamed.Hosts)
	}
	image, ok := renamed.Lookup("GET", "https://pictures.test/a.png")
	if !ok {
		t.Fatal("the image is gone")
	}
	if body, err := renamed.Body(image); err != nil || string(body) != "img.example.test" {
		t.Errorf("the image, which is no text, is %q (%v)", body, err)
	}
	if _, ok := s.Lookup("GET", "https://img.example.test/a.png"); !ok {
		t.Error("the site itself has changed")
	}
	for _, bad := range [][2]string{{"none.test", "a.test"}, {"img.example.test", "www.example.test"}, {"img.example.test", "a b"}} {
		if _, err := s.RenameHost(bad[0], bad[1]); err == nil {
			t.Errorf("%s can be renamed to %s", bad[0], bad[1])
		}
	}
}

func TestEditChecksItsResult(t *testing.T) {
	s := twoHosts(t)
	edited, err := s.Edit(func(c *Site) error {
		c.Resources = c.Resources[:1]
		c.Resources[0].Wait = 30
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := edited.Lookup("GET", "https://img.example.test/a.png"); ok {
		t.Error("the removed resource is still found")
	}
	if s.Resources[0].Wait != 0 || len(s.Resources) != 2 {
		t.Error("the site itself has changed")
	}
	_, err = s.Edit(func(c *Site) error { c.Resources = c.Resources[1:]; return nil })
	if err == nil || !strings.Contains(err.Error(), "page") {
		t.Errorf("a site without its page was accepted: %v", err)
	}
}
