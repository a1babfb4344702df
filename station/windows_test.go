package station

import (
	"slices"
	"strings"
	"testing"

	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// TestWindows checks that both own loaders and the server announce the windows of an order, over every protocol with
// flow control, and that the announcements are known of connections from an earlier visit as well.
func TestWindows(t *testing.T) {
	page, err := site.Objects(2, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, "", page)
	eachRow(t, func(t *testing.T, p protocol.Protocol) {
		if strings.HasPrefix(p.Name, "http") || p.Name == "spdy/2" {
			o := builtinOrder(p.Name, "cold")
			o.ClientWindow = "1MiB"
			if _, err := o.Terms(); err == nil || !strings.Contains(err.Error(), "no flow control") {
				t.Error(err)
			}
			return
		}
		for _, loader := range []string{pageload.Builtin, pageload.Fetch} {
			o := builtinOrder(p.Name, "cold")
			o.Loader = loader
			if l := load(t, s, o, page); l.Announced != nil {
				t.Errorf("%s: announced windows without an order: %+v", loader, l.Announced)
			}
			o.ClientWindow, o.ServerWindow = "100kB", "2147483647"
			l := load(t, s, o, page)
			if a := l.Announced; a == nil || !slices.Equal(a.Client, []int{100_000}) || !slices.Equal(a.Server, []int{1<<31 - 1}) {
				t.Errorf("%s: announced %+v", loader, a)
			}
		}
		for visit, connections := range map[string]int{"connected": 1, "resumed": 2} {
			o := builtinOrder(p.Name, visit)
			o.ClientWindow, o.ServerWindow = "100kB", "1MB"
			l := load(t, s, o, page)
			if a := l.Announced; a == nil || !slices.Equal(a.Client, slices.Repeat([]int{100_000}, connections)) || !slices.Equal(a.Server, slices.Repeat([]int{1_000_000}, connections)) {
				t.Errorf("visit %s: announced %+v", visit, a)
			}
		}
	})
}
