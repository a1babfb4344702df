package campaign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
)

// TestLyingWorker: plausible figures that differ are found, whoever sends them first, when others carry the batches out as well.
// What the liar has made is taken back and made again, and the liar stops.
func TestLyingWorker(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	stopped := make(chan struct{})
	liar := f.worker("liar", maker{lie: 0.125})
	liar.Said = func(line string) {
		if strings.Contains(line, "quarantined") {
			close(stopped)
		}
	}
	f.config.Revoke = nil // as over somebody else's NATS
	f.work(liar)
	slow := maker{before: func(ctx context.Context, _ runner.Batch) error { pause(ctx, 30*time.Millisecond); return nil }}
	f.work(f.worker("b", slow)) // the liar makes most
	f.work(f.worker("c", slow))
	var last Progress
	if err := f.conduct(f.ctx, func(c *Config) {
		c.Checks = 1
		c.Report = func(p Progress) { last = p }
	}); err != nil {
		t.Fatalf("%v; said was\n%s", err, strings.Join(f.said, "\n"))
	}
	f.whole(0)
	if !slices.Equal(last.Quarantined, []string{"liar"}) {
		t.Errorf("quarantined are %q", last.Quarantined)
	}
	st, err := store.Open(f.dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if made, err := st.LoadsBy(1, "liar"); err != nil || len(made) > 0 {
		t.Errorf("left of the liar are %v, %v", made, err)
	}
	select {
	case <-stopped:
	case <-f.ctx.Done():
		t.Error("the liar was not told")
	}
}

// TestNobodyIsConvictedByOne: a liar and an honest worker alone cannot be told apart. The campaign convicts neither, and waits
// for a third one.
func TestNobodyIsConvictedByOne(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.work(f.worker("liar", maker{lie: 0.125}))
	f.work(f.worker("honest", maker{}))
	var last atomic.Pointer[Progress]
	ended := f.conducting(func(c *Config) {
		c.Checks = 1
		c.Report = func(p Progress) { last.Store(&p) }
	})
	f.heard("start one more")
	f.await("not all loads are made", func() bool { return last.Load().Done == loads })
	if p := last.Load(); len(p.Quarantined) > 0 {
		t.Errorf("quarantined are %q", p.Quarantined)
	}
	f.work(f.worker("third", maker{}))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := last.Load().Quarantined; !slices.Equal(got, []string{"liar"}) {
		t.Errorf("quarantined are %q", got)
	}
	f.whole(0)
}

// TestQuarantineOutlastsTheCoordinator: a coordinator that takes over knows who was quarantined, and takes back what its
// predecessor had not.
func TestQuarantineOutlastsTheCoordinator(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	js := f.setup()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	interrupt := f.work(f.worker("liar", maker{lie: 0.125}))
	if err := f.conduct(ctx, func(c *Config) {
		c.Report = func(p Progress) {
			if p.Done > 0 {
				cancel()
			}
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := interrupt(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(f.ctx, broker.CampaignBucket)
	if err == nil {
		_, err = bucket.PutString(f.ctx, broker.QuarantineKey("c", "liar"), "it lies")
	}
	if err != nil {
		t.Fatal(err)
	}
	f.work(f.worker("honest", maker{}))
	if err := f.conduct(f.ctx, nil); err != nil {
		t.Fatal(err)
	}
	f.whole(0)
	if _, err := bucket.Get(f.ctx, broker.QuarantineKey("c", "liar")); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("the quarantine outlasts the campaign: %v", err)
	}
}
