package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// campaign is a server with a campaign "c", a batch "b" and an input, as workers find it, and one worker "w".
type campaign struct {
	server      *Server
	coordinator jetstream.JetStream
	worker      *nats.Conn
	js          jetstream.JetStream // the worker's
	violations  chan error          // what the server refused the worker
}

func underWay(t *testing.T) *campaign {
	t.Helper()
	c := &campaign{violations: make(chan error, 100)}
	c.server, c.coordinator = prepared(t)
	ctx := t.Context()
	plans, err := c.coordinator.KeyValue(ctx, CampaignBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plans.PutString(ctx, PlanKey("c"), "plan"); err != nil {
		t.Fatal(err)
	}
	inputs, err := c.coordinator.ObjectStore(ctx, InputBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inputs.PutBytes(ctx, "site", bytes.Repeat([]byte("x"), 300_000)); err != nil {
		t.Fatal(err)
	}
	for stream, consumer := range map[string]string{WorkStream: WorkQueue("c", "any"), ResultStream: "c"} {
		if _, err := c.coordinator.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	c.publish(t, WorkSubject("c", "any", "b"), "work")
	c.worker = joined(t, invited(t, c.server, "w"))
	c.worker.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.violations <- err })
	if c.js, err = jetstream.New(c.worker); err != nil {
		t.Fatal(err)
	}
	return c
}

// publish publishes as the coordinator.
func (c *campaign) publish(t *testing.T, subject, text string) {
	t.Helper()
	if _, err := c.coordinator.Publish(t.Context(), subject, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// last returns the last message on a subject of a stream, or "" if the stream has none.
func (c *campaign) last(t *testing.T, name, subject string) string {
	t.Helper()
	stream, err := c.coordinator.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Data)
}

// TestWorkerRights: a worker can do all that its work needs, with nats.go as it is, and the server refuses it nothing on
// the way.
func TestWorkerRights(t *testing.T) {
	c := underWay(t)
	ctx := t.Context()
	consumer, err := c.js.Consumer(ctx, WorkStream, WorkQueue("c", "any"))
	if err != nil {
		t.Fatal("find the work: ", err)
	}
	batch, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err != nil || string(batch.Data()) != "work" {
		t.Fatalf("pull a batch: %v, %v", batch, err)
	}
	if err := batch.InProgress(); err != nil {
		t.Error("extend the lease: ", err)
	}
	if err := batch.Nak(); err != nil {
		t.Error("give a batch back: ", err)
	}
	fetched, err := consumer.Fetch(1, jetstream.FetchMaxWait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if batch = <-fetched.Messages(); batch == nil {
		t.Fatal("pull it again: ", fetched.Error())
	}

	asked := make(chan *nats.Msg, 1)
	clock, err := c.coordinator.Conn().ChanSubscribe(TimeSubject("c", "*"), asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.coordinator.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	if err := c.worker.PublishRequest(TimeSubject("c", "w"), c.worker.NewInbox(), nil); err != nil {
		t.Error("ask for the time: ", err)
	}
	question := <-asked
	if worker, ok := Asker(question.Subject, question.Reply); worker != "w" || !ok {
		t.Errorf("%q asks, with the reply %s (%t), want w", worker, question.Reply, ok)
	}
	if err := clock.Unsubscribe(); err != nil {
		t.Error(err)
	}

	plans, err := c.js.KeyValue(ctx, CampaignBucket)
	if err != nil {
		t.Fatal("find the plans: ", err)
	}
	if plan, err := plans.Get(ctx, PlanKey("c")); err != nil || string(plan.Value()) != "plan" {
		t.Errorf("read the plan: %v, %v", plan, err)
	}
	if _, err := plans.Get(ctx, PlanKey("other")); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("a plan that is not there: %v", err)
	}
	watcher, err := plans.Watch(ctx, PlanKey("c"))
	if err != nil {
		t.Fatal("watch the plan: ", err)
	}
	if plan := <-watcher.Updates(); plan == nil || string(plan.Value()) != "plan" {
		t.Errorf("the plan now: %v", plan)
	}
	if end := <-watcher.Updates(); end != nil {
		t.Errorf("another plan now: %v", end)
	}
	c.publish(t, "$KV."+CampaignBucket+"."+PlanKey("c"), "plan 2")
	if plan := <-watcher.Updates(); plan == nil || string(plan.Value()) != "plan 2" {
		t.Errorf("the next plan: %v", plan)
	}
	all, err := plans.WatchFiltered(ctx, []string{PlanKey("c"), QuarantineKey("c", "w")})
	if err != nil {
		t.Fatal("watch two keys: ", err)
	}
	if plan := <-all.Updates(); plan == nil || string(plan.Value()) != "plan 2" {
		t.Errorf("the plan among two keys: %v", plan)
	}
	for _, w := range []jetstream.KeyWatcher{watcher, all} {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	}

	inputs, err := c.js.ObjectStore(ctx, InputBucket)
	if err != nil {
		t.Fatal("find the inputs: ", err)
	}
	if site, err := inputs.GetBytes(ctx, "site"); err != nil || len(site) != 300_000 {
		t.Errorf("read an input: %d octets, %v", len(site), err)
	}
	states, err := c.js.KeyValue(ctx, WorkerBucket)
	if err != nil {
		t.Fatal("find the states: ", err)
	}
	for range 2 {
		if _, err := states.PutString(ctx, StateKey("c", "w"), "busy"); err != nil {
			t.Error("write the state: ", err)
		}
	}
	if _, err := PutArtefact(ctx, c.js, bytes.NewReader(bytes.Repeat([]byte("a"), 300_000))); err != nil {
		t.Error(err)
	}
	result := &nats.Msg{Subject: ResultSubject("c", "w", "b"), Data: []byte("result")}
	if _, err := c.js.PublishMsg(ctx, result, jetstream.WithMsgID("c.b")); err != nil {
		t.Error("publish a result: ", err)
	}
	if err := batch.DoubleAck(ctx); err != nil {
		t.Error("acknowledge a batch: ", err)
	}
	if err := c.worker.Flush(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-c.violations:
		t.Error("the server refused something: ", err)
	default:
	}
	if text := c.last(t, ResultStream, ResultSubject("c", "w", "b")); text != "result" {
		t.Errorf("the result is %q", text)
	}
	if text := c.last(t, WorkStream, WorkSubject("c", "any", "b")); text != "" {
		t.Errorf("the acknowledged batch is still there: %q", text)
	}
}

// TestWorkerIsRefused: the server refuses everything else, and what it guards stays as it was.
func TestWorkerIsRefused(t *testing.T) {
	c := underWay(t)
	joined(t, invited(t, c.server, "other"))
	c.publish(t, ResultSubject("c", "other", "b"), "result of another")
	c.publish(t, "$KV."+WorkerBucket+"."+StateKey("c", "other"), "state of another")
	object, err := PutArtefact(t.Context(), c.coordinator, strings.NewReader("artefact"))
	if err != nil {
		t.Fatal(err)
	}
	before := c.sizes(t)

	publish := func(subject string) func() error {
		return func() error { return c.worker.Publish(subject, []byte("{}")) }
	}
	listen := func(subject string) func() error {
		return func() error {
			_, err := c.worker.SubscribeSync(subject)
			return err
		}
	}
	for _, f := range []struct {
		name string
		do   func() error
	}{
		{"publish the result of another worker", publish(ResultSubject("c", "other", "b"))},
		{"publish a result in no name", publish("wiretime.result.c.b")},
		{"publish a batch", publish(WorkSubject("c", "any", "b2"))},
		{"look at the results", publish("$JS.API.STREAM.INFO." + ResultStream)},
		{"pull results", publish("$JS.API.CONSUMER.MSG.NEXT." + ResultStream + ".c")},
		{"read a result", publish("$JS.API.STREAM.MSG.GET." + ResultStream)},
		{"read a result directly", publish("$JS.API.DIRECT.GET." + ResultStream)},
		{"acknowledge a result", publish("$JS.ACK." + ResultStream + ".c.1.1.1.1.0")},
		{"create a consumer of results", publish("$JS.API.CONSUMER.CREATE." + ResultStream + ".x")},
		{"create a consumer of work", publish("$JS.API.CONSUMER.CREATE." + WorkStream + ".x")},
		{"create a durable consumer of work", publish("$JS.API.CONSUMER.DURABLE.CREATE." + WorkStream + ".x")},
		{"delete the consumer of work", publish("$JS.API.CONSUMER.DELETE." + WorkStream + ".c_any")},
		{"pause the consumer of work", publish("$JS.API.CONSUMER.PAUSE." + WorkStream + ".c_any")},
		{"read work past its consumer", publish("$JS.API.STREAM.MSG.GET." + WorkStream)},
		{"list the streams", publish("$JS.API.STREAM.NAMES")},
		{"create a stream", publish("$JS.API.STREAM.CREATE.MINE")},
		{"change a stream", publish("$JS.API.STREAM.UPDATE." + WorkStream)},
		{"purge the work", publish("$JS.API.STREAM.PURGE." + WorkStream)},
		{"delete the work", publish("$JS.API.STREAM.DELETE." + WorkStream)},
		{"delete a batch", publish("$JS.API.STREAM.MSG.DELETE." + WorkStream)},
		{"purge the plans", publish("$JS.API.STREAM.PURGE.KV_" + CampaignBucket)},
		{"purge the artefacts", publish("$JS.API.STREAM.PURGE.OBJ_" + ArtefactBucket)},
		{"delete an artefact", publish("$JS.API.STREAM.MSG.DELETE.OBJ_" + ArtefactBucket)},
		{"read artefacts", publish("$JS.API.DIRECT.GET.OBJ_" + ArtefactBucket + "." + metaSubject(object))},
		{"create a consumer of artefacts", publish("$JS.API.CONSUMER.CREATE.OBJ_" + ArtefactBucket + ".x")},
		{"take a snapshot", publish("$JS.API.STREAM.SNAPSHOT.OBJ_" + InputBucket)},
		{"write a plan", publish("$KV." + CampaignBucket + "." + PlanKey("c"))},
		{"write a lease", publish("$KV." + CampaignBucket + "." + CoordinatorKey("c"))},
		{"quarantine another worker", publish("$KV." + CampaignBucket + "." + QuarantineKey("c", "other"))},
		{"write or delete another worker's state", publish("$KV." + WorkerBucket + "." + StateKey("c", "other"))},
		{"read another worker's state", publish("$JS.API.DIRECT.GET.KV_" + WorkerBucket + ".$KV." + WorkerBucket + "." + StateKey("c", "other"))},
		{"read its own state", publish("$JS.API.DIRECT.GET.KV_" + WorkerBucket + ".$KV." + WorkerBucket + "." + StateKey("c", "w"))},
		{"write an input", publish("$O." + InputBucket + ".M.c2l0ZQ==")},
		{"write a part of an input", publish("$O." + InputBucket + ".C.x")},
		{"answer another's request", publish("_INBOX.other.x")},
		{"ask for the time in another's name", publish(TimeSubject("c", "other"))},
		{"hear who asks for the time", listen("wiretime.time.>")},
		{"publish anything else", publish("x")},
		{"ask the system", publish("$SYS.REQ.SERVER.PING")},
		{"hear everything", listen(">")},
		{"hear the answers of all", listen("_INBOX.>")},
		{"hear the answers of another", listen("_INBOX.other.>")},
		{"hear the results", listen("wiretime.result.>")},
		{"hear the work", listen("wiretime.work.>")},
		{"hear the states", listen("$KV.>")},
		{"hear the artefacts", listen("$O.>")},
		{"hear requests to JetStream", listen("$JS.API.>")},
		{"hear advisories", listen("$JS.EVENT.>")},
		{"hear the system", listen("$SYS.>")},
	} {
		if err := f.do(); err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if err := c.worker.Flush(); err != nil { // the refusal has come when the answer to this ping has
			t.Fatal(err)
		}
		select {
		case err := <-c.violations:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", f.name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the server does it", f.name)
		}
	}
	if after := c.sizes(t); after != before {
		t.Errorf("the streams had\n%s\nand now have\n%s", before, after)
	}
}

// sizes says which streams there are, and how many messages and consumers each has.
func (c *campaign) sizes(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	list := c.coordinator.ListStreams(t.Context())
	for info := range list.Info() {
		line, err := json.Marshal(map[string]any{info.Config.Name: []any{info.State.Msgs, info.State.LastSeq, info.State.Consumers}})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return b.String()
}

// TestRollupsAreRefused: a worker cannot remove the messages of others with one of its own that says it stands for all.
func TestRollupsAreRefused(t *testing.T) {
	c := underWay(t)
	for _, subject := range []string{ResultSubject("c", "w", "b"), "$KV." + WorkerBucket + "." + StateKey("c", "w"), metaSubject("x"), chunkSubject("x")} {
		m := nats.NewMsg(subject)
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupAll)
		if _, err := c.js.PublishMsg(t.Context(), m); err == nil || !strings.Contains(err.Error(), "rollup not permitted") {
			t.Errorf("a rollup of %s: %v", subject, err)
		}
	}
}

// TestWhatAnswersCanDo holds WorkerRights' docstring to what it says of the server: it sends an answer to wherever the
// question says, so what a worker can read it can have published, but nothing of its own making.
func TestWhatAnswersCanDo(t *testing.T) {
	c := underWay(t)
	forged := ResultSubject("c", "other", "b")
	ask := func(subject, body string) {
		t.Helper()
		if err := c.worker.PublishMsg(&nats.Msg{Subject: subject, Reply: forged, Data: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		if err := c.worker.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	result := func() string {
		t.Helper()
		consumer, err := c.coordinator.Consumer(t.Context(), ResultStream, "c")
		if err != nil {
			t.Fatal(err)
		}
		m, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatal("no message came through: ", err)
		}
		if err := m.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
		return string(m.Data())
	}
	ask("$JS.API.CONSUMER.MSG.NEXT."+WorkStream+"."+WorkQueue("c", "any"), `{"batch":1}`)
	if text := result(); text != "work" {
		t.Errorf("a pulled batch came through as %q", text)
	}
	ask("$JS.API.DIRECT.GET.KV_"+CampaignBucket+".$KV."+CampaignBucket+"."+PlanKey("c"), "")
	if text := result(); text != "plan" {
		t.Errorf("a plan came through as %q", text)
	}
	// A message ID is taken by whoever uses it first.
	first, err := c.js.PublishMsg(t.Context(), nats.NewMsg(ResultSubject("c", "w", "x")), jetstream.WithMsgID("guessed"))
	if err != nil || first.Duplicate {
		t.Errorf("the first message of an ID: %+v, %v", first, err)
	}
	second, err := c.coordinator.PublishMsg(t.Context(), nats.NewMsg(forged), jetstream.WithMsgID("guessed"))
	if err != nil || !second.Duplicate {
		t.Errorf("another message of this ID: %+v, %v", second, err)
	}
	// The worker's own words, where it can write and would like to read.
	for _, stream := range []string{"KV_" + WorkerBucket, "OBJ_" + ArtefactBucket} {
		for _, right := range WorkerRights("w").Pub.Allow {
			for _, verb := range []string{"DIRECT.GET.", "STREAM.MSG.GET.", "CONSUMER.CREATE.", "CONSUMER.MSG.NEXT."} {
				if strings.HasPrefix(right, "$JS.API."+verb+stream) {
					t.Errorf("a worker can read what workers write: %s", right)
				}
			}
		}
	}
}
