package spdy

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
)

// TestWindowRules lists the WINDOW_UPDATEs of each rule for 64 KiB that arrive
// in frames of 4 KiB at a reader that reads at once.
func TestWindowRules(t *testing.T) {
	for _, c := range []struct {
		rule    UpdateRule
		stream  string
		session string
	}{
		{UpdateHalf, "[36864]", "[36864]"},
		{UpdateEighth, "[8192 8192 8192 8192 8192 8192 8192 8192]", "[8192 8192 8192 8192 8192 8192 8192 8192]"},
		{UpdateFrame, "[4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096 4096]", "same"},
		{UpdateNever, "[]", "[]"},
	} {
		if c.session == "same" {
			c.session = c.stream
		}
		for _, v := range []Version{V3, V31} {
			read := make(chan int)
			p := against(t, v, false, Config{
				Window: Window{Update: c.rule, SessionUpdate: c.rule},
				Accept: func(st *Stream) {
					for {
						n, err := st.Read(make([]byte, 4096))
						if err != nil {
							return
						}
						read <- n
					}
				},
			})
			p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}})
			for range 16 {
				p.send(&Data{StreamID: 1, Payload: make([]byte, 4096)})
				for n := 0; n < 4096; n += <-read {
				}
			}
			got := map[uint32][]uint32{}
			for _, f := range p.settle() {
				if w, ok := f.(*WindowUpdate); ok {
					got[w.StreamID] = append(got[w.StreamID], w.Delta)
				}
			}
			if fmt.Sprint(got[1]) != c.stream {
				t.Errorf("%s, rule %d: the stream's updates are %v, want %s", v, c.rule, got[1], c.stream)
			}
			if want := map[Version]string{V3: "[]", V31: c.session}[v]; fmt.Sprint(got[0]) != want {
				t.Errorf("%s, rule %d: the session's updates are %v, want %s", v, c.rule, got[0], want)
			}
			_ = p.Conn.Close()
		}
	}
}

// TestSenderKeepsToTheWindows checks that a sender obeys both windows, to the
// octet, and continues when allowed.
func TestSenderKeepsToTheWindows(t *testing.T) {
	p := against(t, V31, true, Config{})
	st, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		if _, err := st.write(make([]byte, 200_000), true); err != nil {
			t.Error(err)
		}
	})
	count := func() (n int) {
		for {
			f := p.settle()
			k := 0
			for _, f := range f {
				if d, ok := f.(*Data); ok {
					k += len(d.Payload)
				}
			}
			if n += k; k == 0 && n > 0 {
				return n
			}
		}
	}
	if n := count(); n != 65536 {
		t.Fatalf("%d octets at first, want 65536", n)
	}
	p.send(&WindowUpdate{StreamID: 1, Delta: 100_000}, &WindowUpdate{StreamID: 0, Delta: 10})
	if n := count(); n != 10 {
		t.Fatalf("%d octets for a session's window of 10", n)
	}
	// A smaller initial window makes the stream's negative.
	p.send(&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 0}}}, &WindowUpdate{StreamID: 0, Delta: 1 << 20})
	if n := count(); n != 100_000-10-65536 {
		t.Fatalf("%d octets, want what the stream's window still allows", n)
	}
	p.send(&WindowUpdate{StreamID: 1, Delta: 5}, &Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 7}}})
	if n := count(); n != 12 {
		t.Fatalf("%d octets for a window 12 larger", n)
	}
	p.send(&WindowUpdate{StreamID: 1, Delta: 1 << 20})
	if n := count(); n != 200_000-100_000-12 {
		t.Fatalf("%d octets, want the rest", n)
	}
}

// TestReceiverTakesWhatWasSentBeforeItsSettings follows the drafts' example: 64
// KB are in flight when a window of 16 KB is announced.
func TestReceiverTakesWhatWasSentBeforeItsSettings(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		got := make(chan int)
		p := against(t, v, false, Config{Window: Window{Stream: 16 << 10}, Accept: func(st *Stream) {
			b, err := io.ReadAll(st)
			if err != nil {
				t.Error(err)
			}
			got <- len(b)
		}})
		p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}}, &Data{StreamID: 1, Fin: true, Payload: make([]byte, 64<<10)})
		if n := <-got; n != 64<<10 {
			t.Errorf("%s: %d octets", v, n)
		}
	}
}

func TestSettingsOfTheReceiverInMidSession(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		got := make(chan int, 1)
		p := against(t, v, false, Config{Window: Window{Session: 1 << 20}, Accept: func(st *Stream) {
			b, _ := io.ReadAll(st)
			got <- len(b)
		}})
		p.send(&SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}})
		p.settle()
		if err := p.s.SendSettings(Setting{ID: SettingInitialWindowSize, Value: 100_000}, Setting{ID: SettingMaxConcurrentStreams, Value: 1}); err != nil {
			t.Fatal(err)
		}
		p.expect(TypeSettings)
		p.send(&Data{StreamID: 1, Payload: make([]byte, 100_000)}, &SynStream{StreamID: 3, Fields: []Field{{"a", "b"}}})
		if f := p.expect(TypeRstStream).(*RstStream); f.StreamID != 3 || f.Status != RefusedStream {
			t.Errorf("%s: a second stream brought %+v", v, f)
		}
		p.send(&Data{StreamID: 1, Fin: true})
		if n := <-got; n != 100_000 {
			t.Errorf("%s: %d octets", v, n)
		}
	}
}

// TestSettingsInAnswer has a session that answers SETTINGS: it announces no window before the peer's SETTINGS, and its
// own after them.
func TestSettingsInAnswer(t *testing.T) {
	for _, v := range []Version{V3, V31} {
		p := against(t, v, false, Config{AnswerSettings: true, Window: Window{Stream: 1 << 20, Session: 1 << 20}})
		if early := p.settle(); len(early) > 0 {
			t.Errorf("%s: the session begins with %v, want nothing", v, early)
		}
		p.send(&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 1000}}})
		answer := p.settle()
		if len(answer) == 0 {
			t.Fatalf("%s: no answer", v)
		}
		settings, ok := answer[0].(*Settings)
		if !ok || !slices.Contains(settings.Entries, Setting{SettingInitialWindowSize, 0, 1 << 20}) {
			t.Errorf("%s: the answer is %+v, want SETTINGS with a window of 1 MiB", v, answer[0])
		}
		p.send(&Settings{})
		if again := p.settle(); len(again) > 0 {
			t.Errorf("%s: the second SETTINGS are answered with %v", v, again)
		}
	}
}
