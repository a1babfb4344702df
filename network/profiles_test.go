package network

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestProfilesAreCompleteAndValid(t *testing.T) {
	seen := map[string]bool{}
	hyphenated := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, p := range Profiles() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if seen[p.Name] || !hyphenated.MatchString(p.Name) {
			t.Errorf("profile name %q is taken or not hyphenated", p.Name)
		}
		seen[p.Name] = true
		if p.Source == "" {
			t.Errorf("%s names no source", p.Name)
		}
		a := p.Access[0]
		for _, say := range []string{
			fmt.Sprintf("One-way delay: %v up, %v down.", a.Up.Delay, a.Down.Delay), "Queue: ",
		} {
			if !strings.Contains(p.Note, say) {
				t.Errorf("%s: the note does not say %q: %s", p.Name, say, p.Note)
			}
		}
		for _, l := range []Link{a.Up, a.Down} {
			if l.Rate == 0 || l.Queue == (Queue{}) {
				t.Errorf("%s has a link without rate or queue", p.Name)
			}
		}
	}
}

func TestProfileFigures(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	for _, test := range []struct {
		name     string
		down, up BitRate
		oneWay   time.Duration
		loss     float64
		queue    Queue // down
	}{
		{"3g-weak", 900_000, 450_000, 75 * ms, 0, Queue{Bytes: 64_000}},
		{"3g-good", 1_370_000, 685_000, 50 * ms, 0, Queue{Bytes: 64_000}},
		{"wlan-weak", 17_040_000, 17_040_000, 15 * ms, 0, Queue{Bytes: 532_500}},
		{"wlan-good", 61_120_000, 61_120_000, 10 * ms, 0, Queue{Bytes: 1_910_000}},
		{"3g-weak-firefox", 880_000, 440_000, 75 * ms, 0, Queue{Bytes: 64_000}},
		{"wlan-good-firefox", 25_960_000, 25_960_000, 10 * ms, 0, Queue{Bytes: 811_250}},
		{"lulic-100k-10ms", 100_000, 100_000, 5 * ms, 0, Queue{Packets: 50}},
		{"lulic-10240k-500ms", 10_240_000, 10_240_000, 250 * ms, 0, Queue{Packets: 50}},
		{"quic-200ms-loss0", 50_000_000, 50_000_000, 100 * ms, 0, Queue{Bytes: 1_562_500}},
		{"quic-200ms-loss20", 50_000_000, 50_000_000, 100 * ms, 0.2, Queue{Bytes: 1_562_500}},
		{"quic-400ms-loss5", 50_000_000, 50_000_000, 200 * ms, 0.05, Queue{Bytes: 1_562_500}},
		{"perl-237ms", 6_510_000, 4_300_000, 118*ms + 500*us, 0, Queue{Bytes: 203_437}},
		{"perl-73ms", 20_000_000, 20_000_000, 36*ms + 500*us, 0, Queue{Bytes: 625_000}},
		{"perl-87ms", 20_000_000, 20_000_000, 43*ms + 500*us, 0, Queue{Bytes: 625_000}},
		{"slow-3g", 400_000, 400_000, 200 * ms, 0, Queue{Bytes: 64_000}},
		{"3g", 1_600_000, 768_000, 150 * ms, 0, Queue{Bytes: 64_000}},
		{"3g-fast", 1_600_000, 768_000, 75 * ms, 0, Queue{Bytes: 64_000}},
		{"4g", 9_000_000, 9_000_000, 85 * ms, 0, Queue{Bytes: 281_250}},
		{"lte", 12_000_000, 12_000_000, 35 * ms, 0, Queue{Bytes: 375_000}},
		{"cable", 5_000_000, 1_000_000, 14 * ms, 0, Queue{Bytes: 156_250}},
		{"fibre", 300_000_000, 300_000_000, 4*ms + 500*us, 0, Queue{Bytes: 9_375_000}},
		{"satellite-geo", 18_130_000, 3_380_000, 315 * ms, 0, Queue{Bytes: 566_562}},
		{"satellite-leo", 97_230_000, 13_890_000, 22*ms + 500*us, 0, Queue{Bytes: 3_038_437}},
	} {
		p, err := Profile(test.name)
		if err != nil {
			t.Error(err)
			continue
		}
		a := p.Access[0]
		if a.Down.Rate != test.down || a.Up.Rate != test.up || a.Down.Delay != test.oneWay || a.Up.Delay != test.oneWay ||
			a.Down.Loss.Rate != test.loss || a.Up.Loss.Rate != test.loss || a.Down.Queue != test.queue {
			t.Errorf("%s is %+v, want %+v", test.name, a, test)
		}
	}
	lulic := 0
	for _, p := range Profiles() {
		if strings.HasPrefix(p.Name, "lulic-") {
			lulic++
		}
	}
	if lulic != 7*6 {
		t.Errorf("%d profiles of Lulic's grid, want 42", lulic)
	}
}

func TestUnknownProfileNamesTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"3g-wek":         `unknown network "3g-wek"; did you mean "3g-weak"?`,
		"lulic-100k-10":  `did you mean "lulic-100k-10ms"?`,
		"carrier pigeon": "`wiretime networks` lists the known ones",
	} {
		if _, err := Profile(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Profile(%q): %v, want %q", name, err, want)
		}
	}
}

// TestProfilesAreFresh checks that callers own what Profiles returns.
func TestProfilesAreFresh(t *testing.T) {
	Profiles()[0].Access[0].Down.Rate = 1
	if Profiles()[0].Access[0].Down.Rate == 1 {
		t.Error("changing a profile changes the next one returned")
	}
}
