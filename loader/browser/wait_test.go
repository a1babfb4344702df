package browser

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestNewsRunOut(t *testing.T) {
	var n News
	for _, c := range []struct {
		what string
		got  bool
		want bool
	}{
		{"a first request", n.Ask("GET", "https://h/a?t=1"), true},
		{"the same with another query", n.Ask("GET", "https://h/a?t=2"), false},
		{"another method", n.Ask("POST", "https://h/a"), true},
		{"another path", n.Ask("GET", "https://h/b"), true},
		{"a first answer", n.Answer("GET", "https://h/a?t=1", 200, 35), true},
		{"the like of it", n.Answer("GET", "https://h/a?t=2", 200, 35), false},
		{"another length", n.Answer("GET", "https://h/a?t=3", 200, 36), true},
		{"another status", n.Answer("GET", "https://h/a?t=3", 404, 35), true},
	} {
		if c.got != c.want {
			t.Errorf("%s is news: %t, want %t", c.what, c.got, c.want)
		}
	}
	if n.Count() != 6 {
		t.Errorf("%d news, want 6", n.Count())
	}
}

func TestAwaitEndsWithItsBrowserAndWithAnError(t *testing.T) {
	gone := make(chan struct{})
	close(gone)
	if _, err := Await(context.Background(), nil, gone, func() (State, error) { return State{}, nil }); !errors.Is(err, ErrGone) {
		t.Errorf("without a browser: %v", err)
	}
	crash := errors.New("crash")
	if _, err := Await(context.Background(), nil, nil, func() (State, error) { return State{}, crash }); !errors.Is(err, crash) {
		t.Errorf("after a crash: %v", err)
	}
}

func TestTimeoutNamesWhatIsUnderWay(t *testing.T) {
	cause := errors.New("the page had not loaded after 2m0s")
	var many []Unfinished
	for range 7 {
		many = append(many, Unfinished{"GET", "https://h/a", true})
	}
	for _, c := range []struct {
		loaded bool
		list   []Unfinished
		want   string
	}{
		{false, nil, "2m0s: its load event had not fired, and no request was under way: a script of the page may run without end"},
		{true, []Unfinished{{"POST", "https://h/b", false}}, "its load event had fired; under way: POST https://h/b (not answered)"},
		{false, many, "GET https://h/a (answered, not ended), 2 more"},
	} {
		if got := Timeout(cause, c.loaded, c.list); !strings.HasSuffix(got.Error(), c.want) || !errors.Is(got, cause) {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}
