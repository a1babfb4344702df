package guest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/needtest"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

// lossy is a path on which much depends on packets' timing.
var lossy = oneLink(network.Link{Rate: 10_000_000, Delay: 10 * time.Millisecond, Loss: network.Loss{Rate: 0.01}, Queue: network.Queue{Bytes: 64_000}})

// everyProtocol is a batch with one load of the small page over each protocol.
func everyProtocol(seed uint64) Batch {
	b := Batch{Station: stationConfig(1)}
	for i, p := range protocol.Names() {
		b.Loads = append(b.Loads, Load{ID: "by-" + name(p), Site: small, Order: order(p, lossy, seed+uint64(i))})
	}
	return b
}

// TestSameSeedSameNanoseconds runs a batch twice in separate folders: all files and records
// must be equal, octet by octet, also in a guest with another seed. With another seed of the
// load the keys differ, and with another path seed the losses do.
func TestSameSeedSameNanoseconds(t *testing.T) {
	first := run(t, host(t), machine(1), everyProtocol(1))
	other, err := newHost(built(t))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for id, again := range run(t, other, machine(1), everyProtocol(1)) {
		if where := difference(t, first[id], again); where != "" {
			t.Errorf("load %s differs: %s", id, where)
		}
	}
	for id, again := range run(t, host(t), machine(2), everyProtocol(1)) {
		if where := difference(t, first[id], again); where != "" {
			t.Errorf("load %s differs with another seed of the guest: %s", id, where)
		}
	}
	reseeded := everyProtocol(1)
	for i := range reseeded.Loads {
		reseeded.Loads[i].Seed = 1
	}
	for id, again := range run(t, host(t), machine(1), reseeded) {
		if id != "by-http-1.1" && bytes.Equal(again.packets(t).Secrets, first[id].packets(t).Secrets) {
			t.Errorf("load %s has the same keys with another seed of its own", id)
		}
	}
	for id, again := range run(t, host(t), machine(1), everyProtocol(100)) {
		if difference(t, first[id], again) == "" {
			t.Errorf("load %s is the same with another seed of its path", id)
		}
	}
}

// TestALoadFollowsFromItsBatch runs batches that differ only in the last load: the earlier
// loads must be equal.
func TestALoadFollowsFromItsBatch(t *testing.T) {
	b := everyProtocol(1)
	last := &b.Loads[len(b.Loads)-1]
	first := run(t, host(t), machine(1), b)
	last.Order.(*pageload.Order).Path = oneLink(network.Link{Rate: 1_000_000, Delay: 100 * time.Millisecond})
	for id, again := range run(t, host(t), machine(1), b) {
		if where := difference(t, first[id], again); (where == "") != (id != last.ID) {
			t.Errorf("load %s: the difference is %q", id, where)
		}
	}
}

// TestThousandBoots boots a small batch again and again, on two processors in parallel if
// possible, and compares everything with the first boot; then one whose loads are counted. WIRETIME_BOOTS is
// the number of boots of each. Differing files are kept in a folder.
func TestThousandBoots(t *testing.T) {
	needtest.Long(t)
	boots := 1000
	if text := os.Getenv("WIRETIME_BOOTS"); text != "" {
		var err error
		if boots, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name  string
		batch Batch
	}{{"every protocol", everyProtocol(1)}, {"counted", countedBatch()}} {
		t.Run(test.name, func(t *testing.T) { bootAgain(t, test.batch, boots) })
	}
}

// bootAgain boots a batch so many times and compares everything with the first boot.
func bootAgain(t *testing.T, b Batch, boots int) {
	h, first := host(t), run(t, host(t), machine(1), b)
	next := make(chan int)
	var side sync.WaitGroup
	for cpu := range min(2, runtime.NumCPU()) {
		side.Go(func() {
			m := machine(1)
			m.CPU = cpu
			for i := range next {
				again, err := carryOut(t.Context(), h, m, b)
				if err != nil {
					t.Errorf("boot %d: %v", i, err)
					continue
				}
				for _, l := range b.Loads {
					if where := difference(t, first[l.ID], again[l.ID]); where != "" {
						t.Errorf("boot %d on processor %d: load %s differs: %s; kept: %s", i, cpu, l.ID, where,
							keepBoth(t, fmt.Sprintf("boot-%d-%s", i, l.ID), first[l.ID], again[l.ID]))
					}
				}
			}
		})
	}
	began := time.Now()
	for i := 1; i < boots && t.Context().Err() == nil; i++ {
		next <- i
	}
	close(next)
	side.Wait()
	t.Logf("%d boots of %d loads in %v", boots, len(first), time.Since(began).Round(time.Second))
}

