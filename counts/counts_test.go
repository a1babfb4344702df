package counts

import (
	"encoding/json"
	"strings"
	"testing"

	"wiretime/costtest"
)

const first = `idle 10
events 12
processor 0000000000000001000
program 26 0000000000000000009 100 20 7 6 exe
call read 3
call futex 2
program 1 11 40 5 5 3 a name
call read 9
program 1 2 7 0 1 1 a name
call execve 1
`

const later = `idle 15
events 20
processor 0000000000000001500
program 90 4 1 0 0 0 short
program 26 9 100 20 7 6 exe
call read 3
call futex 2
program 1 30 50 6 5 8 a name
call read 15
call write 2
program 1 2 7 0 1 1 a name
call execve 1
`

// TestBetween: two readings differ by what happened between them.
func TestBetween(t *testing.T) {
	before, err := parse(first)
	if err != nil {
		t.Fatal(err)
	}
	if p := before.Programs["a name"]; p.Rounds != 47 || p.Mappings != 5 || p.Faults != 6 || p.Foreseen != 4 || p.AllCalls() != 10 {
		t.Errorf("two programs of one name add up to %+v", p)
	}
	between, err := Between([]byte(first), []byte(later))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(between)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"idle":5,"events":8,"processor":500,"programs":{` +
		`"a name":{"rounds":10,"processor":19,"mappings":1,"faults":0,"foreseen":5,"calls":{"read":6,"write":2}},` +
		`"short":{"rounds":1,"processor":4,"mappings":0,"faults":0,"foreseen":0,"calls":{}}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestInvalidCounts: a file that is not the kernel's is an error that shows the line.
func TestInvalidCounts(t *testing.T) {
	for _, text := range []string{"idle x\n", "call read 3\n", "program 1 2 3 4 5\n", "program 1 2 3 4 5 x name\n", "idle 1\n\n"} {
		if c, err := parse(text); err == nil || !strings.Contains(err.Error(), "invalid line") {
			t.Errorf("%q is read as %+v, %v", text, c, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(first)
	f.Add(later)
	f.Fuzz(func(t *testing.T, text string) {
		costtest.Check(t, len(text), costtest.Limit{Fixed: 1 << 20, PerOctet: 1 << 10, Time: 0}, func() { _, _ = parse(text) })
	})
}
