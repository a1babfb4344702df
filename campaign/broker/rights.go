package broker

import (
	"fmt"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// WorkerRights returns what a worker may publish and subscribe to, and nothing else.
//
// It may pull batches of any campaign and place and acknowledge them, ask coordinators for the time, read plans and inputs, write its own state, publish results
// under its own name, and add artefacts. It may neither read results, artefacts or the states of workers, nor change
// streams, nor hear anything but its own answers.
//
// NATS checks the subject of a message but neither the subject that the message names for the answer nor the subject to
// which a new consumer delivers (nats-server 2.15). So a hostile worker can have the server send any message that it may
// read, a work message for instance, to any subject of the account. Therefore a worker may read nothing that workers
// write: it cannot choose what the server sends for it, and cannot speak in another's name.
//
// What remains is denial, never deception, as long as coordinators check plans by their signature, refuse results with
// unknown fields, blame no worker for a message that is not a result, and check artefacts by their SHA-256. A hostile
// worker can
//   - take batches and not carry them out, or acknowledge batches that others hold: coordinators must publish a batch
//     again if no result comes;
//   - put a message of the coordinator in the place of a plan, a lease, a quarantine or a result;
//   - publish with a message ID that another worker is about to use, so that JetStream drops the other's result as a
//     duplicate: IDs must have a random part;
//   - fill the buckets that workers write, and make consumers and connections as long as the server lets it;
//   - add an object by a name that another has. JetStream addresses an object by the Base64 of its whole name, so a
//     prefix of names cannot be granted. GetArtefact passes over what does not have the SHA-256 in its name.
func WorkerRights(worker string) jwt.Permissions {
	const api = "$JS.API."
	var (
		plans  = "KV_" + CampaignBucket
		inputs = "OBJ_" + InputBucket
	)
	publish := []string{
		api + "INFO",
		// batches
		api + "CONSUMER.INFO." + WorkStream + ".*",
		api + "CONSUMER.MSG.NEXT." + WorkStream + ".*",
		"$JS.ACK." + WorkStream + ".>",
		TimeSubject("*", worker),
		// results, the worker's state, artefacts
		ResultSubject("*", worker, "*"),
		api + "STREAM.INFO.KV_" + WorkerBucket,
		"$KV." + WorkerBucket + "." + StateKey("*", worker),
		api + "STREAM.INFO.OBJ_" + ArtefactBucket,
		"$O." + ArtefactBucket + ".C.*",
		"$O." + ArtefactBucket + ".M.*",
	}
	for _, stream := range []string{plans, inputs} {
		publish = append(publish,
			api+"STREAM.INFO."+stream,
			api+"DIRECT.GET."+stream+".>",
			// the ordered consumers below watchers and objects
			api+"CONSUMER.CREATE."+stream+".>",
			api+"CONSUMER.DELETE."+stream+".*",
			"$JS.FC."+stream+".>",
		)
	}
	return jwt.Permissions{
		Pub: jwt.Permission{Allow: publish},
		Sub: jwt.Permission{Allow: []string{inbox(worker) + ".>"}},
	}
}

// NSC returns commands for a shell that give an account a role for workers, and create a user of this role for one
// worker, with NATS's tool nsc. The role holds WorkerRights; NATS puts each user's own name into it.
func NSC(account, worker string) string {
	rights := WorkerRights("{{name()}}")
	var b strings.Builder
	fmt.Fprintf(&b, "KEY=$(nsc edit account --name %s --sk generate 2>&1 | grep -o 'A[A-Z0-9]\\{55\\}' | tail -1)\n", account)
	fmt.Fprintf(&b, "nsc edit signing-key --account %s --sk $KEY --role wiretime-worker", account)
	for _, subject := range rights.Pub.Allow {
		fmt.Fprintf(&b, " \\\n  --allow-pub '%s'", subject)
	}
	for _, subject := range rights.Sub.Allow {
		fmt.Fprintf(&b, " \\\n  --allow-sub '%s'", subject)
	}
	fmt.Fprintf(&b, "\nnsc push --account %s\n", account)
	fmt.Fprintf(&b, "nsc add user --account %s --name %s -K wiretime-worker --expiry 30d\n", account, worker)
	fmt.Fprintf(&b, "nsc generate creds --account %s --name %s --output-file %s.creds\n", account, worker, worker)
	return b.String()
}