// difference describes where two runs of a load first differ, or returns "".
func difference(t *testing.T, a, b done) string {
	if b.record == nil {
		return "it did not come back"
	}
	var where []string
	if x, y := a.text(t), b.text(t); x != y {
		where = append(where, "the record: "+around(x, y))
	}
	if !bytes.Equal(a.files[lab.CaptureFile], b.files[lab.CaptureFile]) {
		where = append(where, "the capture: "+parting(a.packets(t), b.packets(t)))
	}
	for _, file := range []string{workload.ServerFile, pageload.FramesFile, playback.StreamFile} {
		if x, y := string(a.files[file]), string(b.files[file]); x != y {
			where = append(where, file+": "+around(x, y))
		}
	}
	if x, y := a.counts(t), b.counts(t); x != y {
		where = append(where, "the counts: "+around(x, y))
	}
	if len(a.files) != len(b.files) {
		where = append(where, fmt.Sprintf("%d files and %d", len(a.files), len(b.files)))
	}
	return strings.Join(where, "; ")
}

// around returns the texts around their first difference.
func around(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-40)
	return fmt.Sprintf("%q and %q", a[from:min(len(a), i+40)], b[from:min(len(b), i+40)])
}

// parting describes the packet at which two captures first differ.
func parting(a, b *capture.Packets) string {
	if !bytes.Equal(a.Secrets, b.Secrets) {
		return "the keys differ: " + around(string(a.Secrets), string(b.Secrets))
	}
	for i := range min(len(a.Records), len(b.Records)) {
		x, y := a.Records[i], b.Records[i]
		if x.ID != y.ID || x.Interface != y.Interface || x.Comment != y.Comment || !bytes.Equal(x.Data, y.Data) {
			return fmt.Sprintf("record %d is of packet %d (%d octets at %s) and of packet %d (%d octets at %s), %v after the first and %v",
				i, x.ID, len(x.Data), a.Interfaces[x.Interface].Name, y.ID, len(y.Data), b.Interfaces[y.Interface].Name,
				time.Duration(x.Time-a.Records[0].Time), time.Duration(y.Time-b.Records[0].Time))
		}
		if x.Time != y.Time {
			return fmt.Sprintf("record %d, of packet %d at %s, is at %d and at %d, %v apart", i, x.ID, a.Interfaces[x.Interface].Name, x.Time, y.Time, time.Duration(y.Time-x.Time))
		}
	}
	return fmt.Sprintf("%d records and %d", len(a.Records), len(b.Records))
}

// keepBoth keeps the files of two runs of a load and returns where.
func keepBoth(t *testing.T, name string, a, b done) string {
	dir, err := os.MkdirTemp("", "wiretime-"+name+"-") //nolint:usetesting // the folder must outlast the test
	if err != nil {
		return err.Error()
	}
	for which, d := range map[string]done{"first": a, "again": b} {
		files := d.files
		if d.record != nil {
			files["record.json"] = []byte(d.text(t))
		}
		if err := os.Mkdir(filepath.Join(dir, which), 0o755); err != nil {
			return err.Error()
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, which, file), text, 0o644); err != nil {
				return err.Error()
			}
		}
	}
	return dir
}

// TestDifference checks that differing runs of a load are told apart.
func TestDifference(t *testing.T) {
	header := capture.Header{Interfaces: []capture.Interface{{Name: "client.0"}}}
	load := func(at int64, log string) done {
		text := capture.AppendPacket(capture.AppendHeader(nil, header), &capture.PacketRecord{Time: at, ID: 1, Data: []byte{69}})
		return done{&pageload.Record{}, map[string][]byte{lab.CaptureFile: text, workload.ServerFile: []byte(log)}}
	}
	for _, test := range []struct {
		b    done
		says []string
	}{
		{load(1000, "same"), nil},
		{load(1256, "same"), []string{"packet 1 at client.0", "256ns apart"}},
		{load(1000, "other"), []string{`"other"`}},
	} {
		where := difference(t, load(1000, "same"), test.b)
		if (where == "") != (test.says == nil) || slices.ContainsFunc(test.says, func(s string) bool { return !strings.Contains(where, s) }) {
			t.Errorf("the difference is %q, want %q in it", where, test.says)
		}
	}
}
