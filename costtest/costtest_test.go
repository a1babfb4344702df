package costtest

import (
	"testing"
	"time"
)

// failure is a test that notes whether it was failed.
type failure struct {
	testing.TB
	failed bool
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(string, ...any) {
	f.failed = true
	panic(f)
}

func TestCheck(t *testing.T) {
	var kept []byte
	limit := Limit{Fixed: 1 << 20, PerOctet: 16, Time: time.Microsecond}
	for _, test := range []struct {
		name  string
		run   func()
		fails bool
	}{
		{"allocates in proportion", func() { kept = make([]byte, 16_000) }, false},
		{"allocates too much", func() { kept = make([]byte, 2<<20) }, true},
		{"takes too long", func() {
			for began := processorTime(t); processorTime(t)-began < time.Second/2; {
			}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inner := &failure{TB: t}
			func() {
				defer func() {
					if p := recover(); p != nil && p != any(inner) {
						panic(p)
					}
				}()
				Check(inner, 1000, limit, test.run)
			}()
			if inner.failed != test.fails {
				t.Errorf("failed: %v, want %v", inner.failed, test.fails)
			}
		})
	}
	_ = kept
}
