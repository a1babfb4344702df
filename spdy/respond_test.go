package spdy

import (
	"net/http"
	"testing"
	"time"
)

// TestEndOfAResponse: a handler need not wait until the peer's window has room for the end of its
// response, unless it has set a deadline for that.
func TestEndOfAResponse(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		for _, limited := range []bool{false, true} {
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if limited {
					if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
						t.Error(err)
					}
				}
				_, _ = w.Write(body(100))
			})
			cn := &serverConn{server: &Server{}, ctx: t.Context(), handler: h, version: v}
			done := make(chan struct{})
			p := against(t, v, false, Config{Accept: func(st *Stream) {
				cn.serve(st)
				close(done)
			}})
			p.send(&Settings{Entries: []Setting{{ID: SettingInitialWindowSize, Value: 10}}})
			p.send(&SynStream{StreamID: 1, Fin: true, Fields: []Field{
				{":host", "localhost"}, {":method", "GET"}, {":path", "/"}, {":scheme", "http"}, {":version", "HTTP/1.1"},
			}})
			<-done
			if f := p.expect(TypeData).(*Data); len(f.Payload) != 10 || f.Fin {
				t.Errorf("%s: %d octets, FIN: %t", v, len(f.Payload), f.Fin)
			}
			if limited {
				if f := p.expect(TypeRstStream).(*RstStream); f.Status != Cancel {
					t.Errorf("%s: %+v", v, f)
				}
				continue
			}
			p.send(&WindowUpdate{StreamID: 1, Delta: 1000})
			if f := p.expect(TypeData).(*Data); len(f.Payload) != 90 || !f.Fin {
				t.Errorf("%s: %d octets, FIN: %t", v, len(f.Payload), f.Fin)
			}
			p.settle()
			if n := p.s.Streams(); n != 0 {
				t.Errorf("%s: %d streams are open", v, n)
			}
		}
	}
}
