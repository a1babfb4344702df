package har

import (
	"bytes"
	"os"
	"testing"

	"wiretime/site/recording"
)

func BenchmarkTrial(b *testing.B) {
	data, err := os.ReadFile("/work/shared/data/har/ferguson-2022-h2-h3.har")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		rec, err := Read(bytes.NewReader(data), "x", Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := rec.Site("x", recording.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
