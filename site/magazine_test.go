package site

import (
	"bytes"
	"testing"
)

// TestMagazineIsAlwaysTheSame makes the page twice: results of different days and machines
// must refer to one page.
func TestMagazineIsAlwaysTheSame(t *testing.T) {
	first, err := Magazine()
	if err != nil {
		t.Fatal(err)
	}
	second, err := Magazine()
	if err != nil {
		t.Fatal(err)
	}
	one, err := first.encode()
	if err != nil {
		t.Fatal(err)
	}
	two, err := second.encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two magazines differ")
	}
	if hosts := first.Origins(); len(hosts) != 3 {
		t.Errorf("its hosts are %q", hosts)
	}
	var byScript int
	for _, r := range first.Resources {
		if r.Initiator == "" {
			continue
		}
		byScript++
		if _, ok := first.Lookup("GET", r.Initiator); !ok {
			t.Errorf("%s has the initiator %s, which does not exist", r.URL, r.Initiator)
		}
	}
	if byScript != 4 {
		t.Errorf("scripts request %d resources", byScript)
	}
}

func TestMagazinesSizesAreThoseItStates(t *testing.T) {
	s, err := Magazine()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range magazineParts() {
		r, ok := s.Lookup("GET", "https://"+m.host+m.path)
		if !ok || r.Size != int64(m.size) {
			t.Errorf("%s%s: %+v, want %d octets", m.host, m.path, r, m.size)
		}
	}
}
