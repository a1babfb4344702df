// Package broker carries campaigns over NATS JetStream: how to reach a server, what must be in an account, what a worker
// may do there, and a server of our own for those who have none. It knows nothing of loads.
package broker

import (
	"fmt"
	"strings"
)

// The streams and buckets of campaigns. An account has one of each, whatever the number of campaigns.
const (
	// WorkStream is a work queue of batches to be carried out. Each campaign has a durable pull consumer for each place
	// (WorkQueue).
	WorkStream = "WIRETIME_WORK"
	// ResultStream is a work queue of the results of batches. Each campaign has a durable pull consumer with its own name.
	ResultStream = "WIRETIME_RESULTS"
	// CampaignBucket is a key-value bucket that coordinators write and workers read.
	CampaignBucket = "wiretime-campaigns"
	// WorkerBucket is a key-value bucket in which each worker writes its own state.
	WorkerBucket = "wiretime-workers"
	// InputBucket is an object bucket that coordinators write and workers read.
	InputBucket = "wiretime-inputs"
	// ArtefactBucket is an object bucket that workers write with PutArtefact and coordinators read.
	ArtefactBucket = "wiretime-artefacts"
)

// CheckName says what is wrong with the name of a campaign.
func CheckName(campaign string) error {
	if !isWord(campaign, 40) || strings.ToLower(campaign) != campaign || strings.Contains(campaign, "_") {
		return fmt.Errorf("the campaign's name %q: must be 1 to 40 of the characters a-z, 0-9 and -", campaign)
	}
	return nil
}

// CheckWorker says what is wrong with the name of a worker.
func CheckWorker(worker string) error {
	if !isWord(worker, 60) {
		return fmt.Errorf("the worker's name %q: must be 1 to 60 of the characters A-Z, a-z, 0-9, _ and -", worker)
	}
	return nil
}

// isWord tells whether a text of 1 to most octets can stand in subjects, keys and file names.
func isWord(text string, most int) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return text != "" && len(text) <= most
}

// WorkSubject is the subject of a batch to be carried out by a worker of a place. "*" stands for all places or batches.
func WorkSubject(campaign, place, batch string) string {
	return "wiretime.work." + campaign + "." + place + "." + batch
}

// WorkQueue is the name of the consumer of a campaign's batches for a place. Neither name has a "_", so no two pairs share one.
func WorkQueue(campaign, place string) string { return campaign + "_" + place }

// TimeSubject is the subject on which a worker asks a campaign's coordinator what time it is. "*" stands for any worker.
func TimeSubject(campaign, worker string) string { return "wiretime.time." + campaign + "." + worker }

// Asker returns the worker that asks for the time, or false if the answer would not go to that worker's own inbox. A coordinator
// answers nobody else: with its rights an answer could do anything.
func Asker(subject, reply string) (worker string, ok bool) {
	worker = subject[strings.LastIndexByte(subject, '.')+1:]
	return worker, CheckWorker(worker) == nil && strings.HasPrefix(reply, inbox(worker)+".")
}

// ResultSubject is the subject of the result of a batch. "*" stands for any campaign, worker or batch.
func ResultSubject(campaign, worker, batch string) string {
	return "wiretime.result." + campaign + "." + worker + "." + batch
}

// ParseResultSubject returns the names in the subject of a result, or false for another subject.
func ParseResultSubject(subject string) (campaign, worker, batch string, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 || parts[0] != "wiretime" || parts[1] != "result" {
		return "", "", "", false
	}
	return parts[2], parts[3], parts[4], true
}

// PlanKey is the key of a campaign's signed plan in CampaignBucket.
func PlanKey(campaign string) string { return "plan." + campaign }

// CoordinatorKey is the key of the lease of a campaign's coordinator in CampaignBucket.
func CoordinatorKey(campaign string) string { return "coordinator." + campaign }

// QuarantineKey is the key in CampaignBucket that excludes a worker from a campaign. The worker "*" stands for all of them.
func QuarantineKey(campaign, worker string) string { return "quarantine." + campaign + "." + worker }

// StateKey is the key of a worker's state in WorkerBucket. The worker "*" stands for all of them.
func StateKey(campaign, worker string) string { return campaign + "." + worker }
