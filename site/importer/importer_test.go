package importer_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/site/importer"
)

// write makes a file in a folder of its own and returns its name.
func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDetect(t *testing.T) {
	warc := "WARC/1.1\r\nWARC-Type: warcinfo\r\n" + strings.Repeat("x", 10_000)
	tests := []struct {
		file    string
		content []byte
		want    string // the format, or what the error says
	}{
		{"a.har", []byte(`{"log": {}}`), "har"},
		{"har.txt", []byte("\ufeff\n{\"log\": {}}"), "har"},
		{"a.bin", []byte(warc), "warc"},
		{"a.warc.gz", zipped(t, warc), "warc"},
		{"a.wacz", []byte("PK\x03\x04"), "warc"},
		{"a.html", []byte("<p>Hello"), "saved"},
		{"page", []byte("<!DOCTYPE HTML><p>Hello"), "saved"},
		{"a.bin", []byte("From: <Saved by Blink>\r\n"), "saved"},
		{"list", []byte("https://www.a.test/\n"), "urls"},
		{"list", []byte("# a list\nhttps://www.a.test/\n"), "urls"},
		{"empty", nil, "the file is empty"},
		{"a.bin", []byte{0, 1, 2}, "--format"},
	}
	for _, test := range tests {
		got, err := importer.Detect(write(t, test.file, test.content))
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != test.want || !strings.Contains(got, test.want) {
			t.Errorf("%s with %.20q: %q, want %q", test.file, test.content, got, test.want)
		}
		if err == nil && !slices.Contains(importer.Formats(), got) {
			t.Errorf("%q is none of the formats", got)
		}
	}
}

func TestDetectFolders(t *testing.T) {
	for file, want := range map[string]string{"save.abc": "", "index.html": "wiretime site add", "other": `"save."`} {
		folder := filepath.Dir(write(t, file, []byte("x")))
		got, err := importer.Detect(folder)
		if want == "" && (err != nil || got != "mahimahi") {
			t.Errorf("a folder with %s: %q, %v, want mahimahi", file, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a folder with %s: %q, %v, want an error that says %q", file, got, err, want)
		}
	}
}

// TestRead: each format reaches the package that reads it.
func TestRead(t *testing.T) {
	har := write(t, "a.har", []byte(`{"log":{"entries":[{"startedDateTime":"2026-01-01T00:00:00Z","request":{"method":"GET","url":"https://www.x.test/"},"response":{"status":200,"content":{"size":5,"mimeType":"text/html","text":"Hello"}}}]}}`))
	if r, err := importer.Read(har, importer.Options{Format: "har"}); err != nil || r == nil {
		t.Errorf("a HAR file: %v", err)
	}
	list := write(t, "list", []byte("https://www.a.test/\n"))
	if r, err := importer.Read(list, importer.Options{Format: "urls", SiteName: "list"}); err != nil || r == nil {
		t.Errorf("a list: %v", err)
	}
	for _, format := range []string{"warc", "mahimahi", "saved", "hat"} {
		if _, err := importer.Read(list, importer.Options{Format: format}); err == nil {
			t.Errorf("a list of URLs is read as %s", format)
		}
	}
}

func TestSiteName(t *testing.T) {
	for file, want := range map[string]string{"dir/www.A.org.har": "www-a-org", "b.warc.gz": "b", "Saved Page.html": "saved-page", "folder/": "folder"} {
		if got := importer.SiteName(file); got != want {
			t.Errorf("SiteName(%q) is %q, want %q", file, got, want)
		}
	}
}
