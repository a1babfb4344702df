package storage

import (
	"maps"
	"strings"
	"testing"
)

func TestParseMedia(t *testing.T) {
	for reference, size := range map[string]int64{
		"file@1GB": FileSize, "file@100MB": 100_000_000, "file@512kB": 512_000, "file@1500B": 1500, "file@1B": 1, "file@1000GB": MaxFileSize,
		"file@007B": 7,
	} {
		item, err := ParseMedia(reference)
		if err != nil || item.Name != reference || item.Segments != 1 || len(item.Sizes) != 1 || item.Sizes[Plain] != size {
			t.Errorf("%s is %+v, %v; want a file of %d octets", reference, item, err, size)
		}
	}
	clip, err := ParseMedia("clip")
	if err != nil || clip.Name != "clip" || clip.Segments != ClipSegments || clip.Sizes[HD] != HDSize || len(clip.Sizes) != 3 {
		t.Errorf("clip is %+v, %v", clip, err)
	}
	sized, err := ParseMedia("clip@4MBx4500kBx5MB")
	want := map[Resolution]int64{HD: 4_000_000, FHD: 4_500_000, QHD: 5_000_000}
	if err != nil || sized.Name != "clip@4MBx4500kBx5MB" || sized.Segments != ClipSegments || !maps.Equal(sized.Sizes, want) {
		t.Errorf("clip with sizes is %+v, %v", sized, err)
	}
}

func TestParseMediaSaysWhatIsWrong(t *testing.T) {
	for reference, says := range map[string]string{
		"":                           `unknown media ""`,
		"clips":                      `there are "clip" and files such as "file@1GB"`,
		"file":                       "unknown media",
		"FILE@1GB":                   "unknown media",
		"file@":                      "column 6: want a whole number",
		"file@GB":                    "column 6: want a whole number",
		"file@-1GB":                  "column 6: want a whole number",
		"file@0B":                    "column 6: want a whole number",
		"file@99999999999999999999B": "column 6: want a whole number",
		"file@1":                     "column 7: want B, kB, MB or GB",
		"file@1.5GB":                 "column 7: want B, kB, MB or GB",
		"file@12 MB":                 "column 8: want B, kB, MB or GB",
		"file@12KB":                  "column 8: want B, kB, MB or GB",
		"file@1MiB":                  "column 7: want B, kB, MB or GB",
		"file@1001GB":                "column 6: want 1 B to 1000 GB",
		"file@1000000000000GB":       "column 6: want 1 B to 1000 GB",
		"clip@":                      "column 6: want three sizes",
		"clip@4MB":                   "column 6: want three sizes",
		"clip@4MBx5MBx6MBx7MB":       "column 6: want three sizes",
		"clip@4MBxx6MB":              "column 10: want a whole number",
		"clip@4MBx5x6MB":             "column 11: want B, kB, MB or GB",
		"clip@4MBx5MBx1001GB":        "column 14: want 1 B to 1000 GB",
	} {
		if item, err := ParseMedia(reference); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want %q", reference, item, err, says)
		}
	}
}

func FuzzParseMedia(f *testing.F) {
	for _, seed := range []string{"clip", "file@1GB", "file@512kB", "file@1000000000000B", "file@", "file@1.5MB", "clip@4MBx4500kBx5MB", "clip@1Bx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		item, err := ParseMedia(reference)
		if err != nil {
			return
		}
		if item.Name != reference {
			t.Errorf("%q is called %q", reference, item.Name)
		}
		for r, size := range item.Sizes {
			if size < 1 || size > MaxFileSize {
				t.Errorf("%q has %d octets in %v", reference, size, r)
			}
		}
	})
}
