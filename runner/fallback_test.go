package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"wiretime/lab/labtest"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// TestFallbackIsJudgedByTheStudy loads a page whose origin does not hear what is sent to
// it over UDP. With the fallback h2 it is loaded over that, and valid; without, it fails.
func TestFallbackIsJudgedByTheStudy(t *testing.T) {
	page, err := site.Objects(8, 5000)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := station.Open(t.Context(), station.Config{Authority: ca, Lab: labtest.Config(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := dropUDP(443); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fallback, visit string
		validity        store.Validity
		reason          string
	}{
		{study.FallbackH2, study.VisitCold, store.Valid, ""},
		{study.FallbackH2, study.VisitResumed, store.Valid, ""},
		{study.FallbackH2, study.VisitZeroRTT, store.Valid, ""},
		{study.FallbackH2, study.VisitConnected, store.Valid, ""},
		{study.FallbackNone, study.VisitCold, store.Failed, "QUIC handshake with"},
	} {
		t.Run(c.fallback+" "+c.visit, func(t *testing.T) {
			r := &run{memory: newMemory(1 << 30), Config: Config{Options: study.Options{Fallback: c.fallback, Timeout: 30 * time.Second, LateLimit: study.Late{P99: 10 * time.Second}, TakenLimit: 1}}}
			j := pageJob(t, r, page, path(0, 20*time.Millisecond), map[study.Axis]string{study.AxisLoader: pageload.Builtin, study.AxisProtocol: "h3", study.AxisVisit: c.visit})
			dir := t.TempDir()
			record, err := j.Order("load").RunOn(t.Context(), s, page, dir)
			if err != nil {
				t.Fatal(err)
			}
			read := r.readPackets(dir)
			defer read.release()
			if read.err != nil {
				t.Fatal(read.err)
			}
			var verdict store.LoadRecord
			r.judge(&verdict, gather(j, record, read.Packets))
			if verdict.Validity != c.validity || !strings.Contains(verdict.Reason, c.reason) {
				t.Fatalf("it is %s: %s, %v", verdict.Validity, verdict.Reason, verdict.Violations)
			}
			if c.validity != store.Valid {
				return
			}
			if len(record.Common().Server) != 9 || verdict.Values["onload"] <= 0 {
				t.Errorf("%d requests, onload %g", len(record.Common().Server), verdict.Values["onload"])
			}
			for _, e := range record.Common().Server {
				if e.Protocol != "h2" {
					t.Errorf("%s was asked for over %s", e.URL, e.Protocol)
				}
			}
		})
	}
}

// dropUDP has every host of this process pass over the UDP packets that come in for a
// port, without a word to the sender. A host is a namespace that a thread is in.
func dropUDP(port uint16) error {
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		return err
	}
	hosts := map[string]bool{}
	for _, thread := range threads {
		name, err := os.Readlink(thread)
		if err != nil {
			continue // the thread has ended
		}
		if hosts[name] {
			continue
		}
		hosts[name] = true
		if err := dropUDPAt(thread, port); err != nil {
			return fmt.Errorf("drop UDP packets in %s: %w", name, err)
		}
	}
	return nil
}

func dropUDPAt(namespace string, port uint16) error {
	file, err := os.Open(namespace)
	if err != nil {
		return err
	}
	defer file.Close()
	c, err := nftables.New(nftables.WithNetNSFd(int(file.Fd())))
	if err != nil {
		return err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "deaf"})
	chain := c.AddChain(&nftables.Chain{
		Name: "input", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
	})
	const destinationOffset = 2 // of the destination port in UDP's header, RFC 768
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_UDP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: destinationOffset, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	return c.Flush()
}
