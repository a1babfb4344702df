package metric

import (
	"net/http"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

// checkUpload is rule 4 for uploads: the sink received one upload with every octet that the client had to send, and
// the client's packets carried as many.
func checkUpload(ev *evidence.Evidence) []study.Violation {
	if ev.Upload == nil || ev.Server == nil || ev.Packets == nil {
		return nil // checkAgreement says what is missing
	}
	var posts []*capture.ServerEntry
	for i := range ev.Server {
		if ev.Server[i].Method == http.MethodPost {
			posts = append(posts, &ev.Server[i])
		}
	}
	if len(posts) != 1 {
		return []study.Violation{violation(4, "the server log has %d uploads instead of one", len(posts))}
	}
	var list []study.Violation
	switch in := posts[0].Received; {
	case in == nil:
		list = append(list, violation(4, "the server log does not say what the sink received"))
	case in.Octets != ev.Upload.Octets:
		list = append(list, violation(4, "the sink received %d octets, but the client had to upload %d", in.Octets, ev.Upload.Octets))
	case in.SHA256 != ev.Upload.SHA256:
		list = append(list, violation(4, "the sink received %d octets, but not the client's: their SHA-256 is %.64q instead of %s", in.Octets, in.SHA256, ev.Upload.SHA256))
	}
	if sent := sentToSink(ev); sent < ev.Upload.Octets {
		list = append(list, violation(4, "the client had to upload %d octets, but its packets carried only %d", ev.Upload.Octets, sent))
	}
	return list
}

// sentToSink returns how many octets of payload the client's packets carried to servers. Octets that TCP sent again count
// once.
func sentToSink(ev *evidence.Evidence) (octets int64) {
	for _, c := range countRounds(ev) {
		octets += c.octets
	}
	for p := range ev.AtClient() {
		if !p.Inbound && p.Flow.Protocol == capture.UDP && p.Flow.Destination.Port() == evidence.PortHTTPS {
			octets += int64(p.PayloadLength)
		}
	}
	return octets
}
