package campaign

import "time"

// terms are how long the parties of a campaign wait for one another. Tests wait shorter.
type terms struct {
	// ack is how long a worker may have a batch, and the coordinator a result. Each heartbeat gives a batch as long again.
	ack time.Duration
	// lease is how long a coordinator may be silent before another one takes its campaign over.
	lease time.Duration
	// pause is the time before what failed is tried again, because NATS was away or full.
	pause time.Duration
	// audit is the time without a result after which the coordinator looks whether batches have got lost.
	audit time.Duration
	// upload is how long an upload of artefacts may pause before it counts as broken off.
	upload time.Duration
	// patience is how long a campaign that has an end waits for workers of a place.
	patience time.Duration
}

// usual returns the terms of all campaigns.
func usual() terms {
	return terms{ack: 30 * time.Second, lease: 15 * time.Second, pause: 2 * time.Second, audit: 30 * time.Second, upload: time.Minute, patience: 5 * time.Minute}
}

// heartbeat is the time between two signs of life during a term: four may be lost.
func heartbeat(term time.Duration) time.Duration { return term / 5 }
