package builtin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wiretime/loader/page"
)

// TestScheduler runs steps and lists what starts: d is the document, V to v are
// priorities from VeryHigh to VeryLow, with a host after a slash.
func TestScheduler(t *testing.T) {
	priorities := map[byte]page.Priority{'d': page.VeryHigh, 'V': page.VeryHigh, 'H': page.High, 'M': page.Medium, 'L': page.Low, 'v': page.VeryLow}
	for _, tt := range []struct {
		name   string
		steps  string // "+" requests, "-" ends, "body" begins the body, "obeys/h" says that host h obeys priorities
		begins string // at each step
	}{
		{"before the body two may be in flight", "+V1 +H1 +L1 +H2 -V1 -H1 -H2", "V1 H1 - H2 - L1 -"},
		{"the document does not count", "+d1 +L1 +L2 +L3", "d1 L1 L2 -"},
		{"two of medium priority always may start", "+V1 +V2 +M1 +M2 +M3 -M1", "V1 V2 M1 M2 - M3"},
		{"the most urgent waiting one is first", "+V1 +V2 +v1 +L1 +L2 body", "V1 V2 - - - L1,L2,v1"},
		{"in the body ten that can wait", "body +L1/a +L2/b +L3/c +L4/d +L5/e +L6/f +L7/g +L8/h +L9/i +L10/j +L11/k -L1", "- L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 - L11"},
		{"and six to a host", "body +L1 +L2 +L3 +L4 +L5 +L6 +L7 +L8/b -L1", "- L1 L2 L3 L4 L5 L6 - L8 L7"},
		{"urgent ones count towards the six", "body +H1 +H2 +H3 +H4 +H5 +H6 +L1 +H7 -H1 -H2", "- H1 H2 H3 H4 H5 H6 - H7 - L1"},
		{"a host that obeys priorities gets all", "body obeys/a +L1 +L2 +L3 +L4 +L5 +L6 +L7", "- - L1 L2 L3 L4 L5 L6 L7"},
		{"waiting requests wait until something ends", "body +L1 +L2 +L3 +L4 +L5 +L6 +L7 +L8 +L9 obeys/a +L10 -L2", "- L1 L2 L3 L4 L5 L6 - - - - L10 L7,L8,L9"},
		{"a waiting request that ends does not count", "body +L1 +L2 +L3 +L4 +L5 +L6 +L7 +L8 obeys/a -L8", "- L1 L2 L3 L4 L5 L6 - - - -"},
		{"delayable requests in flight keep counting", "body +L1/a +L2/a +L3/a +L4/a +L5/a +L6/b +L7/b +L8/b +L9/b +L10/b obeys/a +L11/c", "- L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := map[string]bool{}
			s := scheduler{obeys: func(host string) bool { return known[host] }}
			fetches := map[string]*fetch{}
			var begins []string
			for step := range strings.FieldsSeq(tt.steps) {
				name, host, _ := strings.Cut(strings.TrimLeft(step, "+-"), "/")
				switch {
				case step == "body":
					s.inBody = true
				case name == "obeys":
					known[host] = true
				case step[0] == '+':
					if host == "" {
						host = "a"
					}
					kind := page.Image
					if name[0] == 'd' {
						kind = page.Document
					}
					fetches[name] = &fetch{host: host, request: page.Request{Kind: kind, Priority: priorities[name[0]]}}
					s.add(fetches[name])
				default:
					s.done(fetches[name])
				}
				var begun []string
				for _, f := range s.begin() {
					for name, other := range fetches {
						if f == other {
							begun = append(begun, name)
						}
					}
				}
				if begun == nil {
					begun = []string{"-"}
				}
				begins = append(begins, strings.Join(begun, ","))
			}
			if got := strings.Join(begins, " "); got != tt.begins {
				t.Errorf("began\n%s, want\n%s", got, tt.begins)
			}
			if len(s.pending) > 0 && slices.Contains(s.running, s.pending[0]) {
				t.Error(fmt.Sprint("what waits is under way: ", s.pending))
			}
		})
	}
}

// TestSchedulerFollowsChanges checks that a request that becomes urgent need
// not wait.
func TestSchedulerFollowsChanges(t *testing.T) {
	s := scheduler{inBody: true, obeys: func(string) bool { return false }}
	var all []*fetch
	for range hostLimit + 2 {
		f := &fetch{host: "a", request: page.Request{Kind: page.Image, Priority: page.Low}}
		all = append(all, f)
		s.add(f)
	}
	if begun := s.begin(); len(begun) != hostLimit {
		t.Fatalf("%d started, want %d", len(begun), hostLimit)
	}
	last := all[len(all)-1]
	s.change(last, page.High)
	if begun := s.begin(); len(begun) != 1 || begun[0] != last {
		t.Errorf("%d started, want the one that has become urgent", len(begun))
	}
}
