package chromium

import (
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/network"
)

// noteSocket records WebSocket handshakes, which servers see as ordinary requests
// (RFC 6455, section 4.1). Pages do not wait for them.
func (l *requestLog) noteSocket(event any) {
	switch e := event.(type) {
	case *network.EventWebSocketCreated:
		l.sockets[e.RequestID] = &request{id: e.RequestID, sent: &network.EventRequestWillBeSent{
			RequestID: e.RequestID, Initiator: e.Initiator, Type: network.ResourceTypeWebSocket,
			// ws becomes http, wss https.
			Request: &network.Request{Method: "GET", URL: strings.Replace(e.URL, "ws", "http", 1)},
		}}
	case *network.EventWebSocketWillSendHandshakeRequest:
		if r := l.sockets[e.RequestID]; r != nil {
			r.sent.Timestamp, r.sent.Request.Headers = e.Timestamp, e.Request.Headers
			l.requests = append(l.requests, r)
		}
	case *network.EventWebSocketHandshakeResponseReceived:
		if r := l.sockets[e.RequestID]; r != nil {
			r.ended = e.Timestamp.Float64()
			r.response = &network.Response{
				Status: e.Response.Status, StatusText: e.Response.StatusText, Headers: e.Response.Headers, Protocol: "http/1.1",
			}
		}
	case *network.EventWebSocketFrameError:
		if r := l.sockets[e.RequestID]; r != nil && r.ended == 0 {
			r.ended = e.Timestamp.Float64()
			r.refuse(e.ErrorMessage)
		}
	}
}

// refuse records why a WebSocket failed. If the server has responded, only the
// browser's message contains the status.
func (r *request) refuse(message string) {
	var status int64
	_, after, _ := strings.Cut(message, "Unexpected response code: ")
	if _, err := fmt.Sscan(after, &status); err != nil {
		r.failure = message
		return
	}
	r.response = &network.Response{Status: status, Protocol: "http/1.1"}
}
