package capture

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestServerLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.jsonl")
	want := []ServerEntry{
		{Start: 1_700_000_000_000_000_001, End: 1_700_000_000_000_000_002, Protocol: "h2", TLS: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256",
			Method: "GET", URL: "https://a.test/?q=<a&b>", Status: 200, BodyBytes: 12, Client: "10.0.0.2:4000", Server: "10.0.1.2:443", Connection: 1},
		{Protocol: "h2", Resumed: true, EarlyData: true, Method: "GET", URL: "https://a.test/favicon.ico", Status: 404, Miss: true, Connection: 1},
	}
	if err := WriteServerLog(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadServerLog(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 2 || !strings.Contains(string(text), "?q=<a&b>") {
		t.Errorf("the file does not have one line per entry: %s, %v", text, err)
	}
	if err := os.WriteFile(path, append(text, "{\"start\": \"now\"}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadServerLog(path); err == nil || !strings.Contains(err.Error(), "server.jsonl:3") {
		t.Errorf("error %v; want one that names line 3", err)
	}
}

// TestTooManyHints refuses an entry whose hinted targets take much more room when they are resolved than in the log.
func TestTooManyHints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.jsonl")
	for count, fits := range map[int]bool{40: true, 4000: false} {
		entry := ServerEntry{URL: "https://a.test/" + strings.Repeat("x", 1000), Early: []string{strings.Repeat("<a>; rel=preload, ", count)}}
		if err := WriteServerLog(path, []ServerEntry{entry}); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadServerLog(path); (err == nil) != fits {
			t.Errorf("%d targets: %v", count, err)
		}
	}
}
