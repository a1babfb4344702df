package playback

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestQLogsAreCutBetweenRecords writes more than is kept, in pieces that are no records.
func TestQLogsAreCutBetweenRecords(t *testing.T) {
	record := "\x1e" + strings.Repeat("x", 998) + "\n"
	for _, test := range []struct {
		name          string
		records, kept int
		piece         int
	}{
		{"all", 100, 100, 1000},
		{"to the last octet", qlogLimit / 1000, qlogLimit / 1000, 1000},
		{"whole records", 10_000, qlogLimit / 1000, 1000},
		{"pieces of records", 10_000, qlogLimit / 1000, 333},
		{"pieces of many records", 10_000, qlogLimit / 1000, 4096},
	} {
		t.Run(test.name, func(t *testing.T) {
			logs := qlogs{dir: t.TempDir()}
			out := logs.begin("")
			for text := strings.Repeat(record, test.records); text != ""; {
				n, err := out.Write([]byte(text[:min(test.piece, len(text))]))
				if err != nil {
					t.Fatal(err)
				}
				text = text[n:]
			}
			if err := out.Close(); err != nil || logs.err() != nil {
				t.Fatal(err, logs.err())
			}
			kept, err := os.ReadFile(filepath.Join(logs.dir, QLogFile(1)))
			if err != nil {
				t.Fatal(err)
			}
			// A piece that does not fit takes with it what it holds of records.
			least := test.kept - (test.piece+999)/1000
			if n := bytes.Count(kept, []byte("\n")); n > test.kept || n < least || string(kept) != strings.Repeat(record, n) {
				t.Errorf("%d octets are kept, %d records, want %d whole ones, at least %d", len(kept), n, test.kept, least)
			}
		})
	}
}
