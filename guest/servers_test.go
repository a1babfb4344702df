package guest

import (
	"testing"

	"wiretime/needtest"
	"wiretime/server"
	"wiretime/workload/pageload"
)

// byServer is a batch of loads from another server over each of its protocols.
func byServer(k server.Kind) Batch {
	b := Batch{Station: stationConfig(1), Programs: true}
	b.Station.Lab.Unblocked = false
	for i, row := range k.Protocols {
		o := order(row, distant, uint64(i))
		o.Loader, o.Server = pageload.Builtin, k.Name
		b.Loads = append(b.Loads, Load{ID: "by-" + name(row), Site: many, Order: o})
	}
	return b
}

// TestOtherPeoplesServers loads a page of three hosts from each server over all its
// protocols, twice in separate guests. All runs must be equal to the nanosecond, except
// with Caddy, whose Go runtime reads the processor's own clock and is off by microseconds.
func TestOtherPeoplesServers(t *testing.T) {
	for _, k := range server.Kinds() {
		if k.NoVirtual != "" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			if k.Name != "nginx" {
				needtest.Long(t)
			}
			h := host(t)
			program, err := k.Find()
			if err == nil {
				err = Sees(program)
			}
			needtest.Program(t, k.Name, err)
			m := machine(1)
			m.Memory = 1 << 30
			loads := run(t, h, m, byServer(k))
			again := run(t, h, m, byServer(k))
			for id, l := range loads {
				if err := l.record.Common().LoadError; err != nil {
					t.Errorf("load %s: %v", id, err)
				}
				if requests := len(l.record.(*pageload.Record).HAR.Log.Entries); len(l.record.Common().Server) != requests || requests < 30 {
					t.Errorf("load %s: %d requests by the loader, %d by the server", id, requests, len(l.record.Common().Server))
				}
				where := difference(t, l, again[id])
				if where != "" && k.Name != "caddy" {
					t.Errorf("load %s differs: %s", id, where)
				}
				t.Logf("load %s: onLoad %.6f ms, then %.6f ms", id, l.record.(*pageload.Record).Timing.OnLoad, again[id].record.(*pageload.Record).Timing.OnLoad)
			}
		})
	}
}

func TestSeesProgramsOfOneFolder(t *testing.T) {
	if err := Sees("/usr/bin/env"); err != nil {
		t.Error(err)
	}
	if err := Sees("/proc/self/exe"); err == nil {
		t.Error("Sees accepted this test's path")
	}
}
