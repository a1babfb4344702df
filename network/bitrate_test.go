package network

import (
	"strings"
	"testing"
)

func TestParseBitRate(t *testing.T) {
	for _, test := range []struct {
		text string
		want BitRate
	}{
		{"512000", 512_000}, {"512000bit", 512_000}, {"900kbit", 900_000}, {"5mbit", 5_000_000},
		{"5 Mbit", 5_000_000}, {"1.6mbit", 1_600_000}, {"1gbit", 1_000_000_000}, {"0.000001gbit", 1_000},
		{"1.60mbit", 1_600_000}, {".5mbit", 500_000}, {"5.mbit", 5_000_000}, {" 1kbit ", 1_000},
		{"0", 0}, {"0.0", 0}, {"unlimited", 0}, {"1000gbit", MaxBitRate}, {"17.04mbit", 17_040_000},
	} {
		got, err := ParseBitRate(test.text)
		if err != nil || got != test.want {
			t.Errorf("ParseBitRate(%q) = %d, %v; want %d", test.text, got, err, test.want)
		}
	}
}

func TestParseBitRateSaysWhatToWrite(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "does not begin with a number",
		"fast":                     "does not begin with a number",
		"-5mbit":                   "must not be negative",
		"5mb":                      `unknown unit "mb"; write bit, kbit, mbit or gbit`,
		"5mbps":                    `unknown unit "mbps"`,
		"5mbit/s":                  `unknown unit "mbit/s"`,
		"5":                        "5 bit/s is below 1kbit; was a unit forgotten",
		"1001gbit":                 "above 1000gbit",
		"99999999999999999999mbit": "above 1000gbit",
		"0.0001kbit":               "not a whole number of bit/s",
		"1.5":                      "not a whole number of bit/s",
		"1.2.3mbit":                "invalid number",
		".":                        "invalid number",
		"..mbit":                   "invalid number",
	} {
		got, err := ParseBitRate(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseBitRate(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestBitRateString(t *testing.T) {
	for rate, want := range map[BitRate]string{
		0: "unlimited", 1: "1bit", 999: "999bit", 1_000: "1kbit", 900_000: "900kbit", 1_600_000: "1.6mbit",
		1_638_400: "1.6384mbit", 17_040_000: "17.04mbit", 1_000_000_000: "1gbit", 1_000_000_001: "1.000000001gbit",
		-5: "-5bit",
	} {
		if got := rate.String(); got != want {
			t.Errorf("BitRate(%d).String() = %q, want %q", int64(rate), got, want)
		}
	}
}

func FuzzParseBitRate(f *testing.F) {
	for _, s := range []string{"5mbit", "1.6mbit", "900kbit", "1gbit", "512000", "unlimited", "-1", "0.000001gbit", "..", "1e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rate, err := ParseBitRate(s)
		if err != nil {
			return
		}
		if err := rate.validate(); err != nil {
			t.Fatalf("ParseBitRate(%q) = %d: %v", s, rate, err)
		}
		if again, err := ParseBitRate(rate.String()); err != nil || again != rate {
			t.Fatalf("ParseBitRate(%q) = %d, written as %q and read as %d, %v", s, rate, rate, again, err)
		}
	})
}
