package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/flowcontrol"
	"wiretime/lab"
	"wiretime/needtest"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/pageload"
)

const farAway = `name: windows
repeats: 1
clock: virtual
matrix:
  sites: [objects@1x2MB]
  protocols: [spdy/3.1, h2, h3]
  networks: [{name: far, rate: 20mbit, rtt: 200ms}]
  loaders: [builtin]
  client_windows: [64KiB, 10MiB]
`

// TestFramesSayWhatHeldTheSender loads 2 MB over a path that holds 500 kB, with windows below and above that, and compares what held
// the server with the loader's own times.
func TestFramesSayWhatHeldTheSender(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	if r := u.run(t, "run", u.write(t, "study.yaml", farAway), "--store", "kept"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	loads := loadsIn(t, filepath.Join(u.home, "kept"))
	if len(loads) != 6 {
		t.Fatalf("%d loads, want 6", len(loads))
	}
	for _, l := range loads {
		t.Run(l.Cell.On(study.AxisProtocol)+" "+l.Cell.On(study.AxisClientWindow), func(t *testing.T) {
			connections, err := readConnections(l)
			if err != nil || len(connections) != 1 || len(connections[0].Unseen) > 0 {
				t.Fatalf("%d connections, %v: %+v", len(connections), err, connections)
			}
			c := connections[0]
			transfer := c.Transfers[len(c.Transfers)-1]
			if c.Protocol != l.Cell.On(study.AxisProtocol) || transfer.Sender != flowcontrol.Server || transfer.Octets < 2_000_000 {
				t.Fatalf("%s: the %s sent %d octets", c.Protocol, transfer.Sender, transfer.Octets)
			}
			sums, total := transfer.Sums(), int64(0)
			for _, sum := range sums {
				total += sum
			}
			took := arrival(t, filepath.Join(l.Artefacts, pageload.HARFile))
			if c.Protocol == "h3" {
				took += 200e6 // the server sends its control stream one round trip before the first response
			}
			if abs(total-took) > took/100 {
				t.Errorf("the limits add up to %d ns, by the loader the transfer took %d ns", total, took)
			}
			held := sums[flowcontrol.StreamWindow] + sums[flowcontrol.SessionWindow]
			if small := l.Cell.On(study.AxisClientWindow) == "64KiB"; small != (held > total/2) || !small && held > 0 {
				t.Errorf("windows held the sender for %d of %d ns: %v", held, total, sums)
			}
			r := u.run(t, "frames", l.ID, "--store", "kept")
			for _, want := range []string{"connection 1: ", "SETTINGS", "octets in ", "the server sent ", "link "} {
				if r.code != 0 || !strings.Contains(r.out, want) {
					t.Errorf("exit code %d, without %q: %s%s", r.code, want, r.errors, r.out)
				}
			}
		})
	}
	if r := u.run(t, "frames", "r1-0099-a1", "--store", "kept"); r.code != exitInput || !strings.Contains(r.errors, "r1-0099-a1") {
		t.Errorf("an unknown load: exit code %d, %q", r.code, r.errors)
	}
	t.Run("damaged captures", func(t *testing.T) { u.framesOfDamagedCaptures(t, loads) })
}

// framesOfDamagedCaptures takes from the captures of loads their end, then their keys, then all: the program says what it could not see.
func (u user) framesOfDamagedCaptures(t *testing.T, loads []store.Load) {
	for _, l := range loads {
		path := filepath.Join(l.Artefacts, lab.CaptureFile)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		packets, err := capture.ReadPackets(path)
		if err != nil {
			t.Fatal(err)
		}
		keyless := capture.AppendHeader(nil, packets.Header)
		for i := range packets.Records {
			keyless = capture.AppendPacket(keyless, &packets.Records[i])
		}
		for _, c := range []struct {
			file []byte
			says string
		}{
			{whole[:len(whole)/2], "not seen: packets at the end: the capture file is cut off\n"},
			{keyless, "not seen: the frames: the key log lacks the secrets of this connection\n"},
		} {
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := u.run(t, "frames", l.ID, "--store", "kept"); r.code != 0 || !strings.Contains(r.out, c.says) {
				t.Errorf("%s: exit code %d, without %q: %s%s", l.Cell.Key(), r.code, c.says, r.errors, r.out)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if r := u.run(t, "frames", l.ID, "--store", "kept"); r.code != exitInput || !strings.Contains(r.errors, "it has no packet capture") {
			t.Errorf("%s without a capture: exit code %d, %q", l.Cell.Key(), r.code, r.errors)
		}
	}
}

// arrival returns how long the bodies of a load took by its HAR: from when the first octet of the first response left its server, 100 ms
// before it arrived, until the last resource had arrived.
func arrival(t *testing.T, path string) int64 {
	t.Helper()
	h, err := capture.ReadHAR(path)
	if err != nil {
		t.Fatal(err)
	}
	const ms = 1e6
	first, last := int64(flowcontrol.Never), int64(0)
	for _, e := range h.Log.Entries {
		end := e.Started.UnixNano() + int64(e.Time*ms)
		first, last = min(first, end-int64(e.Timings.Receive*ms)), max(last, end)
	}
	return last - first + 100*ms
}

func abs(n int64) int64 { return max(n, -n) }
