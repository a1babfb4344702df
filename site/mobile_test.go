package site

import (
	"context"
	"testing"
)

// TestMobilePages: all can be made, get heavier from one to the next, and weigh on average what their source says.
func TestMobilePages(t *testing.T) {
	var total, last int64
	objects, domains := 0, 0
	for n := 1; n <= mobilePages; n++ {
		spec := mobilePage(n)
		if err := spec.Check(); err != nil {
			t.Errorf("page %d: %v", n, err)
		}
		if spec.Total < last {
			t.Errorf("page %d weighs %d octets, the one before %d", n, spec.Total, last)
		}
		last, total = spec.Total, total+spec.Total
		objects, domains = objects+spec.Objects, domains+spec.Domains
	}
	if mean := total / mobilePages; mean < mobileMean-1000 || mean > mobileMean+1000 {
		t.Errorf("a page weighs %d octets on average, want %d", mean, mobileMean)
	}
	if per := total / int64(objects); per < 10_000 || per > 18_000 {
		t.Errorf("an object has %d octets on average", per)
	}
	if 3*domains > objects || 5*domains < objects {
		t.Errorf("%d objects are on %d hosts", objects, domains)
	}
}

func TestMobilePagesByName(t *testing.T) {
	library := Library{Dir: t.TempDir()}
	for _, ref := range []string{"mobile-2012", "mobile-2012@1", "mobile-2012@77", "mobile-2012@77x1"} {
		if err := library.KnownRef(ref); err != nil {
			t.Error(err)
		}
	}
	for _, ref := range []string{"mobile-2012@0", "mobile-2012@78", "mobile-2012@x", "mobile-2012@10x0", "mobile-2012@10x999", "mobile-2012@10x"} {
		if err := library.KnownRef(ref); err == nil {
			t.Errorf("%s is known", ref)
		}
	}
	s, err := library.Open(context.Background(), "mobile-2012@1")
	if err != nil {
		t.Fatal(err)
	}
	if want := mobilePage(1); len(s.Resources) != want.Objects {
		t.Errorf("page 1 has %d resources, want %d", len(s.Resources), want.Objects)
	}
}
