package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits of what a worker's state may take. A worker writes it again and again while it lives.
const (
	mostState  = 64 << 10 // octets of one state
	mostStates = 64 << 20 // octets of all
	stateAge   = 24 * time.Hour
)

// streams are all streams that campaigns need, those below the buckets included. Those that workers write allow no
// rollup: with its header one message of a worker would remove all others of the stream.
func streams(artefactOctets int64) []jetstream.StreamConfig {
	queue := jetstream.StreamConfig{
		Retention: jetstream.WorkQueuePolicy,
		Discard:   jetstream.DiscardNew,
		Storage:   jetstream.FileStorage,
	}
	work, results := queue, queue
	work.Name, work.Subjects = WorkStream, []string{"wiretime.work.*.*.*"}
	work.Description = "batches to be carried out"
	results.Name, results.Subjects = ResultStream, []string{"wiretime.result.*.*.*"}
	results.Description = "results of batches"

	values := jetstream.StreamConfig{
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardNew,
		Storage:           jetstream.FileStorage,
		MaxMsgsPerSubject: 1,
		DenyDelete:        true,
		AllowDirect:       true,
	}
	campaigns, workers := values, values
	campaigns.Name, campaigns.Subjects = "KV_"+CampaignBucket, []string{"$KV." + CampaignBucket + ".>"}
	campaigns.AllowRollup = true
	campaigns.Description = "plans, leases of coordinators, quarantines"
	workers.Name, workers.Subjects = "KV_"+WorkerBucket, []string{"$KV." + WorkerBucket + ".*.*"}
	workers.MaxMsgSize, workers.MaxBytes, workers.MaxAge = mostState, mostStates, stateAge
	workers.Description = "states of workers"

	objects := jetstream.StreamConfig{
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		AllowDirect: true,
	}
	inputs, artefacts := objects, objects
	inputs.Name, inputs.Subjects = "OBJ_"+InputBucket, []string{"$O." + InputBucket + ".C.>", "$O." + InputBucket + ".M.>"}
	inputs.AllowRollup = true
	inputs.Description = "sites, kernels and programs"
	artefacts.Name, artefacts.Subjects = "OBJ_"+ArtefactBucket, []string{"$O." + ArtefactBucket + ".C.>", "$O." + ArtefactBucket + ".M.>"}
	artefacts.MaxBytes = artefactOctets
	artefacts.Description = "artefacts of batches"
	return []jetstream.StreamConfig{work, results, campaigns, workers, inputs, artefacts}
}

// Setup makes the streams and buckets that are missing, and checks those that are there. The artefacts of all batches
// that no coordinator has taken yet may have artefactOctets together; beyond that IsFull tells the error of PutArtefact.
// Only a coordinator may call Setup; several at once do no harm.
func Setup(ctx context.Context, js jetstream.JetStream, artefactOctets int64) error {
	if artefactOctets <= 0 {
		return fmt.Errorf("set up JetStream: the artefacts' limit must be positive, not %d octets", artefactOctets)
	}
	for _, wanted := range streams(artefactOctets) {
		if err := setUp(ctx, js, wanted); err != nil {
			return fmt.Errorf("set up the stream %s: %w", wanted.Name, err)
		}
	}
	return nil
}

func setUp(ctx context.Context, js jetstream.JetStream, wanted jetstream.StreamConfig) error {
	stream, err := js.Stream(ctx, wanted.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err = js.CreateStream(ctx, wanted); err == nil || !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return explainLimits(err)
		}
		stream, err = js.Stream(ctx, wanted.Name) // another coordinator was faster
	}
	if err != nil {
		return err
	}
	found := stream.CachedInfo().Config
	if problem := differs(found, wanted); problem != "" {
		return fmt.Errorf("it is there but %s: if nothing else uses it, remove it with nats stream rm %s", problem, wanted.Name)
	}
	if wanted.MaxBytes > 0 && found.MaxBytes != wanted.MaxBytes {
		found.MaxBytes = wanted.MaxBytes
		_, err = js.UpdateStream(ctx, found)
	}
	return explainLimits(err)
}

// differs says in what a stream is not fit for campaigns. What its operator may choose, such as replicas, placement,
// storage and compression, is left alone.
func differs(found, wanted jetstream.StreamConfig) string {
	slices.Sort(found.Subjects)
	switch {
	case !slices.Equal(found.Subjects, wanted.Subjects):
		return fmt.Sprintf("has the subjects %s, not %s", strings.Join(found.Subjects, " "), strings.Join(wanted.Subjects, " "))
	case found.Retention != wanted.Retention:
		return fmt.Sprintf("keeps messages by the policy %s, not %s", found.Retention, wanted.Retention)
	case found.Discard != wanted.Discard:
		return fmt.Sprintf("discards messages by the policy %s, not %s", found.Discard, wanted.Discard)
	case found.MaxAge != wanted.MaxAge:
		return fmt.Sprintf("keeps messages for %s, not %s (0s: for ever)", found.MaxAge, wanted.MaxAge)
	case found.AllowRollup != wanted.AllowRollup:
		return fmt.Sprintf("has allow_rollup_hdrs %t, not %t", found.AllowRollup, wanted.AllowRollup)
	case wanted.AllowDirect && !found.AllowDirect:
		return "allows no direct access"
	case found.Sealed:
		return "is sealed"
	}
	return ""
}

// What JetStream says of a stream or an account that has no room. The jetstream package has no names for these codes.
const (
	codeAccountFull  = 10002 // resource limits exceeded for account
	codeInsufficient = 10023 // insufficient resources
	codeStorageFull  = 10047 // insufficient storage resources available
	codeStoreFailed  = 10077 // a stream cannot store the message, for the reason in the description
)

// IsFull tells whether the server refused a message because a stream, an account or the server has no room for it. The
// message is not lost: its sender has it, and may try again once a coordinator has made room.
func IsFull(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case codeAccountFull, codeInsufficient, codeStorageFull:
		return true
	case codeStoreFailed:
		return strings.Contains(api.Description, "maximum ") || strings.Contains(api.Description, "no space left")
	}
	return false
}

func explainLimits(err error) error {
	if IsFull(err) {
		return fmt.Errorf("there is no room for it in JetStream's limits: lower the artefacts' limit (--room), or raise the account's or the server's (%w)", err)
	}
	return err
}
